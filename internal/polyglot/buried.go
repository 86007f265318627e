package polyglot

import (
	"bytes"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A pickle may begin inside a text: shelve unpickles at offsets that another file states (multiples
// of 512 when shelve writes them), and programs unpickle after a line. So a short text is followed
// from each of its bytes, a longer one from each line and each multiple of 512.

// maxFollowed is the longest text that is followed from each byte.
const maxFollowed = 64 << 10

// block is the alignment of what shelve keeps without a library for databases.
const block = 512

// An instruction says what an opcode does, and how large its operand is.
type instruction struct {
	effect
	known, line bool
	width, size int32 // of the operand, and of its length
}

// instructions has them by byte.
var instructions = func() (t [256]instruction) {
	for op, e := range effects {
		t[op].effect, t[op].known = e, true
		t[op].width = int32(fixed[op])
		t[op].size = int32(lengths[op])
	}
	for _, op := range []byte("FILPSVgp") {
		t[op].line = true
	}
	return t
}()

// inDotted are the bytes of [isDotted] below 0x80.
var inDotted = func() (t [256]bool) {
	for c := range 0x80 {
		t[c] = isDotted(string(rune(c)))
	}
	return t
}()

// buried reports whether a pickle that calls something begins in a text, or so much of it reads
// as pickles that not all were followed.
func buried(b *limits.Budget, r io.ReaderAt, size int64) (bool, error) {
	b = b.Probe()
	defer b.Close()
	w, err := newWalker(b, r, size, maxFollowed)
	if err != nil {
		return false, err
	}
	w.texts = new(int)
	if w.been, err = newPlaces(b, size); err != nil {
		return false, err
	}
	at, last := int64(0), byte('\n')
	err = windows(b, r, size, func(p []byte) error {
		for _, c := range p {
			if size <= maxFollowed || at%block == 0 || last == '\n' {
				if err := w.begin(at); err != nil {
					return err
				}
				if w.call {
					return io.EOF
				}
			}
			w.been.leave(at)
			at, last = at+1, c
		}
		return nil
	})
	return w.call, orEOF(err)
}

// begin follows the pickle that begins at a place. If too much was followed, it says that
// something is called.
func (w *walker) begin(at int64) error {
	w.in.start(at)
	w.depth, w.marks, w.global, *w.texts = 0, w.marks[:0], false, 0
	if err := w.follow(); err != nil {
		return err
	}
	w.call = w.call || w.b.Worked() > followed*w.in.size+freely
	return nil
}

// followed is how many steps each byte may take. Pickles that begin at many places and come together
// with stacks that differ cost the square of the size else. Words, tables and programs take less
// than two.
const (
	followed = 16
	freely   = 64 << 10 // steps whatever the size
)

// windows calls look with the parts of a file in order.
func windows(b *limits.Budget, r io.ReaderAt, size int64, look func(p []byte) error) error {
	buf, err := limits.Make[byte](b, int(min(size, 64<<10)))
	if err != nil {
		return err
	}
	for at := int64(0); at < size; at += int64(len(buf)) {
		p := buf[:min(int64(len(buf)), size-at)]
		if err := b.Step(int64(len(p)) / 4); err != nil {
			return err
		}
		if err := wire.ReadFull(r, p, at); err != nil {
			return err
		}
		if err := look(p); err != nil {
			return err
		}
	}
	return nil
}

// maxImport is longer than the lines, or the operand before them, that [imports] examines.
const maxImport = 2 * maxName

// imports reports whether a part of a text could be the import of a pickle: two lines of names,
// c or i before the first, or the instruction that imports what two texts name, behind an
// operand that ends between its first bytes. Most texts have neither.
func imports(p []byte) bool {
	for from := 0; from < len(p); {
		if p[from] != '\n' { // else an empty line, which some texts have many of
			i := bytes.IndexByte(p[from:], '\n')
			if i < 0 {
				break
			}
			from += i
		}
		from++
		end := from
		for end < len(p) && end-from < maxName && (p[end] >= 0x80 || inDotted[p[end]]) {
			end++
		}
		if end == from || end < len(p) && p[end] != '\n' {
			continue
		}
		for k := from - 2; k > 0 && (p[k] >= 0x80 || inDotted[p[k]]); k-- {
			if p[k-1] == 'c' || p[k-1] == 'i' {
				return true
			}
		}
	}
	for from := 0; ; {
		i := bytes.IndexByte(p[from:], 0x93)
		if i < 0 {
			return false
		}
		from += i + 1
		if ends(p[:from-1]) {
			return true
		}
	}
}

// ends reports whether an instruction may end where a part of a text does, within a
// character.
func ends(p []byte) bool {
	for n := 2; n <= len(p) && n < 0x80+2; n++ {
		e := &instructions[p[len(p)-n]]
		if e.known && (e.size == 0 && int(e.width) == n-1 || e.size == 1 && int(p[len(p)-n+1]) == n-2) {
			return true
		}
	}
	return false
}
