package wrap

import (
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/lzma"
	"github.com/anamnesis-go/anamnesis/internal/unwrap"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// MaxLayers is how deep wrappers may stand in each other: an image of containers
// with a packed layer that holds a packed model has five.
const MaxLayers = 8

// HeadLen is how much of the beginning [Sniff] wants.
const HeadLen = 512

// An Item is one content of a wrapper.
type Item struct {
	Name string // its path in an archive, "" for the content of a stream
	Size int64
	R    io.ReaderAt // nil for what is never opened
	Why  string      // why it is not
}

// A Kind is one way to pack models.
type Kind struct {
	Name   string // as errors carry it: "tar"
	Title  string // "a tar archive"
	Stream bool   // it has one content, without a name
	exts   []string
	fits   func(head []byte) bool
	walk   func(w *walker) error
	opens  *opener // of a stream
}

// The kinds, by their first bytes. No two fit the same.
var kinds = [...]*Kind{
	{"zip", "a ZIP archive", false, nil, begins("PK\x03\x04", "PK\x05\x06"), (*walker).zip, nil},
	{"tar", "a tar archive", false, nil, unwrap.IsTar, (*walker).tar, nil},
	{"gzip", "gzip data", true, []string{".gz", ".gzip"}, begins("\x1f\x8b"), streamOf(openGzip), &openGzip},
	{"bzip2", "bzip2 data", true, []string{".bz2"}, isBzip2, streamOf(openBzip2), &openBzip2},
	{"zstd", "zstd data", true, []string{".zst", ".zstd"}, begins("\x28\xb5\x2f\xfd"), (*walker).zstd, &beginZstd},
	{"zlib", "zlib data", true, []string{".z", ".zlib"}, isZlib, streamOf(openZlib), &openZlib},
	{"xz", "xz data", true, []string{".xz"}, begins(xzMagic), (*walker).xz, &beginXZ},
	{"lzma", "LZMA data", true, []string{".lzma"}, lzma.IsAlone, (*walker).lzma, &beginLZMA},
}

// Kinds lists the names of the kinds.
func Kinds() []string {
	var list []string
	for _, k := range kinds {
		list = append(list, k.Name)
	}
	return list
}

// Titles lists the kinds in words.
func Titles() []string {
	var list []string
	for _, k := range kinds {
		list = append(list, k.Title)
	}
	return list
}

func begins(magic ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, m := range magic {
			if strings.HasPrefix(string(head), m) {
				return true
			}
		}
		return false
	}
}

// Sniff tells the kind of wrapper by the beginning of a file, nil for none.
func Sniff(head []byte) *Kind {
	for _, k := range kinds {
		if k.fits(head) {
			return k
		}
	}
	return nil
}

// Inner is what the content of a stream is called: the name without the ending
// that says how it is compressed.
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

// Walk gives each content of a wrapper to visit, in the order of the file. What
// visit returns ends the walk. A content is valid until visit returns.
func (k *Kind) Walk(b *limits.Budget, r io.ReaderAt, size int64, visit func(Item) error) error {
	w := &walker{b: b, kind: k.Name, r: r, size: size, visit: visit}
	return k.walk(w)
}

// A walker goes through one wrapper.
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

// give charges a content and lets the caller see it.
func (w *walker) give(i Item) error {
	if err := w.b.Items(1); err != nil {
		return w.fail(place(i.Name), wire.NoOffset, err)
	}
	return w.visit(i)
}

// place names a content in messages.
func place(name string) string {
	if name == "" {
		return ""
	}
	return "member " + wire.Quote(name)
}
