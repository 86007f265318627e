package pth

import (
	"strconv"

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

// keyStep returns the step for a key of a dict.
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

// A path is the steps from the root to the current value.
type path []step

// plainName joins the steps with dots, as the names in state dicts.
func (w *walker) plainName() (string, error) { return w.join(1, step.plain) }

// exactName returns a name that no other place of the checkpoint has: dots, backslashes,
// brackets and at signs of keys are escaped, positions and integer keys are in brackets,
// attributes begin with an at sign.
func (w *walker) exactName() (string, error) { return w.join(2, step.exact) }

// join charges the maximum size of the name, escape times the text.
func (w *walker) join(escape int, write func(step, []byte) []byte) (string, error) {
	if len(w.path) == 0 {
		return rootName, nil
	}
	size := len(w.path) - 1
	for i := range w.path {
		size += escape*w.path[i].size() + 2*(escape-1) // brackets or an at sign
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

// size returns the maximum size of a step whose text needs no escapes.
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
