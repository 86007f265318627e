package polyglot

import (
	"bufio"
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

// instructions by byte: what an instruction does, and the size of its operand.
var instructions = func() (t [256]struct {
	effect
	known, line bool
	width, size int32
}) {
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

// buried reports whether a pickle that calls something begins in a text.
func buried(b *limits.Budget, r io.ReaderAt, size int64) (bool, error) {
	b = b.Probe()
	defer b.Close()
	w := &walker{b: b, steps: b.Steps(), in: bufio.NewReaderSize(nil, maxName), texts: new(int)}
	at, last := int64(0), byte('\n')
	err := windows(b, r, size, func(p []byte) error {
		for i, c := range p {
			if (size <= maxFollowed || at%block == 0 || last == '\n') && !dies(p[i:]) {
				w.in.Reset(io.NewSectionReader(r, at, size-at))
				w.depth, w.marks, w.global, *w.texts = 0, w.marks[:0], false, 0
				if err := w.follow(); err != nil {
					return err
				}
				if w.call {
					return io.EOF
				}
			}
			at, last = at+1, c
		}
		return nil
	})
	return w.call, orEOF(err)
}

// dies reports whether a pickle fails within a few instructions, as most starting points in a text
// do.
func dies(p []byte) bool {
	depth, global := int64(0), false
	for range 32 {
		if len(p) == 0 {
			return false // the part of the text ends
		}
		c := p[0]
		e := &instructions[c]
		switch {
		case c == '(':
			return false
		case c == 'c':
			for range 2 {
				n := 1
				for n < len(p) && n < maxName && (p[n] >= 0x80 || inDotted[p[n]]) {
					n++
				}
				if n < len(p) && p[n] != '\n' {
					return true
				}
				p = p[min(n, len(p)):]
			}
			depth, global = depth+1, true
			p = p[min(1, len(p)):]
			continue
		case !e.known || depth < e.needs:
			return true
		case c == 0x93 || global && (c == 'R' || c == 'b' || c == 0x81 || c == 0x92):
			return false
		}
		depth += e.gives - e.takes
		n := 1 + int(e.width)
		switch {
		case e.line:
			if n = bytes.IndexByte(p, '\n') + 1; n == 0 {
				return false
			}
		case e.size == 1 && len(p) > 1:
			n = 2 + int(p[1])
		case e.size > 0:
			return false
		}
		if n > len(p) {
			return false
		}
		p = p[n:]
	}
	return false
}

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
	for from := 0; ; {
		i := bytes.IndexByte(p[from:], '\n')
		if i < 0 {
			break
		}
		from += i + 1
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
