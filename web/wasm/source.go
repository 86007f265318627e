//go:build js && wasm

package main

import (
	"fmt"
	"io"
	"syscall/js"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// maxFiles bounds the files of a folder, which are listed before an account pays for them.
const maxFiles = 100_000

// A source is what is read: a file, or a folder with its files.
type source struct {
	name    string
	size    int64
	file    io.ReaderAt  // nil for a folder
	files   *gate.Folder // nil for a file
	refused error        // why the folder is refused before it is read
}

// sourceOf takes a source from JavaScript. A folder with a name that leads out of it, or that two
// of its files share on some system, is refused.
func sourceOf(v js.Value) (*source, error) {
	s := &source{name: v.Get("name").String()}
	read := v.Get("read")
	list := v.Get("files")
	if list.IsUndefined() {
		s.size = int64(v.Get("size").Float())
		s.file = newBlocks(new(cache), s.size, func(off float64, n int) js.Value { return read.Invoke(off, n) })
		return s, nil
	}
	s.files = new(gate.Folder)
	if list.Length() > maxFiles {
		s.refused = fmt.Errorf("%w: the folder has %d files, and this page reads at most %d", limits.ErrLimit, list.Length(), maxFiles)
		return s, nil
	}
	kept := new(cache)
	for i := range list.Length() {
		one := list.Index(i)
		size := int64(one.Get("size").Float())
		at := newBlocks(kept, size, func(off float64, n int) js.Value { return read.Invoke(i, off, n) })
		if err := s.files.Add(gate.File{Name: one.Get("path").String(), Size: size}, at); err != nil {
			s.refused = err
			return s, nil
		}
		s.size += size
	}
	return s, nil
}

// open opens the model; of a folder, the only one in it.
func (s *source) open(b *limits.Budget) (tensor.Model, error) {
	switch {
	case s.refused != nil:
		return nil, s.refused
	case s.files != nil:
		return parser.OpenFS(b, s.files, ".")
	}
	return parser.Decode(b, s.file, s.size)
}

func (s *source) judge(b *limits.Budget) (*gate.Verdict, error) {
	g := gate.New(policy)
	if s.files != nil {
		return g.CheckFolder(b, s.files, gate.Hint{Name: s.name})
	}
	return g.Check(b, s.file, s.size, gate.Hint{Name: s.name})
}

// evidence adds to a report what the findings of a verdict are about.
func (s *source) evidence(b *limits.Budget, r *page.Report, v *gate.Verdict) error {
	if s.files != nil {
		return r.FolderEvidence(b, s.files, v)
	}
	return r.Evidence(b, s.file, s.size, v)
}
