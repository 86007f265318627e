package onnx

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// nothing is a hook that looks at nothing.
type nothing struct{}

func (nothing) number(uint64, uint64)                {}
func (nothing) text(uint64, string)                  {}
func (nothing) bytes(uint64, int64)                  {}
func (nothing) message(uint64, hook)                 {}
func (nothing) end(*walk, *wire.Cursor, int64) error { return nil }

// A pair is an entry of a tensor's external data.
type pair struct {
	nothing

	key, value string
	long       bool
}

func (p *pair) text(f uint64, s string) {
	if f == 1 {
		p.key = s
	} else {
		p.value = s
	}
}

func (p *pair) bytes(uint64, int64) { p.long = true }

// An array is a TensorProto.
type array struct {
	name     string
	dims     []int64
	many     bool // dimensions
	typ      int64
	raw      int64
	hasRaw   bool
	outside  bool
	location string
	ranges   [2]string // offset and length, as they are written
	keys     []string
	bad      bool // an entry of external data that is too long, or stands twice
}

// maxKeys bounds the entries of external data of one tensor; ONNX defines five.
const maxKeys = 16

func newArray() *array { return &array{typ: -1} }

// maxDims is more than any tensor has; NumPy has 64.
const maxDims = 64

func (a *array) number(f, v uint64) {
	switch f {
	case 1:
		if len(a.dims) < maxDims {
			a.dims = append(a.dims, int64(v))
		} else {
			a.many = true
		}
	case 2:
		a.typ = int64(v)
	case 14:
		a.outside = v != 0
	}
}

func (a *array) text(f uint64, s string) {
	if f == 8 {
		a.name = s
	}
}

func (a *array) bytes(f uint64, n int64) {
	if f == 9 {
		a.raw, a.hasRaw = n, true
	}
}

func (a *array) message(f uint64, of hook) {
	p, ok := of.(*pair)
	if f != 13 || !ok {
		return
	}
	// No more keys are kept of a tensor that is refused.
	if a.bad = a.bad || p.long || slices.Contains(a.keys, p.key) || len(a.keys) >= maxKeys; a.bad {
		return
	}
	a.keys = append(a.keys, p.key)
	switch p.key {
	case "location":
		a.location = p.value
	case "offset":
		a.ranges[0] = p.value
	case "length":
		a.ranges[1] = p.value
	}
}

// bits of an element by its type; 0 for strings, which are not raw.
var bits = map[int64]int64{
	1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 8: 0, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16,
	17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2,
}

func (a *array) end(w *walk, c *wire.Cursor, at int64) error {
	where := "tensor " + wire.Quote(a.name)
	if err := w.b.Items(1); err != nil {
		return c.FailAt(where, at, err)
	}
	n, ok := wire.Product(a.dims)
	width, known := bits[a.typ]
	switch {
	case a.many:
		return c.FailAt(where, at, wire.ErrUnsupported.WithRule("onnx.dimensions").Errorf("more than %d dimensions", maxDims))
	case !ok:
		return c.FailAt(where, at, wire.ErrOverflow.WithRule("onnx.shape-overflow").Errorf("the shape %v", a.dims))
	case !known:
		return c.FailAt(where, at, wire.ErrUnsupported.WithRule("onnx.data-type").Errorf("data of type %d", a.typ))
	}
	total, ok := wire.Mul(n, uint64(width))
	if !ok {
		return c.FailAt(where, at, wire.ErrOverflow.WithRule("onnx.shape-overflow").Errorf("the shape %v", a.dims))
	}
	size := int64(total/8 + min(total%8, 1))
	if a.hasRaw && (a.raw != size || width == 0) {
		return c.FailAt(where, at, wire.ErrMismatch.WithRule("onnx.data-size").Errorf("%d bytes of data, but shape and type need %d", a.raw, size))
	}
	w.out.Tensors++
	w.out.Elements, w.out.Bytes = addCap(w.out.Elements, int64(n)), addCap(w.out.Bytes, size)
	if !a.outside && len(a.keys) == 0 {
		return nil
	}
	return a.external(w, c, where, at, size)
}

func addCap(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return wire.MaxSize
}

// An operator is a NodeProto.
type operator struct {
	nothing

	typ, domain string
}

