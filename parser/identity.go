package parser

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// An Identity says what a file could be, by its beginning, its end and its name. It only
// proposes: the judge of a kind reads the whole, and proves the proposal or refuses it.
// Close gives back what it holds.
type Identity struct {
	Name string
	Size int64

	// Begins is what the first 16 bytes say: a format, "zip" for any archive, or "".
	Begins string
	// Pickled is what PyTorch's loader takes the first bytes for.
	Pickled pth.Kind
	// Packing is the archive or compressed stream that the first bytes begin, "" for none.
	Packing string
	// Promised is the format that the name promises, "" for none.
	Promised string
	// Named is the kind that the name promises, of models or not, "" for none.
	Named string
	// Proposals are the kinds that the file could be, in the order of their judges. The first that
	// is sure, or that its judge proves, is what the file is. Without one it is a text, harmless,
	// or of no known kind.
	Proposals []Proposal
	// Err says why the file is not opened as a model, or is nil.
	Err error

	model *kind           // the format, if Err is nil
	graph *kind           // else the graph or packing whose tensors are read, or nil
	alias *tensor.Finding // what else the file is, if the policy lets it pass
	h     *head
}

// A Proposal is a kind of content that a file could be.
type Proposal struct {
	Kind  string // a name of [Kinds], "" for an archive whose directory cannot be read
	Opens Opens
	// Sure says that every other proposal is out of the question, not that the file is
	// valid. A pickle of protocol 0 or 1 begins like a text, so it must be run.
	Sure bool
	Why  string
}

// Identify reads the beginning and the end of the file in r once, and proposes what it is.
// name may be empty. The error is that of reading, or of the account; that the file is no
// model is in the identity.
func Identify(b *limits.Budget, r io.ReaderAt, size int64, name string) (*Identity, error) {
	return guarded(b, "identify", func() (*Identity, error) { return identify(b, r, size, name) })
}

// IdentifyBeginning proposes what a file is of which only the first bytes are there. It
// reads nothing, so it knows no members of an archive, and proposes nothing that the rest
// could contradict.
func IdentifyBeginning(first []byte, size int64, name string) *Identity {
	h := &head{size: size, p: first[:min(len(first), headLen)]}
	return h.identity(name)
}

// identity returns what the first bytes and the name say.
func (h *head) identity(name string) *Identity {
	id := &Identity{Name: name, Size: h.size, Begins: h.begins(), Packing: h.packing(), h: h}
	if len(h.p) > 0 {
		id.Pickled, _ = pth.Sniff(h.p[:min(len(h.p), pth.SniffLen)])
	}
	if k := byExt(name); k != nil {
		id.Promised, id.Named = k.name, k.name
	} else if k := named(name); k != nil {
		id.Named = k.name
	}
	if strings.EqualFold(path.Ext(name), ".bin") && isStream(id.Packing) {
		id.Promised = "" // PyTorch loads none, and other libraries call any bytes so
	}
	return id
}

// isStream reports whether a packing is a compressed stream, and no archive.
func isStream(packing string) bool {
	switch packing {
	case "gzip", "bzip2", "xz", "zstd":
		return true
	}
	return false
}

func identify(b *limits.Budget, r io.ReaderAt, size int64, name string) (*Identity, error) {
	if size < 0 {
		return nil, wire.At(detection, "", wire.NoOffset, wire.ErrUsage.Errorf("size %d", size))
	}
	h, err := newHead(b, r, size)
	if err != nil {
		return nil, err
	}
	id := h.identity(name)
	if id.model, id.alias, id.Err = h.detect(); id.Err != nil {
		id.model = nil
	}
	id.propose()
	return id, nil
}

// propose lists what the file could be.
func (id *Identity) propose() {
	add := func(name string, how Opens, sure bool, why string) {
		id.Proposals = append(id.Proposals, Proposal{name, how, sure, why})
	}
	e, _ := errors.AsType[*wire.Error](id.Err)
	switch {
	case id.Err == nil:
		add(id.model.name, AsModel, true, "its structure is that of the format")
		return
	case wire.ClassOf(id.Err) == wire.Internal || e != nil && e.Format != detection:
		add("", AsModel, true, "it begins as an archive whose directory cannot be read")
		return
	case id.Packing != "" && id.Promised == "":
		add(id.Packing, AsPacked, true, "its first bytes")
		id.graph = id.h.packedModel()
		return
	case id.Pickled == pth.KindPickle:
		add("pickle", AsPickle, true, "its first bytes")
		return
	case id.Size > 0 && opensByName(id.Name, AsPickle) != nil:
		add("pickle", AsPickle, true, "its name")
		return
	}
	add("pickle", AsPickle, false, "a pickle of protocol 0 or 1 begins like a text")
	k, why := id.findGraph()
	if k == nil {
		return
	}
	add(k.name, AsGraph, true, why)
	if k.reads != "" {
		id.graph = k
	}
}

// findGraph returns the kind of graph that the name or the first bytes say.
func (id *Identity) findGraph() (k *kind, why string) {
	if k := opensByName(id.Name, AsGraph); k != nil && k.byName {
		return k, "its name"
	}
	for i := range kinds {
		if k := &kinds[i]; k.opens == AsGraph && !k.byName && k.fits(id.h) == yes {
			return k, "its first bytes"
		}
	}
	return nil, ""
}

