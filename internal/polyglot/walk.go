package polyglot

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A walker follows a pickle by the lengths of its operands and the depth of its stack
// only. Python accepts operands that package vm refuses, such as "I+1", and runs what
// follows them, so a pickle must be distinguished from a text without interpreting operands.
type walker struct {
	b      *limits.Budget
	in     *input
	steps  *limits.Steps
	depth  int64   // of the stack above the last mark
	marks  []int64 // depths below the marks
	global bool    // something was imported
	ended  bool    // it came to STOP with a value
	call   bool    // something imported was called
	// texts counts strings that could be names, for a pickle inside a text: only those can be
	// imported through the stack there. Nil elsewhere.
	texts *int
	// been are the places that the pickles of other starts came through. Nil elsewhere.
	been *places
}

// walk follows a pickle until something imported is called. It stops where every loader stops: at
// an unknown opcode, an empty stack, a name that cannot be imported, or the end of the file. After
// STOP comes the next pickle: torch's legacy format has five, and the first may be anything that
// leaves the magic number on the stack.
func walk(b *limits.Budget, r io.ReaderAt, size int64) (*walker, error) {
	w, err := newWalker(b, r, size, readBuffer)
	if err != nil {
		return nil, err
	}
	if err := w.follow(); err != nil || !w.ended || w.call {
		return w, err
	}
	first := w.global
	for w.ended && !w.call {
		w.depth, w.marks, w.global, w.ended = 0, w.marks[:0], false, false
		if err := w.follow(); err != nil {
			return w, err
		}
		w.call = w.call || w.global && w.ended // importing is enough: the walker has no list of safe names
	}
	w.global = first
	return w, nil
}

func newWalker(b *limits.Budget, r io.ReaderAt, size int64, buffer int) (*walker, error) {
	steps := b.Steps()
	in, err := newInput(b, r, size, &steps, buffer)
	return &walker{b: b, steps: &steps, in: in}, err
}

// follow follows the instructions from where the walker is.
func (w *walker) follow() error {
	for !w.call {
		if err := w.steps.Step(); err != nil {
			return err
		}
		if w.been != nil && w.been.covers(w) {
			return nil
		}
		op, err := w.in.next()
		if err != nil {
			return orEOF(err)
		}
		if ok, err := w.step(op); !ok || err != nil {
			return orEOF(err)
		}
	}
	return nil
}

// An effect is what an opcode does to the stack: the number of items that it needs above
// the last mark, that it pops, and that it pushes.
type effect struct{ needs, takes, gives int64 }

var effects = map[byte]effect{
	'0': {1, 1, 0}, '2': {1, 0, 1}, 'N': {0, 0, 1}, ')': {0, 0, 1}, ']': {0, 0, 1}, '}': {0, 0, 1}, 0x88: {0, 0, 1}, 0x89: {0, 0, 1},
	0x8f: {0, 0, 1}, 0x97: {0, 0, 1}, 0x98: {1, 0, 0}, 'a': {2, 1, 0}, 's': {3, 2, 0}, 'b': {2, 1, 0}, 'R': {2, 2, 1}, 'Q': {1, 1, 1},
	0x81: {2, 2, 1}, 0x92: {3, 3, 1}, 0x85: {1, 1, 1}, 0x86: {2, 2, 1}, 0x87: {3, 3, 1}, 0x93: {2, 2, 1}, 0x94: {1, 0, 0},
	// Operands of a line.
	'F': {0, 0, 1}, 'I': {0, 0, 1}, 'L': {0, 0, 1}, 'P': {0, 0, 1}, 'S': {0, 0, 1}, 'V': {0, 0, 1}, 'g': {0, 0, 1}, 'p': {1, 0, 0},
	// Operands of a fixed size.
	'K': {0, 0, 1}, 'M': {0, 0, 1}, 'J': {0, 0, 1}, 'G': {0, 0, 1}, 'h': {0, 0, 1}, 'j': {0, 0, 1}, 'q': {1, 0, 0}, 'r': {1, 0, 0},
	0x80: {0, 0, 0}, 0x95: {0, 0, 0}, 0x82: {0, 0, 1}, 0x83: {0, 0, 1}, 0x84: {0, 0, 1},
	// Operands with a length.
	'U': {0, 0, 1}, 'C': {0, 0, 1}, 0x8c: {0, 0, 1}, 0x8a: {0, 0, 1}, 'T': {0, 0, 1}, 'X': {0, 0, 1}, 'B': {0, 0, 1}, 0x8b: {0, 0, 1},
	0x8d: {0, 0, 1}, 0x8e: {0, 0, 1}, 0x96: {0, 0, 1},
}

// The sizes of operands, and of the lengths of operands, in bytes.
var (
	fixed = map[byte]int64{
		'K': 1, 'M': 2, 'J': 4, 'G': 8, 'h': 1, 'j': 4, 'q': 1, 'r': 4, 0x80: 1, 0x95: 8, 0x82: 1, 0x83: 2, 0x84: 4,
	}
	lengths = map[byte]int{'U': 1, 'C': 1, 0x8c: 1, 0x8a: 1, 'T': 4, 'X': 4, 'B': 4, 0x8b: 4, 0x8d: 8, 0x8e: 8, 0x96: 8}
)