func (o *operator) text(f uint64, s string) {
	switch f {
	case 4:
		o.typ = s
	case 7:
		o.domain = s
	}
}

func (o *operator) bytes(f uint64, n int64) {
	if f == 7 || f == 4 {
		o.domain = "a name of " + strconv.FormatInt(n, 10) + " bytes"
	}
}

// python are operators that run Python code by its name or its text.
var python = map[string]bool{"PyOp": true, "PyCustomOp": true, "PythonOp": true, "PythonOpGrad": true}

func (o *operator) end(w *walk, c *wire.Cursor, at int64) error {
	if err := w.b.Items(1); err != nil {
		return c.FailAt("NodeProto", at, err)
	}
	if python[o.typ] {
		return w.found.Add(w.b, Format, tensor.Finding{Code: "onnx.python", Severity: tensor.Danger, Where: "operator " + wire.Quote(o.typ), Off: at,
			Text: "the operator " + wire.Quote(o.typ) + " runs Python code"})
	}
	if o.typ == "EPContext" && o.domain == "com.microsoft" {
		return w.found.Add(w.b, Format, tensor.Finding{Code: "onnx.compiled", Severity: tensor.Danger, Where: "operator " + wire.Quote(o.typ), Off: at,
			Text: "the operator " + wire.Quote(o.typ) + " runs what a library of the hardware compiled before, inside of it or in a file that it names"})
	}
	if domains[o.domain] {
		return nil
	}
	if _, seen := w.foreign[operation{o.domain, o.typ}]; seen {
		return nil
	}
	if len(w.foreign) >= maxOperations {
		w.others = max(w.others, at) // not held against functions
		return nil
	}
	if err := w.b.Hold(int64(64 + len(o.domain) + len(o.typ))); err != nil {
		return c.FailAt("NodeProto", at, err)
	}
	w.foreign[operation{strings.Clone(o.domain), strings.Clone(o.typ)}] = at
	return nil
}

// maxOperations is how many operators of other domains are told apart. An export of
// PyTorch that keeps its modules as functions has some thousands.
const maxOperations = 32 << 10

// An operation is what an operator does: the name of a function, and its domain.
type operation struct{ domain, name string }

// A defined is a FunctionProto: the operators that call it need no library.
type defined struct {
	nothing

	operation
}

func (d *defined) text(f uint64, s string) {
	switch f {
	case 1:
		d.name = s
	case 10:
		d.domain = s
	}
}

func (d *defined) end(w *walk, c *wire.Cursor, at int64) error {
	if len(w.own) >= maxOperations {
		return nil
	}
	if err := w.b.Hold(int64(64 + len(d.domain) + len(d.name))); err != nil {
		return c.FailAt("FunctionProto", at, err)
	}
	w.own[operation{strings.Clone(d.domain), strings.Clone(d.name)}] = true
	return nil
}

// domains of operators that ONNX and ONNX Runtime have themselves.
var domains = map[string]bool{
	"": true, "ai.onnx": true, "ai.onnx.ml": true, "ai.onnx.training": true, "ai.onnx.preview": true, "ai.onnx.preview.training": true,
	"com.microsoft": true, "com.microsoft.nchwc": true, "com.microsoft.experimental": true, "com.ms.internal.nhwc": true,
}

// finish looks at the operators, once all functions are known.
func (w *walk) finish() error {
	first := map[string]int64{} // of a domain, an operator that no function is
	for o, at := range w.foreign {
		if before, seen := first[o.domain]; !w.own[o] && (!seen || at < before) {
			first[o.domain] = at
		}
	}
	for _, d := range slices.Sorted(maps.Keys(first)) {
		if err := w.foreigner(d, first[d]); err != nil {
			return err
		}
	}
	if w.others > 0 {
		return w.foreigner("more domains", w.others)
	}
	return nil
}

// foreigner reports an operator of a domain that is neither ONNX's nor a function's.
func (w *walk) foreigner(domain string, at int64) error {
	return w.found.Add(w.b, Format, tensor.Finding{Code: "onnx.domain", Severity: tensor.Warning, Where: "domain " + wire.Quote(domain), Off: at,
		Text: "operators of " + wire.Quote(domain) + " come from a library that whoever runs the model must load"})
}
