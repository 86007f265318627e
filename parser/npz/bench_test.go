package npz_test

import (
	stdzip "archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// stored writes an archive of one stored F32 array with the given number of bytes.
func stored(b *testing.B, size int) *os.File {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "big.npz"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", size/4)
	head = fmt.Sprintf("\x93NUMPY\x01\x00\x76\x00%-117s\n", head)
	piece := make([]byte, 1<<20)
	x := uint32(1)
	for i := range piece {
		x = x*1664525 + 1013904223
		piece[i] = byte(x >> 24)
	}
	sum := crc32.ChecksumIEEE([]byte(head))
	for range size / len(piece) {
		sum = crc32.Update(sum, crc32.IEEETable, piece)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	z := stdzip.NewWriter(out)
	w, err := z.CreateRaw(&stdzip.FileHeader{Name: "w.npy", CRC32: sum,
		CompressedSize64: uint64(len(head) + size), UncompressedSize64: uint64(len(head) + size)})
	if err != nil {
		b.Fatal(err)
	}
	io.WriteString(w, head)
	for range size / len(piece) {
		w.Write(piece)
	}
	z.Close()
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	return f
}

// A stored array of 300 MB, in order: Body and, with its CRC, Verify against a
// loop of ReadAt over the same bytes. The three take turns, so that a busy
// machine is busy for all; the shares are of the loop's speed.
func BenchmarkStored(b *testing.B) {
	const size, chunk = 300 << 20, 1 << 20
	f := stored(b, size)
	account := limits.Policy{Timeout: limits.NoTimeout}.Budget(b.Context())
	defer account.Close()
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	m, err := npz.Decode(account, f, st.Size())
	if err != nil {
		b.Fatal(err)
	}
	info, buf := m.Infos[0], make([]byte, chunk)
	var loop, body, verify time.Duration
	for b.Loop() {
		start := time.Now()
		for off := int64(0); off < size; off += chunk {
			if _, err := f.ReadAt(buf, info.Span.Off+off); err != nil {
				b.Fatal(err)
			}
		}
		read := time.Now()
		drain(b, m, account, info, buf)
		drained := time.Now()
		if err := m.Verify(account); err != nil {
			b.Fatal(err)
		}
		loop, body, verify = loop+read.Sub(start), body+drained.Sub(read), verify+time.Since(drained)
	}
	b.ReportMetric(float64(loop)/float64(body), "body-share")
	b.ReportMetric(float64(loop)/float64(verify), "verify-share")
	b.ReportMetric(size/1e6*float64(b.N)/loop.Seconds(), "loop-MB/s")
}

func drain(b *testing.B, m *npz.File, account *limits.Budget, info tensor.Info, buf []byte) {
	b.Helper()
	r, err := m.Body(account, info)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	n := int64(0)
	for {
		k, err := r.Read(buf)
		n += int64(k)
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if n != info.Span.Len {
		b.Fatal(n)
	}
}

// A deflated array in order.
func BenchmarkDeflated(b *testing.B) {
	var out bytes.Buffer
	z := stdzip.NewWriter(&out)
	w, err := z.Create("w.npy")
	if err != nil {
		b.Fatal(err)
	}
	const size = 16 << 20
	fmt.Fprintf(w, "\x93NUMPY\x01\x00\x76\x00%-117s\n", fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", size/4))
	body := make([]byte, size)
	for i := range body {
		body[i] = byte(i*i>>8) & 0x3f
	}
	w.Write(body)
	z.Close()
	account := limits.Policy{}.Budget(b.Context())
	defer account.Close()
	m, err := npz.Decode(account, bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	b.SetBytes(size)
	for b.Loop() {
		drain(b, m, account, m.Infos[0], buf)
	}
}

// The cost of inspect for an archive of 10,000 small arrays.
func BenchmarkDecode(b *testing.B) {
	for _, method := range []uint16{stdzip.Store, stdzip.Deflate} {
		var out bytes.Buffer
		z := stdzip.NewWriter(&out)
		for i := range 10_000 {
			w, err := z.CreateHeader(&stdzip.FileHeader{Name: fmt.Sprintf("layer%d.npy", i), Method: method})
			if err != nil {
				b.Fatal(err)
			}
			fmt.Fprintf(w, "\x93NUMPY\x01\x00\x76\x00%-117s\n%32s", "{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }", "")
		}
		z.Close()
		b.Run(fmt.Sprintf("method%d/10000", method), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				account := limits.Policy{}.Budget(b.Context())
				if _, err := npz.Decode(account, bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
					b.Fatal(err)
				}
				account.Close()
			}
		})
	}
}
