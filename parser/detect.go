package parser

import (
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/unwrap"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// detection is the format of errors that come before a format is known.
const detection = "detect"

// Quirk is the leniency that lets a file pass which is an archive as well.
const polyglotQuirk = "detect.polyglot"

// headLen is how much of a file detection looks at.
const headLen = 4 << 10

// head is the beginning of a file.
type head struct {
	r     io.ReaderAt
	size  int64
	b     *limits.Budget
	p     []byte
	names *archive // once looked at
	buf   [headLen]byte
}

// fit says whether content is of a format.
type fit uint8

const (
	no     fit = iota
	partly     // the file ends before it can be told
	yes
)

// Detect returns the format of the file in r, which has size bytes, by its content. For
// content of no supported format the error says what it is instead.
func Detect(b *limits.Budget, r io.ReaderAt, size int64) (string, error) {
	return guarded(b, "detect", func() (string, error) {
		f, _, err := detect(b, r, size)
		if err != nil {
			return "", err
		}
		return f.name, nil
	})
}

// detect finds the one format that the content is of. If an archive may be read
// from the same bytes and the policy lets that pass, it says so.
func detect(b *limits.Budget, r io.ReaderAt, size int64) (*format, *tensor.Finding, error) {
	if size < 0 {
		return nil, nil, wire.At(detection, "", wire.NoOffset, wire.ErrUsage.With("size %d", size))
	}
	if size == 0 {
		return nil, nil, wire.At(detection, "", 0, wire.ErrTruncated.By("detect.empty").With("the file is empty"))
	}
	h := &head{r: r, size: size, b: b}
	h.p = h.buf[:min(size, headLen)]
	if err := wire.ReadFull(r, h.p, 0); err != nil {
		return nil, nil, wire.At(detection, "", 0, err)
	}
	var found *format
	cut := false
	for i := range formats {
		switch formats[i].fits(h) {
		case yes:
			if found != nil {
				return nil, nil, wire.At(detection, "", 0,
					wire.ErrUnsupported.By("detect.two-formats").With("it could be %s or %s, and nothing says which", found.name, formats[i].name))
			}
			found = &formats[i]
		case partly:
			cut = true
		}
	}
	switch {
	case found != nil:
		alias, err := h.polyglot(found)
		return found, alias, err
	case cut:
		return nil, nil, wire.At(detection, "", size, wire.ErrTruncated.By("detect.short").With("%d bytes are too few to tell the format", size))
	case h.names != nil && h.names.err != nil:
		return nil, nil, h.names.err
	default:
		return nil, nil, wire.At(detection, "", 0, h.foreign())
	}
}

// begins compares with the magic bytes of a format.
func (h *head) begins(magic string) fit {
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

// fitsSafetensors wants a header length, then an opening brace. A length beyond
// the ceiling is safetensors too, and that parser's to refuse, unless it is text:
// eight letters before a brace are not rare.
func fitsSafetensors(h *head) fit {
	var length [8]byte
	copy(length[:], h.p)
	sane := binary.LittleEndian.Uint64(length[:]) <= maxHeader
	switch {
	case len(h.p) <= len(length) && sane:
		return partly
	case len(h.p) <= len(length) || h.p[8] != '{' || fitsAny(h, "GGUF", "PK\x03\x04", "PK\x05\x06"):
		return no
	case sane || !isText(length[:]):
		return yes
	}
	return no
}

func fitsAny(h *head, magics ...string) bool {
	return slices.ContainsFunc(magics, func(m string) bool { return h.begins(m) == yes })
}

// archive is what a ZIP archive holds, as far as it tells formats apart.
type archive struct {
	members, arrays, pickles, h5 int
	err                          error // why the directory cannot be read
}

// members looks into a ZIP archive, under an account of its own: what it costs
// is given back. A directory that cannot be read leaves the first name, and the
// parser that is chosen by it will say what is wrong.
func (h *head) members() *archive {
	if h.names != nil {
		return h.names
	}
	h.names = new(archive)
	b := h.b.Probe()
	defer b.Close()
	list, err := zip.Directory(b, h.r, h.size, zip.Options{ExactCase: true})
	if err != nil {
		h.names.err = err
		h.names.count(firstMember(h.p))
		return h.names
	}
	for i := range list {
		h.names.count(list[i].Name)
	}
	return h.names
}

func (a *archive) count(name string) {
	a.members++
	switch {
	case strings.HasSuffix(name, ".npy"):
		a.arrays++
	case strings.HasSuffix(name, ".h5"):
		a.h5++
	case unwrap.TorchRecord(name):
		a.pickles++
	}
}

// firstMember is the name in the local header at the beginning, as far as it is there.
func firstMember(p []byte) string {
	const nameAt = 30
	if len(p) < nameAt {
		return ""
	}
	n := int(binary.LittleEndian.Uint16(p[26:]))
	return string(p[nameAt:min(len(p), nameAt+n)])
}

// looksZip reports an archive's magic bytes, or that the file ends within them.
func looksZip(h *head) fit { return max(h.begins("PK\x03\x04"), h.begins("PK\x05\x06")) }

func fitsGGUF(h *head) fit { return h.begins("GGUF") }

func fitsNPY(h *head) fit { return h.begins("\x93NUMPY") }

// fitsNPZ wants arrays, or an archive with nothing in it.
func fitsNPZ(h *head) fit {
	f := looksZip(h)
	if f != yes {
		return f
	}
	if a := h.members(); a.arrays > 0 || a.members == 0 {
		return yes
	}
	return no
}

// fitsPTH wants the pickle of a checkpoint, or what other archives of PyTorch
// have, or the magic number that an old checkpoint begins with.
func fitsPTH(h *head) fit {
	if f := looksZip(h); f != yes {
		return max(f, legacy(h))
	}
	if h.members().pickles > 0 {
		return yes
	}
	return no
}

// The rest of the first pickle of a checkpoint of PyTorch before 1.6: the long
// integer MAGIC_NUMBER of torch/serialization.py.
const torchMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."

// legacy asks the parser, and sees a file that ends before the parser can tell.
func legacy(h *head) fit {
	if kind, _ := pth.Sniff(h.p[:min(len(h.p), pth.SniffLen)]); kind == pth.KindLegacy {
		return yes
	}
	if len(h.p) > 32 {
		return no
	}
	f := h.begins("L119547037146038801333356L\n.")
	for _, start := range [...]string{
		"\x80\x02", "\x80\x03",
		"\x80\x04", "\x80\x04\x95\x0d\x00\x00\x00\x00\x00\x00\x00",
		"\x80\x05", "\x80\x05\x95\x0d\x00\x00\x00\x00\x00\x00\x00",
	} {
		f = max(f, h.begins(start+torchMagic))
	}
	return f
}

// misnamed is the finding about a name that promises something else.
func misnamed(name string, f *format) *tensor.Finding {
	promised := byExt(name)
	if promised == nil || promised == f {
		return nil
	}
	return &tensor.Finding{
		Code: "detect.name", Severity: tensor.Warning, Off: wire.NoOffset,
		Text: fmt.Sprintf("the name ends in %s, which stands for %s, but the content is %s",
			strings.ToLower(path.Ext(name)), promised.name, f.name),
	}
}