// step follows one instruction; it returns false if every loader stops there.
func (w *walker) step(op byte) (bool, error) {
	switch op {
	case '(':
		return true, w.mark()
	case '1', 't', 'l', 'd', 0x91, 'e', 'u', 0x90, 'o', 'i', 'c':
		return w.marked(op)
	case '0':
		if w.depth == 0 && len(w.marks) > 0 { // POP may pop a mark
			w.unmark()
			return true, nil
		}
	}
	if op == '.' {
		w.ended = w.depth > 0
		return false, nil
	}
	e := &instructions[op]
	if !e.known || w.depth < e.needs {
		return false, nil
	}
	w.depth += e.gives - e.takes
	switch op {
	case 0x82, 0x83, 0x84, 0x93:
		w.global = w.global || w.texts == nil || op == 0x93 && *w.texts > 1
	case 'R', 'b', 0x81, 0x92:
		w.call = w.global
	}
	return w.operand(op, e)
}

// mark and unmark save and restore the depth below a mark.
func (w *walker) mark() (err error) {
	w.marks, err = limits.Append(w.b, w.marks, w.depth)
	w.depth = 0
	return err
}

func (w *walker) unmark() {
	w.depth = w.marks[len(w.marks)-1]
	w.marks = w.marks[:len(w.marks)-1]
}

// marked follows opcodes that pop everything above a mark, and those that import by two
// lines.
func (w *walker) marked(op byte) (bool, error) {
	if op != 'c' && len(w.marks) == 0 {
		return false, nil
	}
	if op == 'c' || op == 'i' {
		if ok, err := w.imports(); !ok || err != nil {
			return false, err
		}
		w.global = true
	}
	if op == 'c' {
		w.depth++
		return true, nil
	}
	if op == 'o' && w.depth == 0 {
		return false, nil
	}
	w.unmark()
	switch op {
	case '1':
	case 'e', 'u', 0x90:
		return w.depth > 0, nil
	case 'o', 'i':
		w.call = w.global
		w.depth++
	default:
		w.depth++
	}
	return true, nil
}

// maxName is longer than any name that can be imported.
const maxName = 4 << 10

// imports reads two lines, a module and a name.
func (w *walker) imports() (bool, error) {
	for range 2 {
		p, err := w.in.peek(maxName)
		if err != nil {
			return false, err
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 && len(p) < maxName {
			return false, io.EOF
		}
		if err := w.steps.Take(1 + int64(max(end, 0))/16); err != nil {
			return false, err
		}
		if end < 0 || !dotted(p[:end]) {
			return false, nil
		}
		w.in.skip(int64(end) + 1)
	}
	return true, nil
}

// operand skips the operand of an opcode.
func (w *walker) operand(op byte, e *instruction) (bool, error) {
	if e.line {
		if err := w.named(op, maxName); err != nil {
			return false, err
		}
		err := w.in.rest()
		return err == nil, err
	}
	n := int64(e.width)
	if e.size > 0 {
		p, err := w.in.full(int(e.size))
		if err != nil {
			return false, err
		}
		var long [8]byte
		copy(long[:], p)
		if n = int64(binary.LittleEndian.Uint64(long[:])); n < 0 || n >= 1<<62 {
			return false, nil
		}
		if n < maxName && n <= w.in.size-w.in.pos {
			if err := w.named(op, n); err != nil {
				return false, err
			}
		}
	}
	err := w.in.skip(n)
	return err == nil, err
}

// naming are the instructions whose text may be a name.
var naming = [256]bool{'S': true, 'V': true, 'U': true, 'C': true, 'T': true, 'X': true, 'B': true, 0x8c: true}

// named looks at the text of an instruction, of n bytes or up to the end of the line, and counts
// it if it may name something.
func (w *walker) named(op byte, n int64) error {
	if w.texts == nil || *w.texts > 1 || !naming[op] {
		return nil
	}
	p, err := w.in.peek(n)
	if err != nil {
		return err
	}
	if instructions[op].line {
		if end := bytes.IndexByte(p, '\n'); end >= 0 {
			p = p[:end]
		}
	}
	if err := w.steps.Take(1 + int64(len(p))/16); err != nil {
		return err
	}
	if mayName(op, bytes.TrimRight(p, " \t\n\v\f\r")) {
		*w.texts++
	}
	return nil
}

func mayName(op byte, text []byte) bool {
	switch op {
	case 'S':
		n := len(text)
		return n >= 3 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'')
	case 'V':
		return dotted(text) || bytes.IndexByte(text, '\\') >= 0
	}
	return dotted(text)
}

// dotted is [isDotted] of bytes.
func dotted(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return isDotted(string(text))
		}
		if !inDotted[c] {
			return false
		}
	}
	return len(text) > 0
}

// orEOF returns an error of the reader, and nil for an early end, which is an answer.
func orEOF(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}
