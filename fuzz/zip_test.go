package fuzz_test

import (
	stdzip "archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// zipTarget answers with the directory and the digest of every member.
var zipTarget = fuzz.Target{
	Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		a, err := zip.Decode(b, r, size, zip.Options{})
		if err != nil {
			return fuzz.Answer{}, err
		}
		var answer fuzz.Answer
		for i := range a.Members {
			m := &a.Members[i]
			digest, err := memberDigest(b, a, i, size)
			if err != nil {
				return fuzz.Answer{}, err
			}
			core := fmt.Sprintf("%q %d %s\n", m.Name, m.Size, digest)
			answer.Core += core
			answer.Exact += fmt.Sprintf("%d %d %d %d %#x %08x %s", m.Method, m.HeaderOff, m.DataOff, m.Comp, m.Flags, m.CRC, core)
		}
		return answer, nil
	},
	Rewrite: rewriteZip,
	Measured: func(b *limits.Budget, r io.ReaderAt, size int64) error {
		_, err := zip.Decode(b, r, size, zip.Options{})
		return err
	},
}

// memberDigest reads one member. A refusal is an answer too, with an error that must
// satisfy what those of Decode do; a limit ends the reading.
func memberDigest(b *limits.Budget, a *zip.Archive, i int, size int64) (string, error) {
	h := sha256.New()
	r, err := a.Open(b, i)
	if err == nil {
		defer r.Close()
		if _, err = io.Copy(h, r); err == nil {
			return hex.EncodeToString(h.Sum(nil)[:8]), nil
		}
	}
	if fault := fuzz.Placed(err, size); fault != nil {
		return "", fault
	}
	class := wire.ClassOf(err)
	if class == wire.Limit {
		return "", err
	}
	return class.String(), nil
}

// rewriteZip writes the members again with the standard library, half of them compressed.
// Unreadable ones are omitted.
func rewriteZip(b *limits.Budget, data []byte) ([]byte, error) {
	a, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := stdzip.NewWriter(&out)
	for i := range a.Members {
		r, err := a.Open(b, i)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, wire.ErrUnsupported.Errorf("a member that cannot be read")
		}
		f, err := w.CreateHeader(&stdzip.FileHeader{Name: a.Members[i].Name, Method: uint16(i%2) * stdzip.Deflate})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(body); err != nil {
			return nil, err
		}
	}
	err = w.Close() // writes the directory
	return out.Bytes(), err
}

// FuzzZip tests the reader with any bytes, and with archives built from bytes. The
// standard library must read accepted files the same.
func FuzzZip(f *testing.F) {
	addSeeds(f, "zip")
	var built, accepted atomic.Int64
	f.Fuzz(func(t *testing.T, data []byte) {
		if zipTarget.Check(t, data) {
			sameAsStandard(t, data)
		}
		archive := fuzz.Archive(t, data, fuzz.Plain)
		built.Add(1)
		if zipTarget.Check(t, archive) {
			accepted.Add(1)
			sameAsStandard(t, archive)
		}
		if oneOfSixteen(data) {
			secondZipCheck(t, data)
			secondZipCheck(t, archive)
		}
	})
	f.Logf("%d of %d built archives were accepted", accepted.Load(), built.Load())
}

// sameAsStandard compares an accepted file with archive/zip, which is more lenient in
// everything.
func sameAsStandard(t *testing.T, data []byte) {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	a, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{})
	if err != nil {
		t.Fatal(err)
	}
	std, err := stdzip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("accepted, and archive/zip says %v", err)
	}
	if len(std.File) != len(a.Members) {
		t.Fatalf("%d members, archive/zip sees %d", len(a.Members), len(std.File))
	}
	for i, f := range std.File {
		m := &a.Members[i]
		if f.Name != m.Name || f.UncompressedSize64 != uint64(m.Size) || f.CompressedSize64 != uint64(m.Comp) || f.CRC32 != m.CRC {
			t.Fatalf("member %d is %+v, archive/zip sees %+v", i, m, f.FileHeader)
		}
		if off, err := f.DataOffset(); err != nil || off != m.DataOff {
			t.Fatalf("member %d begins at %#x, archive/zip says %#x, %v", i, m.DataOff, off, err)
		}
		ours, ourErr := readMember(b, a, i)
		theirs, theirErr := readStandard(f)
		if ourErr == nil && (theirErr != nil || !bytes.Equal(ours, theirs)) {
			t.Fatalf("member %d: read as %q, archive/zip gives %q, %v", i, ours, theirs, theirErr)
		}
	}
}

func readMember(b *limits.Budget, a *zip.Archive, i int) ([]byte, error) {
	r, err := a.Open(b, i)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func readStandard(f *stdzip.File) ([]byte, error) {
	if f.Mode().IsDir() {
		return nil, nil // archive/zip opens no folder
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
