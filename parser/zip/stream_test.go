package zip_test

import (
	stdzip "archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

var lorem = bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog. "), 3000)

func TestMembersStreamInPiecesOfAnySize(t *testing.T) {
	for _, method := range []uint16{stdzip.Store, stdzip.Deflate} {
		a, err := decode(t, build(t, 1, numbered, lorem, method), zip.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Open(account(t, nil), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(r, lorem); err != nil {
			t.Errorf("method %d: %v", method, err)
		}
		if n, err := r.Read(nil); n != 0 || err != io.EOF {
			t.Errorf("after the end: %d, %v", n, err)
		}
	}
}

func TestStoredMembersAreReadAtAnyOffset(t *testing.T) {
	a, err := decode(t, build(t, 2, numbered, lorem, stdzip.Store), zip.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := a.At(1)
	if !ok {
		t.Fatal("stored, and not at an offset")
	}
	got, err := io.ReadAll(io.NewSectionReader(r, 100, 50))
	if err != nil || !bytes.Equal(got, lorem[100:150]) {
		t.Errorf("%q, %v", got, err)
	}
	if n, err := r.ReadAt(make([]byte, 10), int64(len(lorem))-3); n != 3 || err != io.EOF {
		t.Errorf("across the end: %d, %v", n, err)
	}
	a, err = decode(t, build(t, 1, numbered, lorem, stdzip.Deflate), zip.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := a.At(0); ok {
		t.Error("deflated, and at an offset")
	}
}

// A caller that reads exactly the declared size must also get the error of a wrong checksum.
func TestTheLastBytesAreReturnedOnlyIfTheChecksumIsRight(t *testing.T) {
	for _, method := range []uint16{stdzip.Store, stdzip.Deflate} {
		data := build(t, 1, numbered, lorem, method)
		for at := 0; at < len(data)-4; at++ {
			if s := string(data[at : at+4]); s == "PK\x07\x08" || s == "PK\x01\x02" {
				crc := at + 4
				if s == "PK\x01\x02" {
					crc = at + 16
				}
				data[crc] ^= 1
			}
		}
		a, err := decode(t, data, zip.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Open(account(t, nil), 0)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, a.Members[0].Size)
		if n, err := io.ReadFull(r, p); n == len(p) || !errors.Is(err, wire.ErrChecksum) {
			t.Errorf("method %d: %d of %d bytes, %v", method, n, len(p), err)
		}
		if _, err := r.Read(p); !errors.Is(err, wire.ErrChecksum) {
			t.Errorf("method %d, again: %v", method, err)
		}
	}
}

func TestAnOpenMemberHoldsALeaseUntilItIsClosed(t *testing.T) {
	a, err := decode(t, build(t, 1, numbered, lorem, stdzip.Deflate), zip.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := account(t, nil)
	r, err := a.Open(b, 0)
	if err != nil {
		t.Fatal(err)
	}
	if held(b) < 32<<10 {
		t.Errorf("%d bytes held", held(b))
	}
	r.Close()
	r.Close()
	if held(b) != 0 {
		t.Errorf("%d bytes held after Close", held(b))
	}
	if _, err := r.Read(make([]byte, 1)); err != io.ErrClosedPipe {
		t.Errorf("after Close: %v", err)
	}
	small := account(t, []byte(`{"max_total_bytes": 1000}`))
	if _, err := a.Open(small, 0); wire.ClassOf(err) != wire.Limit {
		t.Errorf("where there is no room: %v", err)
	}
	if err := a.Verify(small); wire.ClassOf(err) != wire.Limit {
		t.Errorf("Verify where there is no room: %v", err)
	}
	if err := a.Verify(account(t, []byte(`{"max_total_bytes": 70000}`))); wire.ClassOf(err) != wire.Limit {
		t.Errorf("Verify where there is room for half: %v", err)
	}
}

func held(b *limits.Budget) int64 {
	for _, u := range b.Usage() {
		if u.Axis == limits.Total {
			return u.Used
		}
	}
	return -1
}

func TestAStreamStopsWhenTheOperationEnds(t *testing.T) {
	for _, method := range []uint16{stdzip.Store, stdzip.Deflate} {
		a, err := decode(t, build(t, 1, numbered, noise(1<<20), method), zip.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		b := limits.Policy{}.Budget(ctx)
		defer b.Close()
		r, err := a.Open(b, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, r, 1000); err != nil {
			t.Fatal(err)
		}
		cancel()
		if n, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) || n > 1<<18 {
			t.Errorf("method %d: %d bytes and %v", method, n, err)
		}
	}
}

// noise returns bytes that do not compress.
func noise(n int) []byte {
	p := make([]byte, n)
	x := uint32(1)
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return p
}

// A file that becomes shorter, or fails, while it is streamed.
func TestAStreamReturnsErrorsOfItsReader(t *testing.T) {
	for _, method := range []uint16{stdzip.Store, stdzip.Deflate} {
		data := build(t, 1, numbered, noise(1<<16), method)
		r := &turning{data: data}
		a, err := zip.Decode(account(t, nil), r, int64(len(data)), zip.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.err = faulty.ErrDisk
		if err := a.Verify(account(t, nil)); !errors.Is(err, faulty.ErrDisk) || wire.ClassOf(err) != wire.Internal {
			t.Errorf("method %d: %v", method, err)
		}
		r.err = io.EOF
		if err := a.Verify(account(t, nil)); wire.ClassOf(err) != wire.Truncated {
			t.Errorf("method %d: %v", method, err)
		}
	}
}

// turning fails once err is set.
type turning struct {
	data []byte
	err  error
}

func (r *turning) ReadAt(p []byte, off int64) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return bytes.NewReader(r.data).ReadAt(p, off)
}

// One Peeker reads all members with one set of buffers, and verifies nothing.
func TestAPeekerReadsBeginnings(t *testing.T) {
	data := build(t, 5, numbered, lorem, stdzip.Deflate)
	data = append([]byte(nil), data...)
	a, err := decode(t, data, zip.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := account(t, nil)
	p := a.Peeker(b)
	for i := range a.Members {
		r, err := p.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 9)
		if _, err := io.ReadFull(r, head); err != nil || string(head) != "the quick" {
			t.Errorf("%q, %v", head, err)
		}
		if i == 3 {
			if n, err := io.Copy(io.Discard, r); err != nil || n != int64(len(lorem)-9) {
				t.Errorf("to the end: %d, %v", n, err)
			}
		}
	}
	if b.Charged() > 100<<10 {
		t.Errorf("%d bytes charged", b.Charged())
	}
	p.Close()
	if held(b) != 0 {
		t.Errorf("%d bytes held after Close", held(b))
	}
	if _, err := a.Peeker(account(t, []byte(`{"max_total_bytes": 1000}`))).Open(0); wire.ClassOf(err) != wire.Limit {
		t.Errorf("where there is no room: %v", err)
	}
}

// Zeros compress by a factor of 1,027, which is accepted up to 64 MiB; beyond that the policy
// decides.
func TestZerosMayInflateUpTo64MiB(t *testing.T) {
	for _, c := range []struct {
		mib    int
		policy string
		class  wire.Class
	}{
		{64, `{}`, wire.OK},
		{65, `{}`, wire.Limit},
		{65, `{"max_inflate_ratio": 1100}`, wire.OK},
	} {
		data := zeros(t, c.mib)
		b := account(t, []byte(c.policy))
		a, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{})
		if err == nil {
			err = a.Verify(b)
		}
		if class := wire.ClassOf(err); class != c.class {
			t.Errorf("%d MiB of zeros under %s: %v", c.mib, c.policy, err)
		}
	}
}

// zeros returns an archive of one member with the given number of MiB of zeros, each deflated in
// the same way.
func zeros(t testing.TB, mib int) []byte {
	t.Helper()
	var one bytes.Buffer
	w, err := flate.NewWriter(&one, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 1<<20)
	w.Write(piece)
	w.Flush()
	sum := uint32(0)
	for range mib {
		sum = crc32.Update(sum, crc32.IEEETable, piece)
	}
	body := append(bytes.Repeat(one.Bytes(), mib), 1, 0, 0, 0xff, 0xff)
	var out bytes.Buffer
	z := stdzip.NewWriter(&out)
	f, err := z.CreateRaw(&stdzip.FileHeader{
		Name: "zeros", Method: stdzip.Deflate, CRC32: sum, CompressedSize64: uint64(len(body)), UncompressedSize64: uint64(mib) << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Write(body)
	z.Close()
	return out.Bytes()
}

func TestAMemberOfEachLengthIsReadBack(t *testing.T) {
	for n := range 70 {
		for _, method := range []uint16{stdzip.Store, stdzip.Deflate} {
			a, err := decode(t, build(t, 2, numbered, lorem[:n], method), zip.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, a, 1); !bytes.Equal(got, lorem[:n]) {
				t.Errorf("%d bytes, method %d: %q", n, method, got)
			}
		}
	}
}
