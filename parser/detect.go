package parser

import (
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/keras"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// detection is the format of errors that come before a format is known.
const detection = "detect"

// polyglotQuirk is the leniency that accepts a file which is also an archive.
const polyglotQuirk = "detect.polyglot"

// headLen is how much of a file detection looks at.
const headLen = 4 << 10

// smallHead is the length of a file whose beginning has no buffer of its own: an archive may
// have thousands of those.
const smallHead = 512

// head is the beginning of a file.
type head struct {
	r     io.ReaderAt
	size  int64
	b     *limits.Budget
	p     []byte
	names *archiveContents // of the archive's members, once read
	end   *ending          // once looked at
	small [smallHead]byte
}

// newHead reads the beginning of a file.
func newHead(b *limits.Budget, r io.ReaderAt, size int64) (*head, error) {
	h := &head{r: r, size: size, b: b}
	if h.p = h.small[:min(size, smallHead)]; size > smallHead {
		h.p = new([headLen]byte)[:min(size, headLen)]
	}
	if err := wire.ReadFull(r, h.p, 0); err != nil {
		return nil, wire.At(detection, "", 0, err)
	}
	return h, nil
}

// fit says whether content has a format.
type fit uint8

const (
	no     fit = iota
	partly     // the file ends too early to tell
	yes
)

// Detect returns the format of the file in r, which has size bytes, by its content. For
// content of no supported format the error says what it is instead.
func Detect(b *limits.Budget, r io.ReaderAt, size int64) (string, error) {
	return guarded(b, "detect", func() (string, error) {
		id, err := identify(b, r, size, "")
		if err != nil {
			return "", err
		}
		defer id.Close()
		return id.Format(), id.Err
	})
}

// detect returns the format of the content. If the bytes can also be read as an archive
// and the policy accepts that, it returns a finding as well.
func (h *head) detect() (*kind, *tensor.Finding, error) {
	if h.size == 0 {
		return nil, nil, wire.At(detection, "", 0, wire.ErrTruncated.WithRule("detect.empty").Errorf("the file is empty"))
	}
	var found *kind
	cut := false
	for i := range kinds {
		k := &kinds[i]
		if k.opens != AsModel {
			continue
		}
		switch k.fits(h) {
		case yes:
			if found != nil {
				return nil, nil, wire.At(detection, "", 0,
					wire.ErrUnsupported.WithRule("detect.two-formats").Errorf("it could be %s or %s, and nothing says which", found.name, k.name))
			}
			found = k
		case partly:
			cut = true
		}
	}
	switch {
	case found != nil:
		alias, err := h.polyglot(found)
		return found, alias, err
	case cut:
		return nil, nil, wire.At(detection, "", h.size, wire.ErrTruncated.WithRule("detect.short").Errorf("%d bytes are too few to tell the format", h.size))
	case h.names != nil && h.names.err != nil:
		return nil, nil, h.names.err
	default:
		return nil, nil, wire.At(detection, "", 0, h.foreign())
	}
}

// hasMagic compares the beginning with the magic bytes of a format.
func (h *head) hasMagic(magic string) fit {
	n := min(len(h.p), len(magic))
	switch {
	case string(h.p[:n]) != magic[:n]:
		return no
	case n < len(magic):
		return partly
	default:
		return yes
	}
}

// maxHeader is the longest header that safetensors allows.
const maxHeader = 100_000_000

// fitsSafetensors looks for a header length and an opening brace. A length above the
// ceiling is left to the parser to refuse, unless it is text: eight letters before a
// brace are not rare.
func fitsSafetensors(h *head) fit {
	var length [8]byte
	copy(length[:], h.p)
	sane := binary.LittleEndian.Uint64(length[:]) <= maxHeader
	switch {
	case len(h.p) <= len(length) && sane:
		return partly
	case len(h.p) <= len(length) || h.p[8] != '{' || hasAnyMagic(h, "GGUF", "PK\x03\x04", "PK\x05\x06", "blob "): // of git; a length of 139 GB
		return no
	case sane || !isText(length[:]):
		return yes
	}
	return no
}

func hasAnyMagic(h *head, magics ...string) bool {
	return slices.ContainsFunc(magics, func(m string) bool { return h.hasMagic(m) == yes })
}

// archiveContents is what a ZIP archive holds, as far as it tells formats apart.
type archiveContents struct {
	members, arrays, pickles int
	keras                    bool         // it has the weights of a Keras model
	list                     *zip.Listing // nil if it cannot be read
	err                      error        // error of reading the directory
}

// zipMembers examines a ZIP archive, whose directory it keeps. If that cannot be read, the
// first name decides, and the parser chosen by it will report the error.
func (h *head) zipMembers() *archiveContents {
	if h.names != nil {
		return h.names
	}
	h.names = new(archiveContents)
	list, err := zip.List(h.b, &begun{h.r, h.p}, h.size)
	if err != nil {
		h.names.err = err
		h.names.count(firstMember(h.p))
		return h.names
	}
	h.names.list = list
	for name := range list.Names() {
		h.names.count(name)
	}
	return h.names
}

func (a *archiveContents) count(name string) {
	a.members++
	switch {
	case strings.HasSuffix(name, ".npy"):
		a.arrays++
	case name == keras.Weights:
		a.keras = true
	case polyglot.TorchRecord(name):
		a.pickles++
	}
}

// firstMember returns the name in the first local header, or as much of it as p holds.
func firstMember(p []byte) string {
	const nameAt = 30
	if len(p) < nameAt {
		return ""
	}
	n := int(binary.LittleEndian.Uint16(p[26:]))
	return string(p[nameAt:min(len(p), nameAt+n)])
}

// looksZip compares the beginning with the magic bytes of an archive.
func looksZip(h *head) fit { return max(h.hasMagic("PK\x03\x04"), h.hasMagic("PK\x05\x06")) }

func fitsGGUF(h *head) fit { return h.hasMagic("GGUF") }

func fitsNPY(h *head) fit { return h.hasMagic("\x93NUMPY") }

// fitsNPZ looks for arrays, or an empty archive.
func fitsNPZ(h *head) fit {
	f := looksZip(h)
	if f != yes {
		return f
	}
	if a := h.zipMembers(); a.arrays > 0 || a.members == 0 {
		return yes
	}
	return no
}

// fitsPTH looks for the pickle of a checkpoint, for members of other PyTorch archives, or
// for the magic number of a legacy checkpoint.
func fitsPTH(h *head) fit {
	if f := looksZip(h); f != yes {
		return max(f, fitsLegacyPTH(h))
	}
	if h.zipMembers().pickles > 0 {
		return yes
	}
	return no
}

// torchMagic is the rest of the first pickle of a legacy checkpoint (before PyTorch 1.6):
// the integer MAGIC_NUMBER of torch/serialization.py.
const torchMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."

// fitsLegacyPTH asks package pth, and also handles files that end too early for it.
func fitsLegacyPTH(h *head) fit {
	if kind, _ := pth.Sniff(h.p[:min(len(h.p), pth.SniffLen)]); kind == pth.KindLegacy {
		return yes
	}
	if len(h.p) > 32 {
		return no
	}
	f := h.hasMagic("L119547037146038801333356L\n.")
	for _, start := range [...]string{
		"\x80\x02", "\x80\x03",
		"\x80\x04", "\x80\x04\x95\x0d\x00\x00\x00\x00\x00\x00\x00",
		"\x80\x05", "\x80\x05\x95\x0d\x00\x00\x00\x00\x00\x00\x00",
	} {
		f = max(f, h.hasMagic(start+torchMagic))
	}
	return f
}

// misnamed returns the finding about a name that promises another format, or nil.
func misnamed(name string, f *kind) *tensor.Finding {
	promised := byExt(name)
	if promised == nil || promised == f || slices.Contains(f.also, strings.ToLower(path.Ext(name))) {
		return nil
	}
	return &tensor.Finding{
		Code: "detect.name", Severity: tensor.Warning, Off: wire.NoOffset,
		Text: fmt.Sprintf("the name ends in %s, which stands for %s, but the content is %s",
			strings.ToLower(path.Ext(name)), promised.name, f.name),
	}
}
