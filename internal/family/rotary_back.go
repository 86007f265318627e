package family

import (
	"math"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ropeFreqs is a tensor of what the frequencies of rotary embeddings are divided by.
const ropeFreqs = "rope_freqs.weight"

// readLlama3 finds the parameters of Llama 3's frequency scaling if there is a tensor with its
// factors.
func (p *planner) readLlama3(s *settings) (found bool, err error) {
	i := s.tensors[ropeFreqs]
	if i == nil {
		return false, nil
	}
	return true, wire.At(p.m.Format(), "tensor "+ropeFreqs, i.Span.Off, p.findLlama3(s, i))
}

// findLlama3 finds those parameters, among the published ones, that give exactly the factors
// in the tensor.
func (p *planner) findLlama3(s *settings, i *tensor.Info) error {
	dim := p.c.headDim()
	if i.DType != tensor.F32 || i.Elements() != dim/2 || dim%2 != 0 {
		return wire.ErrUnsupported.Errorf("it is %s of %v, for heads of %d", i.TypeName(), i.Shape, dim)
	}
	r, direct := p.m.At(*i)
	if !direct {
		return wire.ErrUnsupported.Errorf("it cannot be read at an offset")
	}
	have, err := limits.Make[byte](p.b, int(2*dim))
	if err != nil {
		return err
	}
	if err := wire.ReadFull(r, have, 0); err != nil {
		return err
	}
	if i.Order != tensor.Little {
		for k := 0; k < len(have); k += 4 {
			have[k], have[k+1], have[k+2], have[k+3] = have[k+3], have[k+2], have[k+1], have[k]
		}
	}
	last := math.Float32frombits(uint32(have[len(have)-4]) | uint32(have[len(have)-3])<<8 | uint32(have[len(have)-2])<<16 | uint32(have[len(have)-1])<<24)
	if !(last >= 1 && last <= 1024) {
		return wire.ErrUnsupported.Errorf("its last number is %v", last)
	}
	// Of the published models Llama 3.1 to 3.3 and what is made of them have 8192.
	for _, old := range []string{"8192", "4096", "2048", "16384", "32768", "65536", "131072", "1024", "512", "256", "128", "64"} {
		text := `{"rope_type": "llama3", "rope_theta": ` + s.theta() + `, "factor": ` + float32JSON(float64(last)) +
			`, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": ` + old + "}"
		params, err := parseJSON(p.b, text)
		if err != nil {
			return err
		}
		want, err := p.llama3(rope{kind: "llama3", theta: params.Get("rope_theta"), params: params})
		if err != nil {
			return err
		}
		if string(want) == string(have) {
			s.put("rope_scaling", text)
			return s.err
		}
	}
	return wire.ErrUnsupported.Errorf("its numbers belong to no published scaling of Llama 3")
}

// longNames are the tensors that Phi 3 divides its frequencies by.
var longNames = []string{"rope_factors_long.weight", "rope_factors_short.weight"}

// readLongRope puts the factors of both tensors. The attention factor must be the one that
// follows from the lengths.
func (p *planner) readLongRope(s *settings) (found bool, err error) {
	if s.tensors[longNames[0]] == nil && s.tensors[longNames[1]] == nil {
		return p.readLlama3(s)
	}
	if s.tensors[ropeFreqs] != nil {
		return false, wire.At(p.m.Format(), "tensor "+ropeFreqs, s.tensors[ropeFreqs].Span.Off, wire.ErrUnsupported.Errorf("rotations are scaled by %s too", longNames[0]))
	}
	return true, p.findLongRope(s)
}

func (p *planner) findLongRope(s *settings) error {
	long, short := s.tensors[longNames[0]], s.tensors[longNames[1]]
	var text strings.Builder
	text.WriteString(`{"rope_type": "longrope", "rope_theta": ` + s.theta())
	for k, i := range []*tensor.Info{long, short} {
		if i == nil {
			return wire.At("gguf", "", wire.NoOffset, wire.ErrMissing.Errorf("there is no tensor %s", wire.Quote(longNames[k])))
		}
		turning := p.c.rotated(p.c.rope())
		if i.DType != tensor.F32 || i.Elements() != turning/2 || turning > 1<<20 {
			return wire.At("gguf", "tensor "+wire.Quote(i.Name), i.Span.Off, wire.ErrMismatch.Errorf("it is %s of %v, and %d numbers of a head rotate", i.TypeName(), i.Shape, turning))
		}
		list, err := p.floats(i)
		if err != nil {
			return wire.At("gguf", "tensor "+wire.Quote(i.Name), i.Span.Off, err)
		}
		text.WriteString([2]string{`, "long_factor": [`, `, "short_factor": [`}[k])
		for n, f := range list {
			if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
				return wire.At("gguf", "tensor "+wire.Quote(i.Name), i.Span.Off, wire.ErrRange.Errorf("its number %d is %v", n, f))
			}
			if err := p.b.Hold(32); err != nil {
				return err
			}
			if n > 0 {
				text.WriteString(", ")
			}
			text.WriteString(float32JSON(float64(f)))
		}
		text.WriteString("]")
	}
	s.put("rope_scaling", text.String()+"}")
	most, _ := s.int("context_length")
	original, _ := s.int("rope.scaling.original_context_length")
	want, ok := longFactor("longrope", most, original)
	if have, there := number(s.keys[s.row.arch+".rope.scaling.attn_factor"]); !ok || !there || float32(have) != want {
		s.fail(s.row.arch+".rope.scaling.attn_factor", "it is not the value for the lengths %d and %d", most, original)
	}
	return s.err
}

