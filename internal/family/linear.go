package family

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// linearBack puts the members of linear attention, and of the layers that predict further
// tokens.
func (s *settings) linearBack(head int64) {
	s.partialRotary(head)
	s.requireInt("linear_conv_kernel_dim", "ssm.conv_kernel")
	s.requireInt("linear_key_head_dim", "ssm.state_size")
	s.requireInt("linear_num_key_heads", "ssm.group_count")
	inner, _ := s.int("ssm.inner_size")
	if n := s.requireInt("linear_num_value_heads", "ssm.time_step_rank"); n < 1 || inner%n != 0 {
		s.fail(s.row.arch+".ssm.inner_size", "its value is %d, for %d heads", inner, n)
	} else {
		s.putInt("linear_value_head_dim", inner/n)
	}
	all, _ := s.int("block_count")
	further, _ := s.int("nextn_predict_layers")
	if further >= all && further > 0 {
		s.fail(s.row.arch+".nextn_predict_layers", "its value is %d, of %d layers", further, all)
	}
	s.replace("num_hidden_layers", itoa(all-further))
	s.putInt("mtp_num_hidden_layers", further)
	every := s.requireInt("full_attention_interval", "full_attention_interval")
	linear, stated := s.perLayerBools("attention.recurrent_layers", s.layers())
	text := ""
	for l := range max(0, s.layers()-further) {
		kind := `, "full_attention"`
		if isSet(linear, l) || !stated && every > 0 && (l+1)%every != 0 {
			kind = `, "linear_attention"`
		}
		text += kind
	}
	if text != "" {
		s.put("layer_types", "["+text[2:]+"]")
	}
	s.biased("attention_bias", projections...)
	s.put("hidden_act", `"silu"`)
}

// hasFullAttention reports a layer of full attention.
func (c *config) hasFullAttention(layer int64) bool {
	if layer >= c.hiddenLayers() {
		return true
	}
	if list := c.get("layer_types").List(); layer < int64(len(list)) {
		return list[layer].String() != "linear_attention"
	}
	every := c.int("full_attention_interval")
	return every > 0 && (layer+1)%every == 0
}

func isFullAttention(c *config, layer int64) bool { return c.hasFullAttention(layer) }

func isLinearAttention(c *config, layer int64) bool { return !c.hasFullAttention(layer) }

// keyHeads, keyWidth, valueWidth, valueHeads and valuesEach (value heads per key head) are
// the sizes of linear attention.
func (c *config) keyHeads() int64 { return c.int("linear_num_key_heads") }

func (c *config) keyWidth() int64 { return c.int("linear_key_head_dim") }

func (c *config) valueWidth() int64 { return c.int("linear_value_head_dim") }

func (c *config) valueHeads() int64 { return c.int("linear_num_value_heads") }

func (c *config) valuesEach() int64 {
	if n := c.keyHeads(); n > 0 {
		return c.valueHeads() / n
	}
	return 0
}

// checkLinear refuses sizes of linear attention that no model has.
func checkLinear(c *config) error {
	if c.keyHeads() < 1 || c.keyHeads() > 1<<12 || c.valueHeads() < 1 || c.valueHeads() > 1<<12 || c.valueHeads()%c.keyHeads() != 0 || c.keyWidth() < 1 || c.valueWidth() < 1 {
		return wire.ErrRange.Errorf("linear attention with %d heads of %d, and %d of %d", c.keyHeads(), c.keyWidth(), c.valueHeads(), c.valueWidth())
	}
	return nil
}

func linearKeys(k *keys) {
	k.u32("ssm.conv_kernel", "linear_conv_kernel_dim")
	k.u32("ssm.state_size", "linear_key_head_dim")
	k.u32("ssm.group_count", "linear_num_key_heads")
	k.u32("ssm.time_step_rank", "linear_num_value_heads")
	k.putArch("ssm.inner_size", uint32(k.c.valueHeads()*k.c.valueWidth()))
	k.recurrent()
	k.u32("full_attention_interval", "full_attention_interval")
	k.putArch("rope.dimension_count", uint32(k.c.rotatedPart(k.c.headDim(), 0.25)))
	if k.c.mtpLayers > 0 {
		k.putArch("nextn_predict_layers", uint32(k.c.mtpLayers))
	}
}

// recurrent adds which layers have linear attention, if the configuration says so.
func (k *keys) recurrent() {
	kinds := k.c.get("layer_types")
	if !kinds.There && k.c.int("full_attention_interval") < 1 {
		return
	}
	if n := int64(len(kinds.List())); kinds.There && n != k.c.hiddenLayers() {
		k.fail("layer_types", kinds, "a list with the type of each layer")
		return
	}
	list, err := limits.Make[bool](k.b, int(k.c.layers()))
	if err != nil && k.err == nil {
		k.err = err
	}
	for i := range list {
		list[i] = !k.c.hasFullAttention(int64(i))
	}
	k.putArch("attention.recurrent_layers", list)
}
