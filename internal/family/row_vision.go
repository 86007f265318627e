package family

import "github.com/anamnesis-go/anamnesis/internal/wire"

// Vision parts, and text models that are published with one.

// pixtralDefaults are members that published configurations of Pixtral omit.
var pixtralDefaults = []preset{
	{"num_channels", "3"}, {"image_size", "1024"}, {"patch_size", "16"}, {"hidden_size", "1024"}, {"intermediate_size", "4096"}, {"num_hidden_layers", "24"},
	{"num_attention_heads", "16"}, {"text hidden_size", "4096"}, {"hidden_act", `"gelu"`},
}

var pixtralOuter = []mapping{
	{hf: "vision_tower.patch_conv", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: asHalf},
	{hf: "vision_tower.ln_pre", gguf: "v.pre_ln", shape: dims{Hidden}},
	{hf: "multi_modal_projector.linear_1", gguf: "mm.1", shape: dims{TextHidden, Hidden}},
	{hf: "multi_modal_projector.linear_2", gguf: "mm.2", shape: dims{TextHidden, TextHidden}},
}

var pixtralLayers = []mapping{
	{hf: "attention.q_proj", gguf: "attn_q", shape: dims{Hidden, Hidden}, op: permuteQ},
	{hf: "attention.k_proj", gguf: "attn_k", shape: dims{Hidden, Hidden}, op: permuteK},
	{hf: "attention.v_proj", gguf: "attn_v", shape: dims{Hidden, Hidden}},
	{hf: "attention.o_proj", gguf: "attn_out", shape: dims{Hidden, Hidden}},
	{hf: "attention_norm", gguf: "ln1", shape: dims{Hidden}},
	{hf: "feed_forward.gate_proj", gguf: "ffn_gate", shape: dims{FFN, Hidden}},
	{hf: "feed_forward.up_proj", gguf: "ffn_up", shape: dims{FFN, Hidden}},
	{hf: "feed_forward.down_proj", gguf: "ffn_down", shape: dims{Hidden, FFN}},
	{hf: "ffn_norm", gguf: "ln2", shape: dims{Hidden}},
}

var towerAlone = []string{"vision_tower.", "multi_modal_projector."}

var pixtralProjector = &row{
	arch: "clip", prefix: "v.", model: "pixtral", names: []string{"LlavaForConditionalGeneration"},
	defaults: pixtralDefaults, outer: pixtralOuter, layer: "vision_tower.transformer.layers.#.", layers: lazy(func() []mapping {
		return pixtralLayers
	}),
	keys: pixtralKeys, vocab: noVocab,

	vision: visionPart{keep: towerAlone},
}

var mistral3Projector = &row{
	arch: "clip", prefix: "v.", model: "pixtral", names: []string{"Mistral3ForConditionalGeneration"},
	defaults: append(pixtralDefaults[:len(pixtralDefaults):len(pixtralDefaults)], preset{"spatial_merge_size", "2"}),
	outer: with(pixtralOuter,
		mapping{hf: "multi_modal_projector.norm", gguf: "mm.input_norm", shape: dims{Hidden}},
		mapping{hf: "multi_modal_projector.patch_merger.merging_layer", gguf: "mm.patch_merger", shape: dims{Hidden, Merged}, typeRule: asHalf},
	),
	layer: "vision_tower.transformer.layers.#.", layers: lazy(func() []mapping {
		return pixtralLayers
	}),
	keys: pixtralKeys, vocab: noVocab,

	vision: visionPart{keep: towerAlone},
}

func pixtralKeys(k *keys) {
	vision(k, "pixtral")
	k.epsilon(k.c.get("layer_norm_eps"), 1e-5)
	switch act := k.c.get("hidden_act"); act.String() {
	case "silu":
		k.put("clip.use_silu", true)
	case "gelu":
		k.put("clip.use_gelu", true)
	default:
		k.fail("hidden_act", act, "silu or gelu")
	}
	if k.c.full.Get("spatial_merge_size").There || k.c.get("spatial_merge_size").There {
		k.putArch("vision.spatial_merge_size", uint32(k.c.merge()))
	}
}

