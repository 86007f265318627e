package parser

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A format is a row of the table of formats.
type format struct {
	name  string
	title string
	// exts are the extensions that promise this format and mark weights in a folder.
	exts []string
	// fits reports whether the content has this format.
	fits func(*head) fit
	// decode reads one file.
	decode func(*limits.Budget, io.ReaderAt, int64) (tensor.Model, error)
	// index reads the model that an index describes, shards a model whose files are in
	// one folder; nil if a model is always one file.
	index  func(*limits.Budget, fs.FS, string) (tensor.Model, error)
	shards func(*limits.Budget, fs.FS, []string) (tensor.Model, error)
	// isShard reports whether a file name is that of a part of a set; nil if there are no
	// sets.
	isShard func(string) bool
}

// formats are sorted by name. No content has two formats: it is refused instead.
var formats = [...]format{
	{
		name: "gguf", title: "GGUF", exts: []string{".gguf"},
		fits: fitsGGUF, decode: modelDecoder(gguf.Decode),
		shards: openSplit, isShard: isSplit,
	},
	{
		name: "npy", title: "NPY array", exts: []string{".npy"},
		fits: fitsNPY, decode: modelDecoder(npy.Decode),
	},
	{
		name: "npz", title: "NPZ archive", exts: []string{".npz"},
		fits: fitsNPZ, decode: modelDecoder(npz.Decode),
	},
	{
		name: "pth", title: "PyTorch checkpoint", exts: []string{".pth", ".pt", ".bin", ".ckpt"},
		fits: fitsPTH, decode: modelDecoder(pth.Decode),
		index: openPTHIndex, shards: openPTHShards,
	},
	{
		name: "safetensors", title: "safetensors", exts: []string{".safetensors"},
		fits: fitsSafetensors, decode: modelDecoder(safetensors.Decode),
		index: safetensors.OpenIndex, shards: safetensors.OpenSharded,
	},
}

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

// Formats lists the formats that are read.
func Formats() []Format {
	var list []Format
	for _, f := range formats {
		list = append(list, Format{f.name, f.title, slices.Clone(f.exts)})
	}
	return list
}

// modelDecoder adapts a format's Decode to the table, without turning a nil *File into a
// non-nil Model.
func modelDecoder[M tensor.Model](decode func(*limits.Budget, io.ReaderAt, int64) (M, error)) func(*limits.Budget, io.ReaderAt, int64) (tensor.Model, error) {
	return func(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
		m, err := decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

// byExt returns the format that a name promises.
func byExt(name string) *format {
	ext := strings.ToLower(path.Ext(name))
	for i := range formats {
		if slices.Contains(formats[i].exts, ext) {
			return &formats[i]
		}
	}
	return nil
}
