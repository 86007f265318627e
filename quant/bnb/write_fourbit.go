package bnb

import (
	"errors"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// fourBit is NF4 or FP4: codes under the weight's own name, with the tensors that the
// library calls their quantization state. If the scales are quantized too, their mean
// must be known before the first of them is written. The mean is also in the state's
// text, so it must be known before the file is laid out: the weight is read an extra time
// when it is planned.
type fourBit struct {
	*encoding
	state  State
	text   []byte
	blocks int64
	// late says that the scales are held in memory and quantized at the end, because
	// ranges of whole rows and whole blocks of scales would be too long.
	late    bool
	hold    int64
	scales  []byte
	outText int // index of the out with the state's text
}

// The outs of a weight.
const (
	outCodes = iota
	outScales
	outCodebook
	outNested
	outNestedCodebook
)

// maxUnit is the longest range, in numbers, for which scales are not quantized late.
const maxUnit = 2 << 20

func newFourBit(e *encoding, dtype string) (encode.Encoding, error) {
	o := &e.by.o
	t := &fourBit{encoding: e, state: State{
		Quantizer: Quantizer{FP4: o.Type == FP4, Block: o.Block}, DType: dtype, Shape: e.Source.Shape, Nested: o.Nested,
	}}
	n := e.Source.Rows() * e.Source.Cols()
	t.blocks = t.state.Blocks(n)
	groups := (t.blocks + NestedBlock - 1) / NestedBlock
	if o.Nested {
		var err error
		if t.state.Mean, err = e.by.mean(e.Source, t.state.Quantizer); err != nil {
			return nil, err
		}
		t.late = encode.UnitRows(e.Source, int64(o.Block)*NestedBlock)*e.Source.Cols() > maxUnit
	}
	if t.late {
		t.hold = 5*t.blocks + 4*groups
	} else {
		t.hold = e.Measured(t.Block())
	}
	t.text = t.state.Append(nil)
	name := e.Source.Name
	err := e.Add(name, tensor.U8, (n+1)/2, (n+1)/2, 1)
	if o.Nested {
		err = errors.Join(err, e.Add(name+".absmax", tensor.U8, t.blocks, t.blocks), e.Add(name+".quant_map", tensor.F32, 64, 16),
			e.Add(name+".nested_absmax", tensor.F32, 4*groups, groups), e.Add(name+".nested_quant_map", tensor.F32, 1024, 256))
	} else {
		err = errors.Join(err, e.Add(name+".absmax", tensor.F32, 4*t.blocks, t.blocks), e.Add(name+".quant_map", tensor.F32, 64, 16))
	}
	t.outText = len(e.List)
	return t, errors.Join(err, e.Add(name+t.state.Key(), tensor.U8, int64(len(t.text)), int64(len(t.text))))
}

// mean returns the mean of the scales of a weight's blocks, which bitsandbytes subtracts from
// them before it quantizes them. It reads the whole weight, in order, since the order of the
// additions decides the bits.
func (e *encoder) mean(w *scheme.Weight, q Quantizer) (float32, error) {
	sum := NewMean(q.Blocks(w.Rows() * w.Cols()))
	err := e.Pass(w, encode.UnitRows(w, int64(q.Block)), q.Blocks, func(list, numbers []float32, lo int64) error {
		return located(q.Absmax(list, numbers), lo)
	}, sum.Add)
	return sum.Value(), err
}

func (e *fourBit) Hold() int64 { return e.hold }

// Block returns the numbers in a block, or in a block of scales.
func (e *fourBit) Block() int64 {
	if e.state.Nested && !e.late {
		return int64(e.state.Block) * NestedBlock
	}
	return int64(e.state.Block)
}

func (e *fourBit) Open(memory []byte) {
	if e.late {
		e.scales = memory[:4*e.blocks]
		e.Memory = memory
		return
	}
	e.encoding.Open(memory)
}

func (e *fourBit) Span(i int, lo, hi int64) tensor.Span {
	first, end := lo/int64(e.state.Block), e.state.Blocks(hi)
	switch {
	case i == outCodes:
		return tensor.Span{Off: lo / 2, Len: (hi+1)/2 - lo/2}
	case i == outScales && !e.state.Nested:
		return tensor.Span{Off: 4 * first, Len: 4 * (end - first)}
	case i == outScales && !e.late:
		return tensor.Span{Off: first, Len: end - first}
	case i == outNested && e.state.Nested && !e.late:
		from := first / NestedBlock
		return tensor.Span{Off: 4 * from, Len: 4 * ((end+NestedBlock-1)/NestedBlock - from)}
	}
	return tensor.Span{}
}

// Put encodes at once the blocks whose scales form a block.
func (e *fourBit) Put(dst [][]byte, lo int64, src []float32) error {
	var list, back [NestedBlock]float32
	q := &e.state
	step := q.Block * NestedBlock
	m := e.Meter(lo)
	codes, scaled, nested := dst[outCodes], dst[outScales], []byte(nil)
	if q.Nested {
		nested = dst[outNested]
	}
	for len(src) > 0 {
		n := min(step, len(src))
		scales := list[:q.Blocks(int64(n))]
		if err := q.Encode(codes, scales, src[:n]); err != nil {
			return located(err, lo)
		}
		used := scales
		switch {
		case !q.Nested:
			encode.PutFloats(scaled, scales)
			scaled = scaled[4*len(scales):]
		case e.late:
			encode.PutFloats(e.scales[4*(lo/int64(q.Block)):], scales)
		default:
			var one [1]float32
			EncodeNested(scaled, one[:], scales, q.Mean)
			encode.PutFloats(nested, one[:])
			used = back[:len(scales)]
			DecodeNested(used, scaled, one[:], q.Mean)
			scaled, nested = scaled[len(scales):], nested[4:]
		}
		if e.Unit > 0 {
			e.measure(&m, src[:n], codes, used)
		}
		lo, src, codes = lo+int64(n), src[n:], codes[(n+1)/2:]
	}
	if e.Unit > 0 {
		m.End()
	}
	return nil
}

// measure decodes block by block and compares.
func (e *fourBit) measure(m *encode.Meter, src []float32, codes []byte, scales []float32) {
	var after [4096]float32 // the largest block
	for k := range scales {
		n := min(e.state.Block, len(src))
		e.state.Decode(after[:n], codes, scales[k:k+1])
		m.Add(src[:n], after[:n])
		src, codes = src[n:], codes[n/2:]
	}
}

// End returns the outs that do not depend on ranges.
func (e *fourBit) End() ([][]byte, error) {
	codebook := e.state.Codebook()
	var codebooks [16 * 4]byte
	encode.PutFloats(codebooks[:], codebook[:])
	var ends [outNestedCodebook + 2][]byte
	ends[outCodebook], ends[e.outText] = codebooks[:], e.text
	if e.state.Nested {
		var map256 [256 * 4]byte
		encode.PutFloats(map256[:], NestedCodebook())
		ends[outNestedCodebook] = map256[:]
	}
	if e.late {
		ends[outScales], ends[outNested] = e.nest()
	} else {
		e.Finish()
	}
	return ends[:len(e.List)], nil
}

// nest quantizes the held scales.
func (e *fourBit) nest() (codes, nested []byte) {
	codes = e.Memory[4*e.blocks : 5*e.blocks]
	nested = e.Memory[5*e.blocks : e.hold]
	for at := int64(0); at < e.blocks; at += NestedBlock {
		var list [NestedBlock]float32
		n := min(NestedBlock, e.blocks-at)
		encode.GetFloats(list[:n], e.scales[4*at:])
		var one [1]float32
		EncodeNested(codes[at:at+n], one[:], list[:n], e.state.Mean)
		encode.PutFloats(nested[4*(at/NestedBlock):], one[:])
	}
	return codes, nested
}