var gemma3Projector = &row{
	arch: "clip", prefix: "v.", model: "siglip_vision_model", names: []string{"Gemma3ForConditionalGeneration"},
	defaults: []preset{
		{"num_channels", "3"}, {"image_size", "224"}, {"patch_size", "16"}, {"hidden_size", "768"}, {"intermediate_size", "3072"}, {"num_hidden_layers", "12"},
		{"num_attention_heads", "12"}, {"text hidden_size", "2304"},
	},

	outer: []mapping{
		{hf: "embeddings.patch_embedding", gguf: "v.patch_embd", shape: dims{Hidden, Channels, Patch, Patch}, typeRule: alwaysF32},
		{hf: "embeddings.position_embedding", gguf: "v.position_embd", shape: dims{Patches, Hidden}},
		{hf: "post_layernorm", gguf: "v.post_ln", shape: dims{Hidden}},
		{hf: "multi_modal_projector.mm_input_projection_weight", gguf: "mm.input_projection", shape: dims{Hidden, TextHidden}, noSuffix: true, typeRule: alwaysF16},
		{hf: "multi_modal_projector.mm_soft_emb_norm", gguf: "mm.soft_emb_norm", shape: dims{Hidden}, op: addOne},
	},
	layer: "encoder.layers.#.",
	layers: lazy(func() []mapping {
		return []mapping{
			{hf: "layer_norm1", gguf: "ln1", shape: dims{Hidden}},
			{hf: "layer_norm2", gguf: "ln2", shape: dims{Hidden}},
			{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{Hidden, Hidden}},
			{hf: "self_attn.out_proj", gguf: "attn_out", shape: dims{Hidden, Hidden}},
			{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{FFN, Hidden}},
			{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{Hidden, FFN}},
		}
	}),
	keys: gemma3ProjectorKeys, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"vision_tower.vision_model.", "vision_tower."}, skipPrefixes: []string{"head."}}, vision: visionPart{keep: towerAlone},
}

func gemma3ProjectorKeys(k *keys) {
	vision(k, "gemma3")
	k.epsilon(k.c.get("layer_norm_eps"), 1e-6)
	k.put("clip.use_gelu", true)
	tokens := int64(256)
	v, err := k.preprocessor("image_seq_length")
	if err != nil && k.err == nil {
		k.err = err
	}
	if v.There {
		var ok bool
		if tokens, ok = v.Int(); !ok || tokens < 1 || tokens > 1<<20 {
			k.fail("image_seq_length", v, "a number of tokens")
			return
		}
	}
	side := int64(1)
	for (side+1)*(side+1) <= tokens && side < 1<<10 {
		side++
	}
	if by := k.c.int("image_size") / k.c.patch() / side; by > 0 && by != 4 {
		k.putArch("vision.projector.scale_factor", uint32(by))
	}
}

// frames are the two halves of a convolution over two frames.
func frames(gguf string, first int64) view {
	return view{
		gguf:  gguf,
		shape: func(c *config) []int64 { return []int64{c.width(), c.channels(), c.patch(), c.patch()} },
		strides: func(c *config) ([]int64, int64) {
			one := c.patch() * c.patch()
			return []int64{2 * one * c.channels(), 2 * one, c.patch(), 1}, first * one
		},
	}
}

// third is the view of one of three consecutive matrices.
func third(gguf string, first int64) view {
	return view{
		gguf:  gguf,
		shape: func(c *config) []int64 { return []int64{c.width(), c.width()} },
		strides: func(c *config) ([]int64, int64) {
			return []int64{c.width(), 1}, first * c.width() * c.width()
		},
	}
}