// packedModel returns the packing whose tensors are read, or nil: each of its contents is
// judged, and its weights are a model.
func (h *head) packedModel() *kind {
	for i := range kinds {
		if k := &kinds[i]; k.opens == AsPacked && k.reads != "" && k.fits(h) == yes {
			return k
		}
	}
	return nil
}

// IsPackedModel reports whether the file is an archive that its library reads as one model.
func (id *Identity) IsPackedModel() bool { return id.graph != nil && id.graph.opens == AsPacked }

// admit returns the kind that is opened: the format of the model, or a graph or packing with tensors.
func (id *Identity) admit(b *limits.Budget) (*kind, error) {
	if id.graph == nil {
		return id.model, id.Refusal(b)
	}
	if err := refused(b, id.graph); err != nil || id.alias != nil {
		return id.graph, err
	}
	var err error
	id.alias, err = id.h.polyglot(id.graph)
	return id.graph, err
}

// named returns the first kind that a name promises.
func named(name string) *kind {
	ext := strings.ToLower(path.Ext(name))
	for i := range kinds {
		if k := &kinds[i]; slices.Contains(k.exts, ext) {
			return k
		}
	}
	return nil
}

// opensByName returns the kind that is opened in this way and that the name promises.
func opensByName(name string, how Opens) *kind {
	ext := strings.ToLower(path.Ext(name))
	for i := range kinds {
		if k := &kinds[i]; k.opens == how && slices.Contains(k.exts, ext) {
			return k
		}
	}
	return nil
}

// Format returns the format of models that the structure proposes, or "".
func (id *Identity) Format() string {
	if id.model == nil {
		return ""
	}
	return id.model.name
}

// Archive returns the archive that a loader finds in the file which does not begin at its
// first byte, or asks for more than that. It looks at the end of the file once.
func (id *Identity) Archive() (what string, off int64, err error) { return id.h.archive() }

// Directory returns the directory of a ZIP archive, or nil if it was not read.
func (id *Identity) Directory() *zip.Listing {
	if id.h.names == nil {
		return nil
	}
	return id.h.names.list
}

// Beginning returns the first bytes, at most 4 KiB.
func (id *Identity) Beginning() []byte { return id.h.p }

// Over returns a reader of the file in r that does not read its beginning again.
func (id *Identity) Over(r io.ReaderAt) io.ReaderAt { return &begun{r, id.h.p} }

// Open opens the model that the identity proposes. r is the file.
func (id *Identity) Open(b *limits.Budget, r io.ReaderAt) (tensor.Model, error) {
	return opened(b, "open", func(b *limits.Budget) (tensor.Model, error) { return id.open(b, r) })
}

func (id *Identity) open(b *limits.Budget, r io.ReaderAt) (tensor.Model, error) {
	k, err := id.admit(b)
	if err != nil {
		return nil, err
	}
	m, err := k.decode(b, r, id)
	if err != nil {
		return nil, id.Explain(err)
	}
	if o, ok := m.(outsider); ok && len(o.Outside()) > 0 {
		return nil, wire.At(k.name, "", wire.NoOffset, wire.ErrUnsupported.WithRule("file.alone").Errorf("its data lie in %s beside it: open it by its path", wire.Quote(o.Outside()[0])))
	}
	return m, id.Note(b, m)
}

// An outsider is a model whose data lie in other files of its folder.
type outsider interface {
	// Outside lists the files that are not attached yet.
	Outside() []string
	// Attach opens them.
	Attach(*limits.Budget, fs.FS) error
}

// Note adds to a model what its identity says of the file: that its name promises another
// format, or that it is also an archive, if the policy lets that pass.
func (id *Identity) Note(b *limits.Budget, m tensor.Model) error {
	_, err := addFindings(b, m, id.alias, misnamed(id.Name, cmp.Or(id.model, id.graph)))
	return err
}

// Explain adds to the error of a truncated file that its name is that of an unfinished
// download.
func (id *Identity) Explain(err error) error { return explainTruncated(id.Name, err) }

// Refusal returns why the file is not opened as a model: it is not one, or the policy refuses its
// format.
func (id *Identity) Refusal(b *limits.Budget) error {
	if id.Err != nil {
		return id.Err
	}
	return refused(b, id.model)
}

// Close gives back what the identity holds: the directory of an archive.
func (id *Identity) Close() {
	if id != nil {
		id.Directory().Close()
	}
}

// A begun is a file whose first bytes were read.
type begun struct {
	r    io.ReaderAt
	head []byte
}

// ReadAt serves the first bytes from memory.
func (f *begun) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(f.head)) {
		return f.r.ReadAt(p, off)
	}
	n := copy(p, f.head[off:])
	if n == len(p) {
		return n, nil
	}
	more, err := f.r.ReadAt(p[n:], off+int64(n))
	return n + more, err
}

// packing returns the archive or compressed stream that the first bytes begin.
func (h *head) packing() string {
	if looksZip(h) == yes { // and nothing else: its end is checked
		return "zip"
	}
	for i := range kinds {
		if k := &kinds[i]; k.opens == AsPacked && len(k.of) == 0 && k.fits(h) == yes {
			return k.name
		}
	}
	return ""
}

// archive is [Identity.Archive].
func (h *head) archive() (string, int64, error) {
	if h.end == nil {
		what, off, err := polyglot.Alias(h.r, h.size, h.p)
		h.end = &ending{what, off, err}
	}
	return h.end.what, h.end.off, h.end.err
}

// An ending is what the end of a file says.
type ending struct {
	what string
	off  int64
	err  error
}
