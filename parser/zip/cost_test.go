package zip_test

import (
	stdzip "archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// verified reads an archive and returns the steps that this cost.
func verified(t *testing.T, h stdzip.FileHeader, stored []byte) int64 {
	t.Helper()
	var out bytes.Buffer
	w := stdzip.NewWriter(&out)
	h.CompressedSize64 = uint64(len(stored))
	if member, err := w.CreateRaw(&h); err != nil {
		t.Fatal(err)
	} else if _, err := member.Write(stored); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	a, err := zip.Decode(b, bytes.NewReader(out.Bytes()), int64(out.Len()), zip.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(b); err != nil {
		t.Fatal(err)
	}
	return b.Worked()
}

func TestInflatingAMemberCostsSteps(t *testing.T) {
	const stored = "\x00\x00\x00\xff\xff"
	data := []byte(strings.Repeat(stored, 200_000) + "\x01\x00\x00\xff\xff")
	if n := verified(t, stdzip.FileHeader{Name: "a", Method: stdzip.Deflate}, data); n < int64(len(data)) {
		t.Errorf("%d bytes from which nothing comes cost %d steps", len(data), n)
	}
	block := "\x00\x00\x80\xff\x7f" + strings.Repeat("\x00", 1<<15) // 32 KiB of zeros, stored in a block
	data = []byte(strings.Repeat(block, 32) + "\x01\x00\x00\xff\xff")
	n := verified(t, stdzip.FileHeader{Name: "a", Method: stdzip.Deflate, UncompressedSize64: 1 << 20, CRC32: 0xa738ea1c}, data)
	if n < 1<<20/28 || n > 1<<20/16 {
		t.Errorf("a megabyte cost %d steps", n)
	}
}
