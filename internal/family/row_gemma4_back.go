package family

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// gemma4Heads puts the widths of heads: in global layers, and in the others.
func (s *settings) gemma4Heads() (full, own int64) {
	full = s.requireInt("global_head_dim", "attention.key_length")
	own = s.requireInt("head_dim", "attention.key_length_swa")
	s.expect("attention.value_length", float64(full))
	s.expect("rope.dimension_count", float64(full))
	s.expect("attention.value_length_swa", float64(own))
	s.expect("rope.dimension_count_swa", float64(own))
	return full, own
}

// gemma4Groups puts the numbers of key heads. Global layers have values of their own, or
// use their keys as values.
func (s *settings) gemma4Groups(slides []bool) {
	groups, _ := s.perLayerInts("attention.head_count_kv", s.layers())
	borrow, _ := s.int("attention.shared_kv_layers")
	s.putInt("num_kv_shared_layers", borrow)
	counts := map[bool]int64{} // by whether a layer has a window
	equal, seen := true, false
	for l, n := range groups {
		slide := isSet(slides, int64(l))
		if was, there := counts[slide]; there && was != n {
			s.fail("gemma4.attention.head_count_kv", "layers of one kind have %d and %d", was, n)
		}
		counts[slide] = n
		if !slide && int64(l) < s.layers()-borrow {
			seen = true
			equal = equal && s.tensors["blk."+itoa(int64(l))+".attn_v.weight"] == nil
		}
	}
	one, there := counts[true]
	if !there {
		one = counts[false]
	}
	s.putInt("num_key_value_heads", one)
	s.put("attention_k_eq_v", boolText(equal && seen))
	if all, there := counts[false]; there && all != one {
		s.putInt("num_global_key_value_heads", all)
		if !equal {
			s.fail("gemma4.attention.head_count_kv", "layers of both kinds have values, but different numbers of heads")
		}
	}
}

// gemma4Feeds puts the widths of feed-forward layers: all equal, or twice as wide in
// layers that share keys and values.
func (s *settings) gemma4Feeds() {
	feeds, _ := s.perLayerInts("feed_forward_length", s.layers())
	borrow, _ := s.int("attention.shared_kv_layers")
	if len(feeds) == 0 {
		s.fail("gemma4.feed_forward_length", "it is missing, and intermediate_size depends on it")
		return
	}
	one, last := feeds[0], feeds[len(feeds)-1]
	double := borrow > 0 && borrow < s.layers() && last == 2*one
	for l, n := range feeds {
		want := one
		if double && int64(l) >= s.layers()-borrow {
			want = 2 * one
		}
		if n != want {
			s.fail("gemma4.feed_forward_length", "its number %d is %d, which config.json cannot express", l, n)
			return
		}
	}
	s.putInt("intermediate_size", one)
	s.put("use_double_wide_mlp", boolText(double))
}

// gemma4Inputs puts the widths of the embeddings of each layer.
func (s *settings) gemma4Inputs() {
	wide, _ := s.int("embedding_length_per_layer_input")
	s.putInt("hidden_size_per_layer_input", wide)
	if s.tensors["per_layer_token_embd.weight"] != nil {
		s.putInt("vocab_size_per_layer_input", s.rows("per_layer_token_embd.weight"))
	}
}

func (s *settings) gemma4Experts() {
	n, _ := s.int("expert_count")
	used, _ := s.int("expert_used_count")
	wide, _ := s.int("expert_feed_forward_length")
	s.put("enable_moe_block", boolText(n > 0))
	if n > 0 {
		s.putInt("num_experts", n)
		s.putInt("top_k_experts", used)
		s.putInt("moe_intermediate_size", wide)
	}
}

// gemma4Turns puts the rotary embeddings, except the rotated part of a head in global
// layers, which rope_freqs.weight tells.
func (s *settings) gemma4Turns(full, own int64) {
	base, ok := s.float("rope.freq_base")
	local, also := s.float("rope.freq_base_swa")
	if !ok || !also || full < 2 || full%2 != 0 || own < 1 {
		s.fail("gemma4.rope.freq_base", "it needs two bases and an even head size")
		return
	}
	i := s.tensors[ropeFreqs]
	if i == nil {
		s.err = wire.At("gguf", "", wire.NoOffset, wire.ErrMissing.Errorf("there is no tensor %s", wire.Quote(ropeFreqs)))
		return
	}
	s.put("rope_parameters", `{"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 1.0, "rope_theta": `+base+
		`}, "sliding_attention": {"rope_type": "default", "rope_theta": `+local+"}}")
}

// readProportional finds the rotated part of a head: as many factors of 1, followed by
// factors that stop a rotation.
func (p *planner) readProportional(s *settings) (found bool, err error) {
	i := s.tensors[ropeFreqs]
	if i == nil {
		return false, nil
	}
	return true, wire.At(p.m.Format(), "tensor "+ropeFreqs, i.Span.Off, p.findProportional(s, i))
}

func (p *planner) findProportional(s *settings, i *tensor.Info) error {
	head := p.c.globalHead()
	if i.DType != tensor.F32 || i.Elements() != head/2 || head > 1<<20 {
		return wire.ErrUnsupported.Errorf("it is %s of %v, for heads of %d", i.TypeName(), i.Shape, head)
	}
	have, err := p.floats(i)
	if err != nil {
		return err
	}
	turning := 0
	for turning < len(have) && have[turning] == 1 {
		turning++
	}
	for _, f := range have[turning:] {
		if f != 1e30 {
			return wire.ErrUnsupported.Errorf("its numbers are not ones followed by 1e30")
		}
	}
	part := float64(2*turning) / float64(head)
	if turning == 0 || int64(float64(head)*part/2) != int64(turning) {
		return wire.ErrUnsupported.Errorf("%d of the %d elements of a head rotate", 2*turning, head)
	}
	base, _ := s.float("rope.freq_base")
	local, _ := s.float("rope.freq_base_swa")
	s.replace("rope_parameters", `{"full_attention": {"rope_type": "proportional", "partial_rotary_factor": `+float64JSON(part)+`, "rope_theta": `+base+
		`}, "sliding_attention": {"rope_type": "default", "rope_theta": `+local+"}}")
	return s.err
}

// gemma4Back puts the members of Gemma 4. Its layers differ, so most keys are lists.
func gemma4Back(s *settings) {
	layers := s.layers()
	slides, stated := s.perLayerBools("attention.sliding_window_pattern", layers)
	if !stated {
		s.fail("gemma4.attention.sliding_window_pattern", "it is missing, and layer_types depends on it")
	}
	s.requireInt("hidden_size", "embedding_length")
	s.requireInt("num_hidden_layers", "block_count")
	s.requireInt("num_attention_heads", "attention.head_count")
	s.requireInt("max_position_embeddings", "context_length")
	s.optionalFloat("rms_norm_eps", "attention.layer_norm_rms_epsilon")
	s.vocabulary()
	s.replace("tie_word_embeddings", "true")
	s.expect("attention.causal", 1)
	s.window(0)
	if !s.optionalFloat("final_logit_softcapping", "final_logit_softcapping") {
		s.put("final_logit_softcapping", "null")
	}
	s.putPerLayer("layer_types", func(l int64) string {
		if isSet(slides, l) {
			return "sliding_attention"
		}
		return "full_attention"
	})
	full, own := s.gemma4Heads()
	s.gemma4Groups(slides)
	s.gemma4Feeds()
	s.gemma4Inputs()
	s.gemma4Experts()
	s.gemma4Turns(full, own)
	s.put("attention_bias", "false")
	s.put("hidden_activation", `"gelu_pytorch_tanh"`)
}