// width is that of Qwen's vision part, which Qwen2-VL calls otherwise.
func (c *config) width() int64 {
	if n := c.int("embed_dim"); n > 0 {
		return n
	}
	return c.hidden()
}

var qwenVision = []mapping{
	{hf: "visual.patch_embed.proj", shape: dims{VisionHidden, Channels, Frames, Patch, Patch}, typeRule: asHalf, views: []view{frames("v.patch_embd.weight", 0), frames("v.patch_embd.weight.1", 1)}},
	{hf: "visual.merger.ln_q", gguf: "v.post_ln", shape: dims{VisionHidden}},
	{hf: "visual.merger.mlp.0", gguf: "mm.0", shape: dims{Merged, Merged}},
	{hf: "visual.merger.mlp.2", gguf: "mm.2", shape: dims{TextHidden, Merged}},
}

func qwenBlocks(more ...mapping) []mapping {
	return with([]mapping{
		{hf: "attn.qkv", shape: dims{VisionQKV, VisionHidden}, views: []view{third("attn_q", 0), third("attn_k", 1), third("attn_v", 2)}},
		{hf: "attn.proj", gguf: "attn_out", shape: dims{VisionHidden, VisionHidden}},
		{hf: "norm1", gguf: "ln1", shape: dims{VisionHidden}},
		{hf: "norm2", gguf: "ln2", shape: dims{VisionHidden}},
	}, more...)
}

var qwen2vlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"Qwen2VLForConditionalGeneration"},
	defaults: []preset{
		{"in_channels", "3"}, {"image_size", "560"}, {"patch_size", "14"}, {"depth", "32"}, {"embed_dim", "1280"}, {"hidden_size", "3584"}, {"mlp_ratio", "4"},
		{"num_heads", "16"}, {"spatial_merge_size", "2"}, {"text hidden_size", "8192"}, {"rms_norm_eps", "1e-06"},
	},
	outer: qwenVision, layer: "visual.blocks.#.",
	layers: lazy(func() []mapping {
		return qwenBlocks(
			mapping{hf: "mlp.fc1", gguf: "ffn_up", shape: dims{VisionFFN, VisionHidden}},
			mapping{hf: "mlp.fc2", gguf: "ffn_down", shape: dims{VisionHidden, VisionFFN}},
		)
	}),
	keys: func(k *keys) {
		vision(k, "qwen2vl_merger")
		k.putArch("vision.embedding_length", uint32(k.c.width()))
		k.u32("vision.feed_forward_length", "hidden_size") // as the converter states it
		k.epsilon(k.c.full.Get("rms_norm_eps"), 1e-6)
	}, vocab: noVocab,

	vision: visionPart{keep: []string{"visual."}},
}

var qwen25vlProjector = &row{
	arch: "clip", prefix: "v.", names: []string{"Qwen2_5_VLForConditionalGeneration"},
	defaults: []preset{
		{"in_channels", "3"}, {"image_size", "560"}, {"patch_size", "14"}, {"depth", "32"}, {"hidden_size", "3584"}, {"intermediate_size", "3420"},
		{"num_heads", "16"}, {"spatial_merge_size", "2"}, {"text hidden_size", "8192"}, {"fullatt_block_indexes", "[7, 15, 23, 31]"},
	},
	outer: qwenVision, layer: "visual.blocks.#.",
	layers: lazy(func() []mapping {
		return qwenBlocks(
			mapping{hf: "mlp.gate_proj", gguf: "ffn_gate", shape: dims{FFN, VisionHidden}},
			mapping{hf: "mlp.up_proj", gguf: "ffn_up", shape: dims{FFN, VisionHidden}},
			mapping{hf: "mlp.down_proj", gguf: "ffn_down", shape: dims{VisionHidden, FFN}},
		)
	}),
	keys: qwen25vlKeys, vocab: noVocab,

	vision: visionPart{keep: []string{"visual."}},
}

