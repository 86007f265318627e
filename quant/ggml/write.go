package ggml

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// A Quantizer quantizes a GGUF model to blocks of ggml, as llama-quantize does: the same
// types for the same tensors, and the bytes of its reference encoders.
type Quantizer struct {
	Mix     mix.Mix
	Options mix.Options
	// Matrix holds the importance of columns; nil encodes without.
	Matrix *Importance
	// Exclude names tensors that are not quantized; nil for none.
	Exclude func(name string) bool
	// Measure compares each weight with its decoded encoding.
	Measure bool
	// LeaveUnweighed copies weights whose type needs an importance matrix that is missing.
	// Without it the model is refused.
	LeaveUnweighed bool
}

// encoder encodes the weights of one model.
type encoder struct {
	encode.Quantized

	o       Quantizer
	again   bool // requantize blocks of other types
	b       *limits.Budget
	choices map[string]*mix.Tensor
	tables  []tensor.DType // types whose encoder tables are charged
}

// Check implements [encode.Quantizer].
func (o Quantizer) Check() error {
	if o.Mix.Base == tensor.Unknown {
		return wire.ErrUsage.Errorf("no mix is named")
	}
	_, err := rowEncoder(o.Mix.Base)
	return err
}

// plainRows are the types of single numbers, used for rows that no block fits.
var plainRows = map[tensor.DType]asm.Type{tensor.F32: asm.F32, tensor.F16: asm.F16, tensor.BF16: asm.BF16}

// rowEncoder returns the function that encodes a row in a type.
func rowEncoder(d tensor.DType) (func(dst []byte, src, matrix []float32), error) {
	if to, ok := plainRows[d]; ok {
		return func(dst []byte, src, _ []float32) { asm.Best().Put(to, dst, src) }, nil
	}
	if c, ok := form.CodecOf(d); ok && c.EncodeRow != nil {
		return c.EncodeRow, nil
	}
	return nil, wire.ErrUnsupported.Errorf("there is no encoder of %v", d)
}

// container is the format that stores the blocks.
const container = "gguf"

// Start implements [encode.Quantizer].
func (o Quantizer) Start(b *limits.Budget, m tensor.Model, opts *encode.Options) (encode.Encoder, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if opts.Format != container {
		return nil, wire.ErrUsage.Errorf("only GGUF stores ggml's block types")
	}
	model, err := mixModel(b, m)
	if err != nil {
		return nil, err
	}
	model.Matrix = o.Matrix != nil
	e := &encoder{o: o, again: opts.Again, b: b, choices: map[string]*mix.Tensor{}}
	e.Layout, e.Type, e.ByName = o.Mix.Name, model.Arch, !opts.Runs(model.Arch)
	how := o.Options
	how.Listed = how.Listed || opts.Listed
	return e, e.choose(m, model, how)
}

// mixModel reads the properties of the model that the mix depends on.
func mixModel(b *limits.Budget, m tensor.Model) (mix.Model, error) {
	var out mix.Model
	for k, v := range m.Meta() {
		if k == "general.architecture" {
			out.Arch, _ = v.(string)
		}
	}
	if m.Format() == container && out.Arch == "" {
		return out, wire.ErrUnsupported.Errorf("a mix depends on the architecture, and the model has no general.architecture")
	}
	if m.Format() != container {
		return out, wire.ErrUnsupported.Errorf("a mix depends on llama.cpp's names and keys: give a GGUF file, or a folder whose config.json names an architecture that llama.cpp has")
	}
	shared, kv := false, 0
	for k, v := range m.Meta() {
		key, its := strings.CutPrefix(k, out.Arch+".")
		if !its {
			continue
		}
		switch key {
		case "block_count":
			out.Layers = firstNumber(b, v)
		case "expert_count":
			out.Experts = firstNumber(b, v)
		case "attention.head_count":
			out.Heads = firstNumber(b, v)
		case "attention.head_count_kv":
			shared, kv = true, firstNumber(b, v)
		}
	}
	switch {
	case !shared:
		out.KVShare = 1
	case kv > 0:
		out.KVShare = out.Heads / kv
	}
	return out, nil
}

// firstNumber returns an integer, or the first of an array with one for each layer; 0 for
// anything else.
func firstNumber(b *limits.Budget, v any) int {
	if a, ok := v.(interface {
		Ints(*limits.Budget) iter.Seq2[int64, error]
	}); ok {
		for n, err := range a.Ints(b) {
			if err == nil {
				v = n
			}
			break
		}
	}
	return wholeNumber(v)
}

