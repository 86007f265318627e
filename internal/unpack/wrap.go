package unpack

import (
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// MaxLayers bounds the nesting of wrappers. A container image with a compressed layer that
// holds a compressed model has five.
const MaxLayers = 8

// An Item is one file in a wrapper.
type Item struct {
	Name string // its path in an archive, "" for a stream
	Size int64
	R    io.ReaderAt // nil if it is never opened
	Why  string      // why it is not opened
}

// A Kind is a format of wrappers.
type Kind struct {
	Name      string // as errors carry it: "tar"
	Title     string // "a tar archive"
	Stream    bool   // its content is a single file without a name
	exts      []string
	walk      func(w *walker) error
	beginning *opener // opens the beginning of a stream
}

// kinds are all kinds. Package parser tells by its first bytes which one a file is.
var kinds = [...]*Kind{
	{"zip", "a ZIP archive", false, nil, (*walker).zip, nil},
	{"tar", "a tar archive", false, nil, (*walker).tar, nil},
	{"gzip", "gzip data", true, []string{".gz", ".gzip"}, walkStream(openGzip), &openGzip},
	{"bzip2", "bzip2 data", true, []string{".bz2"}, walkStream(openBzip2), &openBzip2},
	{"zstd", "zstd data", true, []string{".zst", ".zstd"}, (*walker).zstd, &openZstdBeginning},
	{"zlib", "zlib data", true, []string{".z", ".zlib"}, walkStream(openZlib), &openZlib},
	{"xz", "xz data", true, []string{".xz"}, (*walker).xz, &openXZBeginning},
	{"lzma", "LZMA data", true, []string{".lzma"}, (*walker).lzma, &openLZMABeginning},
}

// Kinds returns the names of the kinds.
func Kinds() []string {
	var list []string
	for _, k := range kinds {
		list = append(list, k.Name)
	}
	return list
}

// Titles returns the titles of the kinds.
func Titles() []string {
	var list []string
	for _, k := range kinds {
		list = append(list, k.Title)
	}
	return list
}

// Named returns the kind of that name, or nil.
func Named(name string) *Kind {
	for _, k := range kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Inner returns the name of a stream's content: the name without the suffix of the compression, or
// without .bin, which some libraries use for compressed files.
func (k *Kind) Inner(name string) string {
	low := strings.ToLower(name)
	for _, e := range k.exts {
		if strings.HasSuffix(low, e) && len(name) > len(e) {
			return name[:len(name)-len(e)]
		}
	}
	for _, short := range [...]string{".tgz", ".tbz2", ".tzst", ".txz", ".tlz"} {
		if stem, ok := strings.CutSuffix(low, short); ok {
			return name[:len(stem)] + ".tar"
		}
	}
	if stem, ok := strings.CutSuffix(low, ".bin"); ok && stem != "" {
		return name[:len(stem)]
	}
	return name
}

// Walk calls visit for each file in a wrapper, in their order. An error of visit ends the
// walk. An item is valid until visit returns.
func (k *Kind) Walk(b *limits.Budget, r io.ReaderAt, size int64, visit func(Item) error) error {
	return k.WalkListed(b, r, size, nil, visit)
}

// WalkListed is [Kind.Walk] for a ZIP archive whose directory was read; for any other
// wrapper the directory is nil.
func (k *Kind) WalkListed(b *limits.Budget, r io.ReaderAt, size int64, directory *zip.Listing, visit func(Item) error) error {
	w := &walker{b: b, kind: k.Name, r: r, size: size, directory: directory, visit: visit}
	return k.walk(w)
}

// A walker reads one wrapper.
type walker struct {
	b     *limits.Budget
	kind  string
	r     io.ReaderAt
	size  int64
	visit func(Item) error

	directory *zip.Listing // of a ZIP archive, nil if it was not read
}

func (w *walker) fail(where string, off int64, cause error) error {
	return wire.At(w.kind, where, off, cause)
}

// visitItem charges an item and passes it to the caller.
func (w *walker) visitItem(i Item) error {
	if err := w.b.Items(1); err != nil {
		return w.fail(memberPlace(i.Name), wire.NoOffset, err)
	}
	return w.visit(i)
}

// memberPlace returns the Where of errors about an item.
func memberPlace(name string) string {
	if name == "" {
		return ""
	}
	return "member " + wire.Quote(name)
}
