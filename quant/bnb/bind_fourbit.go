package bnb

import (
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var FourBit = scheme.Scheme{
	Name: "BitsAndBytes 4-bit", Stores: "NF4 and FP4, nested scales, any storage type", Oracle: "bitsandbytes",
	Goldens: []string{"bitsandbytes-nf4*", "bitsandbytes-fp4*"}, Bind: bind4,
	Declares: scheme.ByFile,
	Methods:  []scheme.Method{{Name: "bitsandbytes", Known: keys}},
	Mains:    []scheme.Main{{Codes: "", Parts: []string{".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"}}},
	Marks:    []string{StateName + "nf4", StateName + "fp4"},
	Endings:  []string{"-bnb-4bit", "-bnb", "_bnb"},
	Linear:   true,
}

// bind4 binds bitsandbytes' 4-bit weights. The tensor of codes may have any name and,
// if packed for distributed training, any type: the description beside it decides.
func bind4(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	state, kind, err := describedBy(s, info.Name)
	if state == nil || err != nil {
		return nil, err
	}
	q, err := readState(s, state)
	if err != nil {
		return nil, err
	}
	n, ok := wire.Product(q.shape)
	switch {
	case !floats[q.dtype]:
		return nil, wire.ErrMismatch.Errorf("%s says dtype %s", wire.Quote(state.Name), wire.Quote(q.dtype))
	case q.kind != kind:
		return nil, wire.ErrMismatch.Errorf("%s says quant_type %s", wire.Quote(state.Name), wire.Quote(q.kind))
	case !ok || q.block <= 0 || q.block > 1<<20:
		return nil, wire.ErrRange.Errorf("%s says blocks of %d in %v", wire.Quote(state.Name), q.block, q.shape)
	case info.Span.Len != form.CeilDiv(int64(n), 2):
		return nil, wire.ErrMismatch.Errorf("%d bytes, but %s says shape %v", info.Span.Len, wire.Quote(state.Name), q.shape)
	}
	f := &form.Coded4{Cols: 1, Block: q.block, Fp4: kind == "fp4"}
	if len(q.shape) > 0 {
		f.Cols = q.shape[len(q.shape)-1]
	}
	w := &scheme.Weight{
		Name: info.Name, Shape: q.shape, Layout: fmt.Sprintf("%s, blocks of %d", strings.ToUpper(kind), q.block),
		Parts: []tensor.Info{*info}, Form: f,
	}
	return w, bindScales(s, w, f, q, state, form.CeilDiv(int64(n), q.block))
}

// describedBy returns the description of a weight.
func describedBy(s *scheme.Set, name string) (state *tensor.Info, kind string, err error) {
	for _, k := range [...]string{"nf4", "fp4"} {
		found, ok := s.Find(name + StateName + k)
		if ok && state != nil {
			return nil, "", wire.ErrUnsupported.Errorf("two descriptions, %s and %s", wire.Quote(state.Name), wire.Quote(found.Name))
		}
		if ok {
			state, kind = found, k
		}
	}
	return state, kind, nil
}

// bindScales binds the scales, nested or not, and the codebook. It also binds the
// description, which only this package reads.
func bindScales(s *scheme.Set, w *scheme.Weight, f *form.Coded4, q *description, state *tensor.Info, blocks int64) error {
	absmax, ok := s.Find(w.Name + ".absmax")
	if !ok {
		return wire.ErrMissing.Errorf("its companion %s", wire.Quote(w.Name+".absmax"))
	}
	scaleType := tensor.F32
	if absmax.DType == tensor.U8 {
		scaleType = tensor.U8
	}
	type want struct {
		name  string
		n     int64
		dtype tensor.DType
	}
	wanted := []want{{".absmax", blocks, scaleType}, {".quant_map", 16, tensor.F32}}
	if f.Nested = scaleType == tensor.U8; f.Nested {
		f.NestedBlock, f.Offset = q.nestedBlock, q.nestedOffset
		if f.NestedBlock <= 0 || f.NestedBlock > 1<<20 {
			return wire.ErrMissing.Errorf("nested_blocksize in %s", wire.Quote(state.Name))
		}
		if !q.offset {
			return wire.ErrMissing.Errorf("nested_offset in %s", wire.Quote(state.Name))
		}
		if q.nestedType != "float32" { // the scales would be rounded to it
			return wire.ErrUnsupported.Errorf("nested_dtype %s in %s", wire.Quote(q.nestedType), wire.Quote(state.Name))
		}
		w.Layout += ", nested scales"
		wanted = append(wanted, want{".nested_absmax", form.CeilDiv(blocks, f.NestedBlock), tensor.F32}, want{".nested_quant_map", 256, tensor.F32})
	}
	for _, c := range wanted {
		part, err := s.Companion(w.Name+c.name, []int64{c.n}, c.dtype)
		if err != nil {
			return err
		}
		w.Parts = append(w.Parts, *part)
	}
	w.Extra = append(w.Extra, *state)
	return nil
}

// description is the content of quant_state.
type description struct {
	kind         string
	dtype        string // of the original numbers
	block        int64
	shape        []int64
	nestedBlock  int64
	nestedOffset float32
	offset       bool // nestedOffset is present
	nestedType   string
}

// floats are the types that bitsandbytes quantizes.
var floats = map[string]bool{"float16": true, "bfloat16": true, "float32": true}

func readState(s *scheme.Set, info *tensor.Info) (*description, error) {
	text, err := s.Text(info, scheme.MaxState)
	if err != nil {
		return nil, err
	}
	q := &description{}
	return q, strictjson.Decode(s.Budget, text, func(d *strictjson.Decoder) error {
		return d.Object(func(key string) (err error) {
			var n uint64
			switch key {
			case "quant_type":
				q.kind, err = d.String()
			case "blocksize":
				n, err = d.Uint(wire.MaxSize)
				q.block = int64(n)
			case "nested_blocksize":
				n, err = d.Uint(wire.MaxSize)
				q.nestedBlock = int64(n)
			case "nested_offset":
				var f float64
				f, err = d.Float()
				q.nestedOffset, q.offset = float32(f), true
			case "dtype":
				q.dtype, err = d.String()
			case "nested_dtype":
				q.nestedType, err = d.String()
			case "shape":
				err = d.Array(func(int) error {
					n, err := d.Uint(wire.MaxSize)
					if err == nil {
						q.shape, err = limits.Append(s.Budget, q.shape, int64(n))
					}
					return err
				})
			default:
				err = wire.ErrUnsupported.Errorf("%s in a description of bitsandbytes", wire.Quote(key))
			}
			return err
		})
	})
}

// keys are settings for loading only: everything that decoding needs is stored with
// each weight.
var keys = []string{
	"load_in_4bit", "load_in_8bit", "_load_in_4bit", "_load_in_8bit", "llm_int8_threshold", "llm_int8_skip_modules", "llm_int8_enable_fp32_cpu_offload",
	"llm_int8_has_fp16_weight", "bnb_4bit_compute_dtype", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "bnb_4bit_quant_storage", "bnb_4bit_blocksize",
	"target_parameters", "llm_int8_target_modules",
	"bits", "format", "method", "block_size", "compress_statistics",
}
