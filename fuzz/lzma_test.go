package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/lzma"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// FuzzLZMA tests chunks of LZMA2 of any bytes: the decoder returns as many bytes as their
// headers state or refuses them, returns the same in pieces of any size, and the xz file
// that holds them with correct checksums gives the same.
func FuzzLZMA(f *testing.F) {
	for _, s := range corpus.Valid("wrap") {
		if bytes.HasPrefix(s.Data, []byte("\xfd7zXZ\x00")) {
			f.Add(s.Data[24:], uint8(16))
		}
	}
	for _, r := range corpus.Hostile("wrap") {
		if data := r.Bytes(); bytes.HasPrefix(data, []byte("\xfd7zXZ\x00")) && len(data) > 24 {
			f.Add(data[24:], uint8(0))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, bits uint8) {
		bits %= 17 // a dictionary of 1 MiB at most
		at, size, whole := chunksOf(data)
		if size > 4<<20 {
			return
		}
		b := limits.Policy{MaxTotalBytes: 64 << 20}.Budget(t.Context())
		defer b.Close()
		window := uint64(2|bits&1) << (bits/2 + 11)
		inflate := func(pieces func(io.Reader) io.Reader) ([]byte, error) {
			d := lzma.NewDecoder(b)
			defer d.Close()
			return io.ReadAll(io.LimitReader(pieces(lzma.NewChunks(d, bytes.NewReader(data), window)), size+1))
		}
		out, err := inflate(func(r io.Reader) io.Reader { return r })
		again, err2 := inflate(iotest.HalfReader)
		if (err == nil) != (err2 == nil) || err == nil && !bytes.Equal(out, again) {
			t.Fatalf("%d bytes, %v; in pieces %d, %v", len(out), err, len(again), err2)
		}
		limitstest.NoLeak(t, b)
		if err == nil && (!whole || int64(len(out)) != size) {
			t.Fatalf("%d bytes of chunks of %d, whole %v", len(out), size, whole)
		}
		if !whole {
			return
		}
		var got []byte
		file := xzFile(data[:at], bits, size)
		walked := unpack.Named("xz").Walk(b, bytes.NewReader(file), int64(len(file)), func(i unpack.Item) error {
			var err error
			got, err = io.ReadAll(io.NewSectionReader(i.R, 0, i.Size))
			return err
		})
		if (walked == nil) != (err == nil) || err == nil && !bytes.Equal(got, out) {
			t.Fatalf("chunks: %v; the file: %v", err, walked)
		}
		if c := wire.ClassOf(walked); c == wire.Internal {
			t.Fatal(walked)
		}
	})
}

// chunksOf finds the end of the chunks by their headers, and the size of their content.
func chunksOf(data []byte) (end int, size int64, whole bool) {
	r := bytes.NewReader(data)
	for {
		h, err := lzma.ReadHeader(r.ReadByte)
		size += int64(h.Size)
		switch {
		case err != nil || h.Packed > r.Len():
			return 0, size, false
		case h.End:
			return len(data) - r.Len(), size, true
		}
		r.Seek(int64(h.Packed), io.SeekCurrent)
	}
}

// xzFile returns an xz file of one block without an integrity check.
func xzFile(chunks []byte, bits uint8, size int64) []byte {
	sum := func(p []byte) []byte { return binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(p)) }
	pad := func(p []byte) []byte { return append(p, make([]byte, -len(p)&3)...) }
	head := sum([]byte{2, 0, 0x21, 1, bits, 0, 0, 0})
	index := []byte{0, 1}
	index = binary.AppendUvarint(index, uint64(len(head)+len(chunks)))
	index = sum(pad(binary.AppendUvarint(index, uint64(size))))
	foot := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1))
	foot = append(foot, 0, 0)
	out := append([]byte("\xfd7zXZ\x00"), sum([]byte{0, 0})...)
	out = append(append(out, head...), pad(bytes.Clone(chunks))...)
	out = append(out, index...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(foot))
	return append(append(out, foot...), "YZ"...)
}
