package parser

import (
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/keras"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func isSplit(name string) bool {
	_, _, _, ok := gguf.IsSplitName(name)
	return ok
}

// openSplit opens the set that a file belongs to.
func openSplit(b *limits.Budget, fsys fs.FS, files []string) (tensor.Model, error) {
	m, err := gguf.OpenSplit(b, fsys, files[0])
	if err != nil {
		return nil, err
	}
	return m, nil
}

// A Format is a row of [Formats].
type Format struct {
	Name       string   // "npz": what errors and policies call it
	Title      string   // "NPZ archive"
	Extensions []string // names that promise it: ".npz"
}

// Formats lists the formats of models, which their content identifies.
func Formats() []Format {
	var list []Format
	for i := range kinds {
		if k := &kinds[i]; k.opens == AsModel {
			list = append(list, Format{k.name, k.title, append([]string{}, k.exts...)}) // not nil: no name may promise it
		}
	}
	return list
}

// Graphs lists the other formats whose tensors are read: programs with their weights, which are
// also recognized by the name.
func Graphs() []Format {
	var list []Format
	for i := range kinds {
		if k := &kinds[i]; k.reads != "" {
			list = append(list, Format{k.name, k.reads, append([]string{}, k.exts...)})
		}
	}
	slices.SortFunc(list, func(a, b Format) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// A Kind is a row of the table of kinds of content, see [Kinds].
type Kind struct {
	Name       string   // "gzip": what errors and policies call it
	Title      string   // "gzip data"
	Advice     string   // for people who gave it in place of a model, or ""
	Extensions []string // names that promise it
	Of         []string // the packings that a library's own archive may have
	Opens      Opens
	Loaders    []string // who loads it
	Judge      string   // the package that proves or refuses it, "" for what is only recognized
}

// Kinds lists the kinds of content.
func Kinds() []Kind {
	var list []Kind
	for i := range kinds {
		k := &kinds[i]
		list = append(list, Kind{k.name, k.title, k.advice, slices.Clone(k.exts), slices.Clone(k.of), k.opens, slices.Clone(k.loaders), k.judge})
	}
	return list
}

// modelDecoder adapts a format's Decode to the table, without turning a nil *File into a
// non-nil Model.
func modelDecoder[M tensor.Model](decode func(*limits.Budget, io.ReaderAt, int64) (M, error)) func(*limits.Budget, io.ReaderAt, *Identity) (tensor.Model, error) {
	return func(b *limits.Budget, r io.ReaderAt, id *Identity) (tensor.Model, error) {
		return orNone(decode(b, r, id.Size))
	}
}

func orNone[M tensor.Model](m M, err error) (tensor.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

func decodeNPZ(b *limits.Budget, r io.ReaderAt, id *Identity) (tensor.Model, error) {
	return orNone(npz.DecodeListed(b, r, id.Size, id.Directory()))
}

func decodeKeras(b *limits.Budget, r io.ReaderAt, id *Identity) (tensor.Model, error) {
	return orNone(keras.DecodeListed(b, r, id.Size, id.Directory()))
}

func decodePTH(b *limits.Budget, r io.ReaderAt, id *Identity) (tensor.Model, error) {
	return orNone(pth.DecodeKnown(b, r, id.Size, id.Known()))
}

// Known returns what package pth need not read again.
func (id *Identity) Known() pth.Known {
	if id.h.r == nil {
		return pth.Known{}
	}
	return pth.Known{Directory: id.Directory(), Archive: id.Archive}
}

// bare is the identity of a file of which only the size is known.
func bare(size int64) *Identity { return &Identity{Size: size, h: new(head)} }

// graphByExt returns the kind of graph whose tensors are read that a name promises.
func graphByExt(name string) *kind {
	if k := named(name); k != nil && k.reads != "" {
		return k
	}
	return nil
}

// byExt returns the format of models that a name promises.
func byExt(name string) *kind { return opensByName(name, AsModel) }
