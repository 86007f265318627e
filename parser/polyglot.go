package parser

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// polyglot refuses a file that another loader would read as an archive or run as a
// pickle, or returns the finding if the policy lets it pass.
func (h *head) polyglot(f *kind) (*tensor.Finding, error) {
	what, off, err := h.alias()
	if what == "" || err != nil || what == f.behind {
		return nil, err
	}
	text := fmt.Sprintf("it begins as %s and is also %s: loaders see different content", f.name, what)
	if !h.b.Policy().Quirk(polyglotQuirk) {
		return nil, wire.At(detection, "", off, wire.ErrUnsupported.WithRule("detect.two-formats").Errorf("%s (the quirk %s allows it)", text, polyglotQuirk))
	}
	return &tensor.Finding{Code: "detect.polyglot", Severity: tensor.Danger, Off: off, Text: text}, nil
}

// alias returns the archive or pickle that the file also is, besides what its first bytes
// say.
func (h *head) alias() (what string, off int64, err error) {
	if looksZip(h) == yes {
		return "", 0, nil
	}
	what, off, err = h.archive()
	if what == "" && err == nil && !h.isPickle() {
		what, off, err = h.findPickle()
	}
	return what, off, wire.At(detection, "", off, err)
}

// isPickle reports whether this package too reads the file as a pickle: a legacy
// checkpoint.
func (h *head) isPickle() bool {
	kind, _ := pth.Sniff(h.p)
	return kind == pth.KindLegacy
}

// pickleProbe bounds the work on the beginning of each file.
var pickleProbe = limits.Policy{MaxTotalBytes: 1 << 20, MaxWorkingSet: 1 << 20, MaxSteps: 1 << 16, Timeout: limits.NoTimeout}

// findPickle finds a pickle in a file of another format. torch.load and pickle.load run
// any file as a pickle, from its first byte to its end or to the first invalid opcode.
// The length before a safetensors header may be the opcode of a line of text, with more
// opcodes after that line, in a tensor. Such a pickle names a global. A file that is a
// pickle by chance, up to some byte, names nothing that Python could import. Neither does
// a code of the extension registry, with which the length of an honest header may begin:
// no code is registered, and loaders refuse it.
func (h *head) findPickle() (what string, off int64, err error) {
	b := pickleProbe.Budget(context.Background())
	defer b.Close()
	first := vm.ScanNext(b, bytes.NewReader(h.p), 0, int64(len(h.p)))
	if wire.ClassOf(first.Err) == wire.Malformed && len(first.Graph.Globals()) == 0 {
		return "", 0, nil
	}
	r := vm.ScanNext(h.b, h.r, 0, h.size)
	defer r.Graph.Release()
	for _, g := range r.Graph.Globals() {
		if importable(g.Module) && !g.IsExtension() {
			return "a pickle that names " + wire.Quote(g.String()), g.Off, nil
		}
	}
	if c := wire.ClassOf(r.Err); c == wire.Limit || c == wire.Internal {
		return "", 0, r.Err
	}
	return "", 0, nil
}

// importable reports whether module could be the name of a Python module.
func importable(module string) bool {
	for i := range len(module) {
		switch c := module[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.':
		default:
			return false
		}
	}
	return module != ""
}

// A setFolder opens the files of a set with the checks that detection makes for a single
// file.
type setFolder struct {
	*folder
	b     *limits.Budget
	f     *kind
	found []*tensor.Finding
}

// Open refuses a file of weights that another loader would read as an archive.
func (s *setFolder) Open(name string) (fs.File, error) {
	file, err := s.folder.Open(name)
	if err != nil || byExt(name) == nil {
		return file, err
	}
	r, ok := file.(io.ReaderAt)
	info, err := file.Stat()
	if !ok || err != nil || !info.Mode().IsRegular() {
		return file, nil // the caller asks for one of these by name
	}
	h, err := newHead(s.b, r, info.Size())
	var alias *tensor.Finding
	if err == nil {
		alias, err = h.polyglot(s.f)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	if alias != nil {
		alias.Where = "file " + wire.Quote(name)
		s.found = append(s.found, alias)
	}
	return file, nil
}
