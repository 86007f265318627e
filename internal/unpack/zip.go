package unpack

import (
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// zip visits the members of a ZIP archive.
func (w *walker) zip() error {
	a, err := w.proven()
	if err != nil {
		return err
	}
	if a.Comment > 0 {
		return w.fail("comment", wire.NoOffset, wire.ErrUnsupported.WithRule("zip.comment").Errorf("%d bytes that no reader of models looks at", a.Comment))
	}
	for i := range a.Members {
		if err := w.member(a, i); err != nil {
			return err
		}
	}
	return nil
}

// proven decodes the archive, which checks its structure.
func (w *walker) proven() (*zip.Archive, error) {
	if w.directory == nil {
		return zip.Decode(w.b, w.r, w.size, zip.Options{Format: w.kind})
	}
	return w.directory.Decode(w.b, w.r, zip.Options{Format: w.kind})
}

func (w *walker) member(a *zip.Archive, i int) error {
	m := &a.Members[i]
	if strings.HasSuffix(m.Name, "/") {
		return nil // zip.Decode refuses folders with bytes
	}
	if r, ok := a.At(i); ok {
		if err := w.checkSum(a, i); err != nil {
			return err
		}
		return w.visitItem(Item{Name: m.Name, Size: m.Size, R: r})
	}
	var z io.ReadCloser
	finish := func() {
		if z != nil {
			z.Close()
		}
	}
	defer func() { finish() }()
	begin := func() (in io.Reader, err error) {
		finish()
		z, err = a.Open(w.b, i)
		return z, err
	}
	off := func(err error) error { return w.fail(zip.Where(i, m.Name), m.DataOff, err) }
	p, err := newReplay(w.b, begin, off, func(int64) error { return nil }) // zip.Decode has charged it
	if err != nil {
		return err
	}
	defer p.close()
	return w.visitItem(Item{Name: m.Name, Size: p.size, R: p})
}

// checkSum verifies the checksum of a stored member.
func (w *walker) checkSum(a *zip.Archive, i int) error {
	z, err := a.Open(w.b, i)
	if err != nil {
		return err
	}
	defer z.Close()
	_, err = io.Copy(io.Discard, z)
	return err
}
