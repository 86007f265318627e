package polyglot

import (
	"io"
	"strings"
	"unicode"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Pickle reports whether content does something in a pickle loader: it reaches a call or names a
// global that is dangerous to import, or it ends with STOP. A text may begin like a pickle of
// protocol 0, so it is run, by package vm and by a walker that reads operands more leniently. A
// pickle that ends before the file does and imports nothing does not count, if the same holds for
// those that follow it: "N. B." is a text.
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
	if w == nil { // no room to begin
		return false, err
	}
	if err != nil || w.call || !w.global {
		return w.call, err
	}
	// Importing a module runs its code.
	for _, g := range rep.Graph.Globals() {
		if g.Status == vm.Dangerous && isDotted(g.Module) && isDotted(g.Name) {
			return true, nil
		}
	}
	return false, nil
}

// isDotted reports whether Python could import a name; lines of a text are not
// importable.
func isDotted(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
}
