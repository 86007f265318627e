package unwrap

import (
	"io"
	"strings"
	"unicode"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Pickle reports content that a pickle loader would get something from: it comes
// to a call or to a global that is dangerous to import, or it ends with STOP. A
// text may begin like a pickle of protocol 0: what counts is what running it comes
// to, in package vm, or in a loader that reads operands more freely. One that ends
// before the file does, and asked for nothing, is none: "N. B." is a text.
func Pickle(b *limits.Budget, r io.ReaderAt, size int64) (bool, error) {
	b = b.Probe()
	defer b.Close()
	rep := vm.ScanPlain(b, r, 0, size)
	switch c := wire.ClassOf(rep.Err); {
	case c == wire.Limit || c == wire.Internal:
		return false, rep.Err
	case rep.Err == nil && (rep.Graph.End() == size || rep.Len() > 0):
		return true, nil
	}
	w, err := walk(b, r, size)
	if err != nil || w.call || !w.global {
		return w.call, err
	}
	// An import alone runs what the module holds.
	for _, g := range rep.Graph.Globals() {
		if g.Status == vm.Dangerous && isDotted(g.Module) && isDotted(g.Name) {
			return true, nil
		}
	}
	return false, nil
}

// isDotted reports a name that Python could import: lines of a text are none.
func isDotted(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
}
