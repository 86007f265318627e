package fuzz_test

import (
	"bufio"
	"bytes"
	std "compress/bzip2"
	"io"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/bzip2"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// FuzzBzip2 tests that a stream gives what the standard library's decoder gives, in pieces of
// any size, and that what is read or made is paid. Sums are not corrected: what is accepted by
// accident would need a sum by accident.
func FuzzBzip2(f *testing.F) {
	for _, s := range corpus.Valid("wrap") {
		if bytes.HasPrefix(s.Data, []byte("BZh")) {
			f.Add(s.Data)
		}
	}
	for _, r := range corpus.Hostile("wrap") {
		if data := r.Bytes(); bytes.HasPrefix(data, []byte("BZh")) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 4 << 20
		inflate := func(pieces func(io.Reader) io.Reader) ([]byte, error) {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			return io.ReadAll(io.LimitReader(pieces(bzip2.NewReader(b, bufio.NewReader(bytes.NewReader(data)))), most))
		}
		out, err := inflate(func(r io.Reader) io.Reader { return r })
		again, err2 := inflate(iotest.HalfReader)
		if (err == nil) != (err2 == nil) || err == nil && !bytes.Equal(out, again) {
			t.Fatalf("%d bytes, %v; in pieces %d, %v", len(out), err, len(again), err2)
		}
		want, stdErr := io.ReadAll(io.LimitReader(std.NewReader(bytes.NewReader(data)), most))
		switch {
		case err == nil && stdErr == nil && !bytes.Equal(out, want):
			t.Fatalf("%d bytes are not the %d of the standard library", len(out), len(want))
		case err == nil && stdErr != nil && !isSum(stdErr): // it takes four equal bytes and no more for a part of the next ones
			t.Fatalf("accepted, and the standard library says: %v", stdErr)
		case err != nil && stdErr == nil && wire.ClassOf(err) != wire.Malformed:
			t.Fatalf("the standard library reads %d bytes: %v", len(want), err)
		}
	})
}

func isSum(err error) bool { return bytes.Contains([]byte(err.Error()), []byte("checksum mismatch")) }
