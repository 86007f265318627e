package vm

import (
	"io"
	"iter"
	"strconv"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Line is one line of a listing.
type Line struct {
	Off   int64
	Op    string
	Depth int    // values on the stack after the instruction
	Marks int    // open marks after it
	Text  string // operand, memo entry, or result; one line, cut
	Bad   bool   // the instruction asks for something that is refused
}

// String is the line as a person reads it.
func (l Line) String() string { return string(l.Append(nil)) }

// The columns of a line: widths of offset and depth, right-aligned, and of the name of
// the instruction.
const (
	offColumn   = 8
	depthColumn = 3
	opColumn    = 16
)

// Append appends the line. A small pickle may have millions of lines.
func (l Line) Append(out []byte) []byte {
	var num [24]byte
	out = right(out, strconv.AppendInt(append(num[:0], "0x"...), l.Off, 16), offColumn)
	if out = append(out, ' '); l.Bad {
		out = append(out, '!')
	} else {
		out = append(out, ' ')
	}
	out = right(append(out, ' '), strconv.AppendInt(num[:0], int64(l.Depth), 10), depthColumn)
	out = append(append(out, ' '), l.Op...)
	for n := len(l.Op); n < opColumn; n++ {
		out = append(out, ' ')
	}
	return append(append(out, ' '), l.Text...)
}

// right appends a number, right-aligned in a column.
func right(out, number []byte, column int) []byte {
	for n := len(number); n < column; n++ {
		out = append(out, ' ')
	}
	return append(out, number...)
}

// Writing a line costs more steps than its instruction. They are charged in batches.
const (
	lineSteps = 4
	lineBatch = limits.StepBatch / lineSteps
)

// Disassemble lists the pickle that begins at off, instruction by instruction,
// as [Scan] runs it. An error is the last thing it yields. All charges
// are returned at the end.
func Disassemble(b *limits.Budget, r io.ReaderAt, off, end int64) iter.Seq2[Line, error] {
	return disassemble(b, r, off, end, unread)
}

func disassemble(b *limits.Budget, r io.ReaderAt, off, end int64, as reading) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		m := newMachine(b, r, off, end)
		m.scan, m.listing, m.arrays.as = true, true, as
		defer m.release(false)
		err := m.begin()
		for lines := 1; err == nil && !m.done; lines++ {
			if lines%lineBatch == 0 {
				if err = b.Step(lineBatch * lineSteps); err != nil {
					break
				}
			}
			refused := m.refusals()
			if err = m.step(); err != nil {
				break
			}
			l := Line{m.g.base + int64(m.op), m.name(), len(m.stack), len(m.marks), m.explain(), m.refusals() > refused}
			if !yield(l, nil) {
				return
			}
		}
		if err == nil {
			err = m.finish()
		}
		if err = m.placed(err); err == nil {
			err = m.problem
		}
		if err != nil {
			yield(Line{}, err)
		}
	}
}

func (m *machine) refusals() int { return len(m.verdicts.safe.Reasons) + m.verdicts.safe.More }

// explain says what the instruction did, in terms of its operand.
func (m *machine) explain() string {
	operand := m.src[m.op+1 : m.pos]
	switch m.name() {
	case "PROTO":
		return strconv.Itoa(m.g.proto)
	case "FRAME":
		return strconv.Itoa(m.frame-m.pos) + " bytes"
	case "STOP":
		return m.g.show(m.g.root)
	case "MARK", "POP", "POP_MARK":
		return ""
	case "PUT", "GET":
		return m.memoText(operand[:len(operand)-1])
	case "BINPUT", "BINGET", "LONG_BINPUT", "LONG_BINGET":
		return m.memoText(littleEndian(operand))
	case "MEMOIZE":
		return m.memoText(strconv.Itoa(m.memo.count - 1))
	}
	if len(m.stack) == 0 {
		return ""
	}
	return cut(m.g.show(m.top()), showBytes)
}

// memoText returns an index of the memo with its value.
func (m *machine) memoText(index string) string {
	return "memo " + index + ": " + m.g.show(m.top())
}

func littleEndian(s string) string {
	var v uint64
	for i := len(s) - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	return strconv.FormatUint(v, 10)
}