// qwen25vlKeys say after how many layers one sees all of an image.
func qwen25vlKeys(k *keys) {
	vision(k, "qwen2.5vl_merger")
	k.put("clip.use_silu", true)
	k.epsilon(k.c.full.Get("rms_norm_eps"), 1e-6)
	list := k.c.get("fullatt_block_indexes")
	before, every := int64(-1), int64(0)
	for i, v := range list.List() {
		n, ok := v.Int()
		if i == 0 {
			every = n + 1
		}
		if !ok || n < 0 || n > maxLayers || n-before != every {
			k.fail("fullatt_block_indexes", list, "a list of layers at equal distances")
			return
		}
		before = n
	}
	if every == 0 {
		k.fail("fullatt_block_indexes", list, "a list of layers")
		return
	}
	k.putArch("vision.n_wa_pattern", uint32(every))
}

// Text models that are published with a vision part.

// onlyPixtral refuses a model without a vision_config, for which the class takes CLIP's, as of
// LLaVA 1.5.
func onlyPixtral(c *config) error {
	if c.root.Get("vision_config").There {
		return nil
	}
	return wire.ErrUnsupported.Errorf("%s has no vision_config, so its vision part is CLIP (LLaVA 1.5): only Pixtral is supported for this architecture (%s writes names as they are)", wire.Quote(c.row.names[0]), wire.OptionRawNames)
}

var pixtralTextRow = &row{
	check: onlyPixtral,
	arch:  "llama", model: "mistral", names: []string{"LlavaForConditionalGeneration"},
	defaults: []preset{
		{"vocab_size", "32000"}, {"rms_norm_eps", "1e-06"}, {"max_position_embeddings", "131072"}, {"rope_theta", "10000"},
		{"num_attention_heads", "32"}, {"num_key_value_heads", "8"},
	},
	outer: outer, layer: decoderLayer, layers: lazy(func() []mapping {
		return llamaRow.layers()
	}), keys: llamaKeys, vocab: llamaVocab,
}

var mistral3TextRow = &row{
	arch: "mistral3", model: "mistral3", names: []string{"Mistral3ForConditionalGeneration"},
	defaults: pixtralTextRow.defaults, outer: outer, layer: decoderLayer, layers: lazy(func() []mapping {
		return llamaRow.layers()
	}),
	keys: func(k *keys) {
		if k.c.text.Get("model_type").String() == "ministral3" {
			ministral3Keys(k)
			return
		}
		llamaKeys(k)
	}, vocab: llamaVocab,

	back: backward{row: llamaRow, members: llamaBack, matches: func(s *settings) bool { return !s.isMinistral3() }},
}

var qwen2vlRow = &row{
	arch: "qwen2vl", model: "qwen2_vl", names: []string{"Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer,
	layers: lazy(func() []mapping {
		return decoder(with(mlp, ffnNorm)...)
	}),
	keys: func(k *keys) {
		common(k)
		k.sections()
	}, vocab: spmOrBytes,

	back: backward{row: qwen2Row, members: visionText(qwen2Back)},
}

// sectionsOr adds the stated sections, or the given ones.
func (k *keys) sectionsOr(time, height, width int32) {
	if k.c.rope().params.Get("mrope_section").There {
		k.sections()
		return
	}
	k.putArch("rope.dimension_sections", []int32{time, height, width, 0})
}

// sections adds the numbers of a head's elements that rotate with time, height and width.
func (k *keys) sections() {
	list := k.c.rope().params.Get("mrope_section")
	numbers := make([]int32, 4)
	for i, v := range list.List() {
		n, ok := v.Int()
		if i >= len(numbers) || !ok || n < 0 || n > 1<<20 {
			k.fail("mrope_section", list, "up to four numbers")
			return
		}
		numbers[i] = int32(n)
	}
	if list.There {
		k.putArch("rope.dimension_sections", numbers)
	}
}
