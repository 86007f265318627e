package parser

import (
	"io/fs"
	"os"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Reads reports whether a model from Open or a Source is read from this file, under any
// name.
func Reads(m tensor.Model, file fs.FileInfo) bool {
	found := false
	eachOpen(m, func(o *openFile, now fs.FileInfo, err error) {
		found = found || err == nil && os.SameFile(now, file)
	})
	return found
}

// Unchanged fails if a file of a model from Open, OpenFS or a Source has a different size or
// modification time than when it was opened: the bytes read may be of two versions. A file that
// was read whole is compared with the digest that its source states, if it states one.
func Unchanged(b *limits.Budget, m tensor.Model) error {
	if err := sameFiles(m); err != nil {
		return err
	}
	return verifyStated(b, m, tensor.Stated.Whole)
}

func sameFiles(m tensor.Model) error {
	var failed error
	eachOpen(m, func(o *openFile, now fs.FileInfo, err error) {
		switch {
		case failed != nil:
		case err != nil:
			failed = err
		case now.Size() < o.info.Size():
			failed = wire.ErrTruncated.Errorf("file %s shrank from %d to %d bytes while it was read", wire.Quote(now.Name()), o.info.Size(), now.Size())
		case now.Size() != o.info.Size() || !now.ModTime().Equal(o.info.ModTime()):
			failed = wire.ErrMismatch.WithRule("file.changed").Errorf("file %s changed while it was read", wire.Quote(now.Name()))
		}
	})
	return wire.At(detection, "", wire.NoOffset, failed)
}

// EachFile calls look for every open file of a model from Open or a Source, with what the
// system said of it when it was opened and what it says now.
func EachFile(m tensor.Model, look func(was, now fs.FileInfo, err error)) {
	eachOpen(m, func(o *openFile, now fs.FileInfo, err error) { look(o.info, now, err) })
}

// eachOpen calls look for every open file of a model.
func eachOpen(m tensor.Model, look func(o *openFile, now fs.FileInfo, err error)) {
	if of, ok := m.(interface{ Sources() []tensor.Model }); ok { // a set
		for _, source := range of.Sources() {
			eachOpen(source, look)
		}
		return
	}
	p, ok := m.(tensor.Placer)
	if !ok {
		return
	}
	d, ok := p.Placed().(*folder)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for o := range d.open {
		now, err := o.File.Stat()
		look(o, now, err)
	}
}
