package family

import (
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Models in which some layers have an attention window, and those with rotary embeddings for
// long texts.

// layerTypes puts layer_types: as the file states, or full attention in one of every so
// many layers.
func (s *settings) layerTypes(every int64) {
	list, stated := s.perLayerBools("attention.sliding_window_pattern", s.layers())
	s.putPerLayer("layer_types", func(l int64) string {
		if isSet(list, l) || !stated && (l+1)%every != 0 {
			return "sliding_attention"
		}
		return "full_attention"
	})
}

// cohere2Back puts the members of Cohere 2: layers with rotary embeddings and a window,
// and one in four with neither.
func cohere2Back(s *settings) {
	hidden, heads, _ := s.common()
	turning, ok := s.int("rope.dimension_count")
	if !ok || heads < 1 || turning < 1 || turning > hidden/heads {
		s.fail("cohere2.rope.dimension_count", "its value is %d, for a width of %d and %d heads", turning, hidden, heads)
		return
	}
	s.rotations(turning)
	s.put("rotary_pct", float64JSON(float64(turning)/float64(hidden/heads)))
	s.optionalFloat("layer_norm_eps", "attention.layer_norm_epsilon")
	s.optionalFloat("logit_scale", "logit_scale")
	s.window(0)
	s.layerTypes(4)
	s.biased("attention_bias", projections...)
	s.put("use_qk_norm", "false")
	s.put("hidden_act", `"silu"`)
}

// float64JSON formats a number so that the same float64 is read.
func float64JSON(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if f == math.Trunc(f) {
		text += ".0"
	}
	return text
}

// hasWindow reports whether some layers of the model have an attention window.
func (s *settings) hasWindow(arch string) bool {
	n, _ := number(s.keys[arch+".attention.sliding_window"])
	return n > 0
}

func olmo3Back(s *settings) {
	olmo2Back(s)
	if f, ok := number(s.keys["olmo2.rope.freq_base"]); ok {
		s.expect("rope.freq_base_swa", f)
	}
	s.window(0)
	s.layerTypes(4)
}

func exaone4Back(s *settings) {
	_, _, head := s.common()
	s.rotations(head)
	s.window(0)
	if s.hasWindow(s.row.arch) {
		s.layerTypes(4)
		s.put("sliding_window_pattern", "4")
	} else {
		s.putPerLayer("layer_types", func(int64) string { return "full_attention" })
	}
	s.biased("attention_bias", projections...)
	s.put("hidden_act", `"silu"`)
}

// ministral3Back puts the rotary embeddings, and the factors of attention in long texts.
func ministral3Back(s *settings) {
	_, _, head := s.common()
	s.expect("rope.dimension_count", float64(head))
	s.ropeBase()
	_, _ = s.key("rope.scaling.finetuned")
	if kind, _ := s.key("rope.scaling.type"); kind != "yarn" {
		s.fail("mistral3.rope.scaling.type", "its value is %s", valueText(kind))
		return
	}
	s.yarn()
	last := len(s.list) - 1
	if s.err != nil || s.list[last].name != "rope_scaling" {
		return
	}
	text := s.list[last].value
	text = text[:len(text)-1]
	if f, ok := s.float("rope.scaling.yarn_log_multiplier"); ok {
		text += `, "mscale": 1.0, "mscale_all_dim": ` + f // as in llama.cpp: for a scale of 1
	}
	if f, ok := s.float("attention.temperature_scale"); ok {
		text += `, "llama_4_scaling_beta": ` + f
	}
	s.list[last] = preset{"rope_parameters", text + "}"}
	s.biases("attention_bias", s.layers(), projections...)
	s.put("sliding_window", "null")
	s.put("hidden_act", `"silu"`)
}

// isMinistral3 reports Ministral 3 among the models of llama.cpp's mistral3.
func (s *settings) isMinistral3() bool {
	_, log := s.keys["mistral3.rope.scaling.yarn_log_multiplier"]
	_, scale := s.keys["mistral3.attention.temperature_scale"]
	return log || scale
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
	if have, there := number(s.keys["phi3.rope.scaling.attn_factor"]); !ok || !there || float32(have) != want {
		s.fail("phi3.rope.scaling.attn_factor", "it is not the value for the lengths %d and %d", most, original)
	}
	return s.err
}
