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
func (w *walker) plain() (string, error) { return w.join(1, step.plain) }

// exact is a name that no other place of the checkpoint has: dots, backslashes,
// brackets and at signs of keys are escaped, positions and integer keys stand in
// brackets, attributes begin with an at sign.
func (w *walker) exactly() (string, error) { return w.join(2, step.exact) }

// join charges what the name may take, which is escape times the text.
func (w *walker) join(escape int, write func(step, []byte) []byte) (string, error) {
	if len(w.path) == 0 {
		return rootName, nil
	}
	size := len(w.path) - 1
	for i := range w.path {
		size += escape*w.path[i].size() + 2*(escape-1) // brackets, or an at sign
	}
	if size > cap(w.name) && w.b != nil {
		var err error
		if w.name, err = limits.Make[byte](w.b, max(size, 128)); err != nil {
			return "", err
		}
	}
	out := w.name[:0]
	for i := range w.path {
		if i > 0 {
			out = append(out, '.')
		}
		out = write(w.path[i], out)
	}
	if w.b == nil {
		return string(out), nil
	}
	return w.names.String(w.b, out)
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

func (s step) plain(out []byte) []byte {
	if s.kind == stepIndex {
		return strconv.AppendInt(out, s.n, 10)
	}
	return append(out, s.text...)
}

func (s step) exact(out []byte) []byte {
	switch s.kind {
	case stepIndex:
		return append(s.plain(append(out, '[')), ']')
	case stepOther:
		return append(append(append(out, '['), s.text...), ']')
	case stepAttr:
		return escapeKey(s.text, append(out, '@'))
	case stepKey:
		return escapeKey(s.text, out)
	default:
		return append(out, s.text...)
	}
}

func escapeKey(text string, out []byte) []byte {
	for i := range len(text) {
		switch c := text[i]; c {
		case '\\', '.', '[', '@':
			out = append(out, '\\', c)
		default:
			out = append(out, c)
		}
	}
	return out
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
