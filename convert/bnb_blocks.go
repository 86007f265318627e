package convert

import (
	"errors"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// bnbBlocks is NF4 or FP4: codes under the weight's own name, with the tensors that the
// library calls their quantization state. If the scales are quantized too, their mean
// must be known before the first of them is written. The mean is also in the state's
// text, so it must be known before the file is laid out: the weight is read an extra time
// when it is planned.
type bnbBlocks struct {
	*bnbEncoding
	state  bnb.State
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

func newBnbBlocks(e *bnbEncoding, dtype string) (encoding, error) {
	o := &e.bnb.o
	t := &bnbBlocks{bnbEncoding: e, state: bnb.State{
		Quantizer: bnb.Quantizer{FP4: o.Type == FP4, Block: o.Block}, DType: dtype, Shape: e.w.Shape, Nested: o.Nested,
	}}
	n := e.w.Rows() * e.w.Cols()
	t.blocks = t.state.Blocks(n)
	groups := (t.blocks + bnb.NestedBlock - 1) / bnb.NestedBlock
	if o.Nested {
		var err error
		if t.state.Mean, err = e.bnb.mean(e.w, t.state.Quantizer); err != nil {
			return nil, err
		}
		t.late = unitRows(e.w, int64(o.Block)*bnb.NestedBlock)*e.w.Cols() > maxUnit
	}
	if t.late {
		t.hold = 5*t.blocks + 4*groups
	} else {
		t.hold = e.measured(t.Block())
	}
	t.text = t.state.Append(nil)
	name := e.w.Name
	err := e.add(name, tensor.U8, (n+1)/2, (n+1)/2, 1)
	if o.Nested {
		err = errors.Join(err, e.add(name+".absmax", tensor.U8, t.blocks, t.blocks), e.add(name+".quant_map", tensor.F32, 64, 16),
			e.add(name+".nested_absmax", tensor.F32, 4*groups, groups), e.add(name+".nested_quant_map", tensor.F32, 1024, 256))
	} else {
		err = errors.Join(err, e.add(name+".absmax", tensor.F32, 4*t.blocks, t.blocks), e.add(name+".quant_map", tensor.F32, 64, 16))
	}
	t.outText = len(e.outs)
	return t, errors.Join(err, e.add(name+t.state.Key(), tensor.U8, int64(len(t.text)), int64(len(t.text))))
}

func (e *bnbBlocks) Hold() int64 { return e.hold }

// Block returns the numbers in a block, or in a block of scales.
func (e *bnbBlocks) Block() int64 {
	if e.state.Nested && !e.late {
		return int64(e.state.Block) * bnb.NestedBlock
	}
	return int64(e.state.Block)
}

func (e *bnbBlocks) Open(memory []byte) {
	if e.late {
		e.scales = memory[:4*e.blocks]
		e.memory = memory
		return
	}
	e.bnbEncoding.Open(memory)
}

func (e *bnbBlocks) Span(i int, lo, hi int64) tensor.Span {
	first, end := lo/int64(e.state.Block), e.state.Blocks(hi)
	switch {
	case i == outCodes:
		return tensor.Span{Off: lo / 2, Len: (hi+1)/2 - lo/2}
	case i == outScales && !e.state.Nested:
		return tensor.Span{Off: 4 * first, Len: 4 * (end - first)}
	case i == outScales && !e.late:
		return tensor.Span{Off: first, Len: end - first}
	case i == outNested && e.state.Nested && !e.late:
		from := first / bnb.NestedBlock
		return tensor.Span{Off: 4 * from, Len: 4 * ((end+bnb.NestedBlock-1)/bnb.NestedBlock - from)}
	}
	return tensor.Span{}
}

// Put encodes at once the blocks whose scales form a block.
func (e *bnbBlocks) Put(dst [][]byte, lo int64, src []float32) error {
	var list, back [bnb.NestedBlock]float32
	q := &e.state
	step := q.Block * bnb.NestedBlock
	m := e.meter(lo)
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
			putFloats(scaled, scales)
			scaled = scaled[4*len(scales):]
		case e.late:
			putFloats(e.scales[4*(lo/int64(q.Block)):], scales)
		default:
			var one [1]float32
			bnb.EncodeNested(scaled, one[:], scales, q.Mean)
			putFloats(nested, one[:])
			used = back[:len(scales)]
			bnb.DecodeNested(used, scaled, one[:], q.Mean)
			scaled, nested = scaled[len(scales):], nested[4:]
		}
		if e.unit > 0 {
			e.measure(&m, src[:n], codes, used)
		}
		lo, src, codes = lo+int64(n), src[n:], codes[(n+1)/2:]
	}
	if e.unit > 0 {
		m.end()
	}
	return nil
}

// measure decodes block by block and compares.
func (e *bnbBlocks) measure(m *meter, src []float32, codes []byte, scales []float32) {
	var after [4096]float32 // the largest block
	for k := range scales {
		n := min(e.state.Block, len(src))
		e.state.Decode(after[:n], codes, scales[k:k+1])
		m.add(src[:n], after[:n])
		src, codes = src[n:], codes[n/2:]
	}
}

// End returns the outs that do not depend on ranges.
func (e *bnbBlocks) End() ([][]byte, error) {
	codebook := e.state.Codebook()
	var codebooks [16 * 4]byte
	putFloats(codebooks[:], codebook[:])
	var ends [outNestedCodebook + 2][]byte
	ends[outCodebook], ends[e.outText] = codebooks[:], e.text
	if e.state.Nested {
		var map256 [256 * 4]byte
		putFloats(map256[:], bnb.NestedCodebook())
		ends[outNestedCodebook] = map256[:]
	}
	if e.late {
		ends[outScales], ends[outNested] = e.nest()
	} else {
		e.finish()
	}
	return ends[:len(e.outs)], nil
}

// nest quantizes the held scales.
func (e *bnbBlocks) nest() (codes, nested []byte) {
	codes = e.memory[4*e.blocks : 5*e.blocks]
	nested = e.memory[5*e.blocks : e.hold]
	for at := int64(0); at < e.blocks; at += bnb.NestedBlock {
		var list [bnb.NestedBlock]float32
		n := min(bnb.NestedBlock, e.blocks-at)
		getFloats(list[:n], e.scales[4*at:])
		var one [1]float32
		bnb.EncodeNested(codes[at:at+n], one[:], list[:n], e.state.Mean)
		putFloats(nested[4*(at/bnb.NestedBlock):], one[:])
	}
	return codes, nested
}
