package unpack

import (
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/lzma"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// MaxLayers bounds the nesting of wrappers. A container image with a compressed layer that
// holds a compressed model has five.
const MaxLayers = 8

// HeadLen is the number of bytes that [Sniff] needs.
const HeadLen = 512

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
	matches   func(head []byte) bool
	walk      func(w *walker) error
	beginning *opener // opens the beginning of a stream
}

// kinds are all kinds. No file matches two.
var kinds = [...]*Kind{
	{"zip", "a ZIP archive", false, nil, hasMagic("PK\x03\x04", "PK\x05\x06"), (*walker).zip, nil},
	{"tar", "a tar archive", false, nil, polyglot.IsTar, (*walker).tar, nil},
	{"gzip", "gzip data", true, []string{".gz", ".gzip"}, hasMagic("\x1f\x8b"), walkStream(openGzip), &openGzip},
	{"bzip2", "bzip2 data", true, []string{".bz2"}, isBzip2, walkStream(openBzip2), &openBzip2},
	{"zstd", "zstd data", true, []string{".zst", ".zstd"}, hasMagic("\x28\xb5\x2f\xfd"), (*walker).zstd, &openZstdBeginning},
	{"zlib", "zlib data", true, []string{".z", ".zlib"}, isZlib, walkStream(openZlib), &openZlib},
	{"xz", "xz data", true, []string{".xz"}, hasMagic(xzMagic), (*walker).xz, &openXZBeginning},
	{"lzma", "LZMA data", true, []string{".lzma"}, lzma.IsAlone, (*walker).lzma, &openLZMABeginning},
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

func hasMagic(magic ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, m := range magic {
			if strings.HasPrefix(string(head), m) {
				return true
			}
		}
		return false
	}
}

// Sniff returns the kind of a wrapper by the beginning of its file, or nil.
func Sniff(head []byte) *Kind {
	for _, k := range kinds {
		if k.matches(head) {
			return k
		}
	}
	return nil
}

// Inner returns the name of a stream's content: the name without the suffix of the
// compression.
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
	return name
}

// Walk calls visit for each file in a wrapper, in their order. An error of visit ends the
// walk. An item is valid until visit returns.
func (k *Kind) Walk(b *limits.Budget, r io.ReaderAt, size int64, visit func(Item) error) error {
	w := &walker{b: b, kind: k.Name, r: r, size: size, visit: visit}
	return k.walk(w)
}

// A walker reads one wrapper.
type walker struct {
	b     *limits.Budget
	kind  string
	r     io.ReaderAt
	size  int64
	visit func(Item) error
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