// wholeNumber returns an integer of any kind within a sensible range, else 0.
func wholeNumber(v any) int {
	n, ok := wire.Integer(v)
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// choose lets the mix choose the type of each tensor.
func (e *encoder) choose(m tensor.Model, model mix.Model, o mix.Options) error {
	list, err := limits.Make[mix.Tensor](e.b, m.Len())
	if err != nil {
		return err
	}
	n, weighted := 0, e.o.Matrix == nil
	for i := range m.Tensors() {
		weighted = weighted || e.o.Matrix.has(i.Name)
		shape := i.Shape
		if len(shape) == 0 {
			shape = []int64{1}
		}
		list[n] = mix.Tensor{Name: i.Name, Shape: shape, From: i.DType}
		n++
	}
	if !weighted {
		return wire.ErrMismatch.Errorf("none of the %d weights of the importance matrix is in the model", e.o.Matrix.Len())
	}
	if err := mix.Choose(e.b, e.o.Mix, model, o, list[:n]); err != nil {
		return err
	}
	if err := e.b.Hold(int64(n) * 64); err != nil { // the map's buckets
		return err
	}
	for i := range list[:n] {
		if err := e.b.Step(1); err != nil {
			return err
		}
		e.choices[list[i].Name] = &list[i]
	}
	return nil
}

func (e *encoder) Result() *encode.Quantized { return &e.Quantized }
func (e *encoder) Config() ([]byte, error)   { return nil, nil }

// CopiesKept says that a quantized weight whose numbers are left alone stays as it is stored.
func (e *encoder) CopiesKept() bool { return true }

// Takes decides about a tensor by the mix.
func (e *encoder) Takes(name string, shape []int64) (encode.Verdict, error) {
	t := e.choices[name]
	if t == nil || slices.Contains(shape, 0) || e.o.Exclude != nil && e.o.Exclude(name) || t.To == t.From {
		return encode.CopyIt, nil
	}
	c, ok := form.CodecOf(t.From)
	switch {
	case !ok:
		return encode.CopyIt, e.KeepsType(e.b, &tensor.Info{Name: name, DType: t.From})
	case c.Blocks && !e.again:
		return 0, &encode.RequantizeError{From: t.From.String(), To: t.To.String()}
	}
	if _, err := rowEncoder(t.To); err != nil {
		return 0, err
	}
	to, _ := form.CodecOf(t.To)
	if !e.o.Matrix.has(name) && (to.NeedsMatrix || needsMatrix(t, &e.o.Mix)) {
		if e.o.LeaveUnweighed {
			return encode.CopyIt, nil
		}
		return 0, wire.ErrUnsupported.Errorf("%v in %s needs an importance matrix for it", t.To, e.o.Mix.Name)
	}
	return encode.EncodeIt, nil
}

// WantsMatrix reports whether llama-quantize writes a type only with an importance matrix.
func WantsMatrix(d tensor.DType) bool {
	switch d {
	case tensor.IQ3_XXS, tensor.IQ2_XXS, tensor.IQ2_XS, tensor.IQ2_S, tensor.IQ1_M, tensor.IQ1_S:
		return true
	}
	return false
}

// needsMatrix reports whether llama-quantize refuses to write a type without a matrix;
// Q2_K is refused only within Q2_K_S.
func needsMatrix(t *mix.Tensor, x *mix.Mix) bool {
	switch t.Name {
	case "output.weight", "token_embd.weight", "per_layer_token_embd.weight":
		return false
	}
	return WantsMatrix(t.To) || t.To == tensor.Q2_K && x.Name == "Q2_K_S"
}

// Encode plans a weight.
func (e *encoder) Encode(w *scheme.Weight) (encode.Encoding, error) {
	t := e.choices[w.Name]
	c, _ := form.CodecOf(t.To)
	write, err := rowEncoder(t.To)
	if err != nil {
		return nil, err
	}
	if n := c.Tables; n > 0 && !slices.Contains(e.tables, t.To) {
		e.tables = append(e.tables, t.To)
		if err := e.b.Hold(n); err != nil {
			return nil, err
		}
	}
	info := tensor.Info{DType: t.To, Shape: w.Shape}
	size := info.Bytes()
	matrix, err := e.o.Matrix.of(w)
	if err != nil {
		return nil, err
	}
	r := &rows{
		e: e, w: w, index: len(e.Weights), matrix: matrix, codec: c, encode: write, cols: w.Cols(),
		outs: []encode.Out{{Name: w.Name, DType: t.To, Shape: w.Shape, Size: size}},
	}
	if w.Rows() > 0 {
		r.row = size / w.Rows()
	}
	one := encode.QuantizedWeight{Name: w.Name, Type: t.To, Shape: w.Shape, Elements: w.Rows() * w.Cols(), Before: w.Stored(), After: size,
		Instead: t.Fallback, Unweighed: e.o.Matrix != nil && matrix == nil}
	e.Weights, err = limits.Append(e.b, e.Weights, one)
	return r, err
}

// Describe adds the keys of a quantized file.
func (e *encoder) Describe(b *limits.Budget, _ int, _ func(int) string, meta []encode.Entry) ([]encode.Entry, error) {
	add := []encode.Entry{{Key: "general.file_type", Value: e.o.Mix.FileType}, {Key: "general.quantization_version", Value: uint32(2)}}
	add = append(add, e.o.Matrix.entries()...)
	for _, a := range add {
		done := false
		for i := range meta {
			if err := b.Step(1); err != nil {
				return nil, err
			}
			if meta[i].Key == a.Key {
				meta[i].Value, done = a.Value, true
			}
		}
		if done {
			continue
		}
		if err := b.Hold(16); err != nil {
			return nil, err
		}
		var err error
		if meta, err = limits.Append(b, meta, a); err != nil {
			return nil, err
		}
	}
	return meta, nil
}

// Loadings says what is known of llama.cpp, whose architectures decide the mix.
func (e *encoder) Loadings() ([]encode.Loading, error) {
	l := encode.Loading{Library: string(loaders.LlamaCPP), Version: loaders.LlamaCPP.Version(), Verdict: encode.LoadRead}
	if e.ByName {
		l.Verdict, l.Why = encode.LoadUnknown, "it has no architecture "+wire.Quote(e.Type)
	}
	return []encode.Loading{l}, nil
}
