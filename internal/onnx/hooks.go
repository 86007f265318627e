package onnx

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// noHook is a hook that ignores everything.
type noHook struct{}

func (noHook) number(uint64, uint64)                   {}
func (noHook) text(uint64, string)                     {}
func (noHook) bytes(uint64, int64)                     {}
func (noHook) message(uint64, hook)                    {}
func (noHook) end(*checker, *wire.Cursor, int64) error { return nil }

// A keyValue is an entry of a tensor's external data.
type keyValue struct {
	noHook

	key, value string
	long       bool
}

func (p *keyValue) text(f uint64, s string) {
	if f == 1 {
		p.key = s
	} else {
		p.value = s
	}
}

func (p *keyValue) bytes(uint64, int64) { p.long = true }

// A tensorProto is a TensorProto.
type tensorProto struct {
	name        string
	dims        []int64
	tooManyDims bool // dimensions
	typ         int64
	raw         int64
	hasRaw      bool
	isExternal  bool
	location    string
	ranges      [2]string // offset and length, as they are written
	keys        []string
	badExternal bool // an entry of external data that is too long, or stands twice
}

// maxKeys bounds the entries of external data of one tensor; ONNX defines five.
const maxKeys = 16

func newArray() *tensorProto { return &tensorProto{typ: -1} }

// maxDims bounds dimensions; NumPy allows 64.
const maxDims = 64

func (a *tensorProto) number(f, v uint64) {
	switch f {
	case 1:
		if len(a.dims) < maxDims {
			a.dims = append(a.dims, int64(v))
		} else {
			a.tooManyDims = true
		}
	case 2:
		a.typ = int64(v)
	case 14:
		a.isExternal = v != 0
	}
}

func (a *tensorProto) text(f uint64, s string) {
	if f == 8 {
		a.name = s
	}
}

func (a *tensorProto) bytes(f uint64, n int64) {
	if f == 9 {
		a.raw, a.hasRaw = n, true
	}
}

func (a *tensorProto) message(f uint64, of hook) {
	p, ok := of.(*keyValue)
	if f != 13 || !ok {
		return
	}
	// No more keys are kept of a tensor that is refused.
	if a.badExternal = a.badExternal || p.long || slices.Contains(a.keys, p.key) || len(a.keys) >= maxKeys; a.badExternal {
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

// elementBits is the size of an element by type, in bits; 0 for strings, which cannot be raw.
var elementBits = map[int64]int64{
	1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 8: 0, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16,
	17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2,
}

func (a *tensorProto) end(w *checker, c *wire.Cursor, at int64) error {
	where := "tensor " + wire.Quote(a.name)
	if err := w.b.Items(1); err != nil {
		return c.FailAt(where, at, err)
	}
	n, ok := wire.Product(a.dims)
	width, known := elementBits[a.typ]
	switch {
	case a.tooManyDims:
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
	if !a.isExternal && len(a.keys) == 0 {
		return nil
	}
	return a.checkExternal(w, c, where, at, size)
}

func addCap(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return wire.MaxSize
}

// A nodeProto is a NodeProto.
type nodeProto struct {
	noHook

	typ, domain string
}

func (o *nodeProto) text(f uint64, s string) {
	switch f {
	case 4:
		o.typ = s
	case 7:
		o.domain = s
	}
}

func (o *nodeProto) bytes(f uint64, n int64) {
	if f == 7 || f == 4 {
		o.domain = "a name of " + strconv.FormatInt(n, 10) + " bytes"
	}
}

// pythonOperators are operators that run Python code, given by name or as text.
var pythonOperators = map[string]bool{"PyOp": true, "PyCustomOp": true, "PythonOp": true, "PythonOpGrad": true}

func (o *nodeProto) end(w *checker, c *wire.Cursor, at int64) error {
	if err := w.b.Items(1); err != nil {
		return c.FailAt("NodeProto", at, err)
	}
	if pythonOperators[o.typ] {
		return w.findings.Add(w.b, Format, tensor.Finding{Code: "onnx.python", Severity: tensor.Danger, Where: "operator " + wire.Quote(o.typ), Off: at,
			Text: "the operator " + wire.Quote(o.typ) + " runs Python code"})
	}
	if o.typ == "EPContext" && o.domain == "com.microsoft" {
		return w.findings.Add(w.b, Format, tensor.Finding{Code: "onnx.compiled", Severity: tensor.Danger, Where: "operator " + wire.Quote(o.typ), Off: at,
			Text: "the operator " + wire.Quote(o.typ) + " runs what a library of the hardware compiled before, inside of it or in a file that it names"})
	}
	if knownDomains[o.domain] {
		return nil
	}
	if _, seen := w.foreign[opName{o.domain, o.typ}]; seen {
		return nil
	}
	if len(w.foreign) >= maxOperations {
		w.untracked = max(w.untracked, at) // not held against functions
		return nil
	}
	if err := w.b.Hold(int64(64 + len(o.domain) + len(o.typ))); err != nil {
		return c.FailAt("NodeProto", at, err)
	}
	w.foreign[opName{strings.Clone(o.domain), strings.Clone(o.typ)}] = at
	return nil
}

// maxOperations is how many operators of other domains are tracked. An export of PyTorch that
// keeps its modules as functions has some thousands.
const maxOperations = 32 << 10

// An opName identifies an operator or a function: domain and name.
type opName struct{ domain, name string }

// A functionProto is a FunctionProto. Operators that call it need no library.
type functionProto struct {
	noHook

	opName
}

func (d *functionProto) text(f uint64, s string) {
	switch f {
	case 1:
		d.name = s
	case 10:
		d.domain = s
	}
}

func (d *functionProto) end(w *checker, c *wire.Cursor, at int64) error {
	if len(w.functions) >= maxOperations {
		return nil
	}
	if err := w.b.Hold(int64(64 + len(d.domain) + len(d.name))); err != nil {
		return c.FailAt("FunctionProto", at, err)
	}
	w.functions[opName{strings.Clone(d.domain), strings.Clone(d.name)}] = true
	return nil
}

// knownDomains are the domains of operators of ONNX and ONNX Runtime.
var knownDomains = map[string]bool{
	"": true, "ai.onnx": true, "ai.onnx.ml": true, "ai.onnx.training": true, "ai.onnx.preview": true, "ai.onnx.preview.training": true,
	"com.microsoft": true, "com.microsoft.nchwc": true, "com.microsoft.experimental": true, "com.ms.internal.nhwc": true,
}

// reportDomains reports the domains of operators that are neither known nor functions of the
// file, once all functions have been read.
func (w *checker) reportDomains() error {
	first := map[string]int64{} // by domain, the first operator that is not a function
	for o, at := range w.foreign {
		if before, seen := first[o.domain]; !w.functions[o] && (!seen || at < before) {
			first[o.domain] = at
		}
	}
	for _, d := range slices.Sorted(maps.Keys(first)) {
		if err := w.reportDomain(d, first[d]); err != nil {
			return err
		}
	}
	if w.untracked > 0 {
		return w.reportDomain("more domains", w.untracked)
	}
	return nil
}

// reportDomain adds the finding about the operators of a domain.
func (w *checker) reportDomain(domain string, at int64) error {
	return w.findings.Add(w.b, Format, tensor.Finding{Code: "onnx.domain", Severity: tensor.Warning, Where: "domain " + wire.Quote(domain), Off: at,
		Text: "operators of " + wire.Quote(domain) + " come from a library that whoever runs the model must load"})
}
