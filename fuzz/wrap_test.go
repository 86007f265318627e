package fuzz_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// A content is a file in a wrapper, read completely.
type content struct {
	name string
	sum  [sha256.Size]byte
	size int64
}

type wrapped struct{ contents []content }

func (wrapped) Verify(*limits.Budget) error { return nil }
func (wrapped) Close() error                { return nil }
func (wrapped) findings() []string          { return nil }

// openWrap reads every file in a wrapper.
func openWrap(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	head := make([]byte, min(size, pth.SniffLen))
	if err := wire.ReadFull(r, head, 0); err != nil {
		return nil, err
	}
	k := unpack.Named(parser.IdentifyBeginning(head, 0, "").Packing)
	switch {
	case k == nil && size < pth.SniffLen:
		return nil, wire.At("wrap", "", size, wire.ErrTruncated.Errorf("too short to be known"))
	case k == nil:
		return nil, wire.At("wrap", "", 0, wire.ErrUnsupported.Errorf("nothing packed"))
	}
	var out wrapped
	w := b.Whole(size)
	defer w.Close()
	err := k.Walk(w, r, size, func(i unpack.Item) error {
		if i.R == nil {
			out.contents = append(out.contents, content{name: i.Name})
			return nil
		}
		h := sha256.New()
		n, err := io.Copy(h, io.NewSectionReader(i.R, 0, i.Size))
		if err != nil {
			return err
		}
		out.contents = append(out.contents, content{i.Name, [sha256.Size]byte(h.Sum(nil)), n})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// FuzzWrap tests that a wrapper gives the same twice, contents have their stated size,
// names stay inside, nothing stays charged, and Go's readers see the same if they open the
// file.
func FuzzWrap(f *testing.F) {
	addSeeds(f, "wrap")
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() ([]content, error) {
			b := limits.Policy{MaxTotalBytes: 48 << 20, MaxSteps: 1 << 16}.Budget(t.Context())
			defer b.Close()
			o, err := openWrap(b, bytes.NewReader(data), int64(len(data)))
			limitstest.NoLeak(t, b)
			if err != nil {
				return nil, err
			}
			return o.(wrapped).contents, nil
		}
		list, err := read()
		again, err2 := read()
		if !slices.Equal(list, again) || (err == nil) != (err2 == nil) {
			t.Fatalf("%v, then %v", err, err2)
		}
		if err != nil {
			if c := wire.ClassOf(err); c == wire.Internal || c == wire.OK {
				t.Fatalf("%v: %v", c, err)
			}
			return
		}
		for _, c := range list {
			if strings.HasPrefix(c.name, "/") || slices.Contains(strings.Split(c.name, "/"), "..") {
				t.Errorf("the path %q", c.name)
			}
		}
		switch k := parser.IdentifyBeginning(data, int64(len(data)), ""); k.Packing {
		case "tar":
			sameTar(t, data, list)
		case "gzip":
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			sameContent(t, z, list[0])
		}
	})
}

func sameContent(t *testing.T, r io.Reader, c content) {
	t.Helper()
	h := sha256.New()
	if n, err := io.Copy(h, r); err != nil || n != c.size || [sha256.Size]byte(h.Sum(nil)) != c.sum {
		t.Errorf("%q: another reader sees %d bytes, here are %d: %v", c.name, n, c.size, err)
	}
}

// sameTar compares with Go's reader, which also returns folders and links.
func sameTar(t *testing.T, data []byte, list []content) {
	t.Helper()
	z := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := z.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return // stricter than needed about times and owners
		}
		if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if len(list) == 0 {
			t.Fatalf("another reader sees %q, too", h.Name)
		}
		c := list[0]
		list = list[1:]
		for strings.HasPrefix(h.Name, "./") {
			h.Name = strings.TrimLeft(h.Name[1:], "/")
		}
		if h.Name != c.name {
			t.Fatalf("another reader sees %q, here is %q", h.Name, c.name)
		}
		if h.Typeflag == tar.TypeReg {
			sameContent(t, z, c)
		}
	}
	if len(list) > 0 {
		t.Errorf("another reader does not see %q", list[0].name)
	}
}