// rotations puts the members of rotary embeddings of dims elements, all those of a head
// that rotate.
func (s *settings) rotations(dims int64) {
	s.expect("rope.dimension_count", float64(dims))
	s.ropeBase()
	_, _ = s.key("rope.scaling.finetuned") // a record of the training
	kind, there := s.key("rope.scaling.type")
	freqs := s.tensors[ropeFreqs]
	switch {
	case freqs != nil && there:
		s.fail(s.row.arch+".rope.scaling.type", "rotations are scaled by rope_freqs.weight too")
	case freqs != nil:
		return // the tensor has the factors, see readLlama3
	case !there || kind == "none":
	case kind == "linear":
		factor, _ := s.float("rope.scaling.factor")
		s.put("rope_scaling", `{"rope_type": "linear", "factor": `+factor+"}")
	case kind == "yarn":
		s.yarn()
	default:
		s.fail(s.row.arch+".rope.scaling.type", "its value is %s", valueText(kind))
	}
}

// theta returns the base of rotary embeddings that was put.
func (s *settings) theta() string {
	for _, m := range s.list {
		if m.name == "rope_theta" {
			return m.value
		}
	}
	return ""
}

// ropeBase puts the base of rotary embeddings; llama.cpp's default is 10000.
func (s *settings) ropeBase() {
	base, ok := s.float("rope.freq_base")
	if !ok {
		base = "10000.0"
	}
	s.put("rope_theta", base)
}

func (s *settings) yarn() {
	factor, ok := s.float("rope.scaling.factor")
	old, known := s.int("rope.scaling.original_context_length")
	if !ok || !known {
		s.fail(s.row.arch+".rope.scaling.type", "it is yarn, but its factor or original length is missing")
	}
	text := `{"rope_type": "yarn", "rope_theta": ` + s.theta() + `, "factor": ` + factor + `, "original_max_position_embeddings": ` + itoa(old)
	for _, o := range [][2]string{{"extrapolation_factor", "ext"}, {"attention_factor", "attn"}} {
		if f, ok := s.float("rope.scaling.yarn_" + o[1] + "_factor"); ok {
			text += `, "` + o[0] + `": ` + f
		}
	}
	for _, name := range []string{"beta_fast", "beta_slow"} {
		if f, ok := s.float("rope.scaling.yarn_" + name); ok {
			text += `, "` + name + `": ` + f
		}
	}
	s.put("rope_scaling", text+"}")
}
