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

// format is one row of the table.
type format struct {
	name  string
	title string
	// Extensions that promise this format, and the folder rule counts as weights.
	exts []string
	// fits says whether the content is of this format.
	fits func(*head) fit
	// decode reads one file.
	decode func(*limits.Budget, io.ReaderAt, int64) (tensor.Model, error)
	// index reads the model that an index of shards describes, shards one whose
	// files lie in one folder; nil where a model is one file.
	index  func(*limits.Budget, fs.FS, string) (tensor.Model, error)
	shards func(*limits.Budget, fs.FS, []string) (tensor.Model, error)
	// part reports the name of a file that is no model without the rest of its
	// set; nil where each is.
	part func(string) bool
}

// Every format, in the order of their names. No two fit the same content: what
// two could read is refused.
var formats = [...]format{
	{
		name: "gguf", title: "GGUF", exts: []string{".gguf"},
		fits: fitsGGUF, decode: as(gguf.Decode),
		shards: openSplit, part: isSplit,
	},
	{
		name: "npy", title: "NPY array", exts: []string{".npy"},
		fits: fitsNPY, decode: as(npy.Decode),
	},
	{
		name: "npz", title: "NPZ archive", exts: []string{".npz"},
		fits: fitsNPZ, decode: as(npz.Decode),
	},
	{
		name: "pth", title: "PyTorch checkpoint", exts: []string{".pth", ".pt", ".bin", ".ckpt"},
		fits: fitsPTH, decode: as(pth.Decode),
		index: openPTHIndex, shards: openPTHShards,
	},
	{
		name: "safetensors", title: "safetensors", exts: []string{".safetensors"},
		fits: fitsSafetensors, decode: as(safetensors.Decode),
		index: safetensors.OpenIndex, shards: safetensors.OpenSharded,
	},
}

func isSplit(name string) bool {
	_, _, _, ok := gguf.IsSplitName(name)
	return ok
}

// openSplit finds the other files by the name of one.
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

// as turns a format's own Decode into the table's: a nil *File must not become
// a Model that is not nil.
func as[M tensor.Model](decode func(*limits.Budget, io.ReaderAt, int64) (M, error)) func(*limits.Budget, io.ReaderAt, int64) (tensor.Model, error) {
	return func(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
		m, err := decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

// byExt finds the format that a name promises.
func byExt(name string) *format {
	ext := strings.ToLower(path.Ext(name))
	for i := range formats {
		if slices.Contains(formats[i].exts, ext) {
			return &formats[i]
		}
	}
	return nil
}
