package pth

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A step is one part of the path from the root of a checkpoint to a tensor.
type step struct {
	kind stepKind
	text string
	n    int64
}

type stepKind uint8

const (
	stepKey   stepKind = iota // a dict's key that is text
	stepIndex                 // a position, or a dict's key that is an integer
	stepOther                 // any other key, as Python's repr shows it
	stepAttr                  // an attribute
	stepPart                  // a part of one tensor, such as the indices of a sparse one
)

// rootName is the name of a tensor that is the whole checkpoint.
const rootName = "tensor"

// keyStep is the step of a dict's key.
func keyStep(k vm.Value) step {
	switch k.Kind() {
	case vm.KindText:
		return step{kind: stepKey, text: k.Text()}
	case vm.KindInt:
		if n, ok := k.Int(); ok {
			return step{kind: stepIndex, n: n}
		}
	}
	return step{kind: stepOther, text: repr(k)}
}

// A path is the steps to where a walk stands.
type path []step

// plain joins the steps with dots: the name that state dicts have anyway.
func (p path) plain(b *limits.Budget) (string, error) { return p.join(b, 1, step.plain) }

// exact is a name that no other place of the checkpoint has: dots, backslashes,
// brackets and at signs of keys are escaped, positions and integer keys stand in
// brackets, attributes begin with an at sign.
func (p path) exact(b *limits.Budget) (string, error) { return p.join(b, 2, step.exact) }

// join charges what the name may take, which is escape times the text.
func (p path) join(b *limits.Budget, escape int, write func(step, *strings.Builder)) (string, error) {
	if len(p) == 0 {
		return rootName, nil
	}
	size := len(p) - 1
	for _, s := range p {
		size += escape*s.size() + 2*(escape-1) // brackets, or an at sign
	}
	if b != nil {
		if err := b.Alloc(int64(size)); err != nil {
			return "", err
		}
	}
	var out strings.Builder
	out.Grow(size)
	for i, s := range p {
		if i > 0 {
			out.WriteByte('.')
		}
		write(s, &out)
	}
	return out.String(), nil
}

// size bounds what a step takes when its text needs no escape.
func (s step) size() int {
	if s.kind != stepIndex {
		return len(s.text)
	}
	n, size := s.n, 1
	for ; n > 9 || n < -9; n /= 10 {
		size++
	}
	return size + 1
}

func (s step) plain(out *strings.Builder) {
	if s.kind == stepIndex {
		var buf [20]byte
		out.Write(strconv.AppendInt(buf[:0], s.n, 10))
		return
	}
	out.WriteString(s.text)
}

func (s step) exact(out *strings.Builder) {
	switch s.kind {
	case stepIndex:
		out.WriteByte('[')
		s.plain(out)
		out.WriteByte(']')
	case stepOther:
		out.WriteString("[" + s.text + "]")
	case stepAttr:
		out.WriteByte('@')
		escapeKey(s.text, out)
	case stepKey:
		escapeKey(s.text, out)
	default:
		out.WriteString(s.text)
	}
}

func escapeKey(text string, out *strings.Builder) {
	for i := range len(text) {
		switch c := text[i]; c {
		case '\\', '.', '[', '@':
			out.WriteByte('\\')
			out.WriteByte(c)
		default:
			out.WriteByte(c)
		}
	}
}

// maxRepr bounds what is shown of a key that is no text.
const maxRepr = 128

// repr shows a key as Python's repr does: numbers, constants, bytes and tuples
// of those. Others are shown by their kind.
func repr(v vm.Value) string {
	var out strings.Builder
	writeRepr(v, &out)
	return wire.Clean(out.String(), maxRepr)
}

func writeRepr(v vm.Value, out *strings.Builder) {
	if out.Len() > maxRepr {
		return
	}
	switch v.Kind() {
	case vm.KindNone:
		out.WriteString("None")
	case vm.KindBool:
		if v.Bool() {
			out.WriteString("True")
		} else {
			out.WriteString("False")
		}
	case vm.KindInt:
		out.WriteString(integerText(v))
	case vm.KindFloat:
		out.WriteString(floatText(v.Float()))
	case vm.KindText:
		out.WriteString("'" + v.Text()[:min(v.Len(), maxRepr)] + "'")
	case vm.KindBytes:
		out.WriteString("b'" + v.Text()[:min(v.Len(), maxRepr)] + "'")
	case vm.KindTuple:
		out.WriteByte('(')
		for i := range min(v.Len(), maxRepr) {
			if i > 0 {
				out.WriteString(", ")
			}
			writeRepr(v.At(i), out)
		}
		if v.Len() == 1 {
			out.WriteByte(',')
		}
		out.WriteByte(')')
	case vm.KindGlobal:
		out.WriteString(v.Global().String())
	default:
		out.WriteString("<" + v.Kind().String() + ">")
	}
}

// maxBits bounds the integers that are shown in decimal: the conversion of a
// long one takes quadratic time.
const maxBits = 1024

func integerText(v vm.Value) string {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	n := v.Big()
	if bits := n.BitLen(); bits > maxBits {
		return "integer of " + strconv.Itoa(bits) + " bits"
	}
	return n.String()
}

// floatText is Python's repr of a float: the shortest digits that read back,
// with an exponent below 1e-4 and from 1e16 on.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	_, exp, found := strings.Cut(s, "e")
	if !found { // NaN, +Inf, -Inf
		return strings.ToLower(strings.TrimPrefix(s, "+"))
	}
	if n, _ := strconv.Atoi(exp); n < -4 || n >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
