package family

// hunyuanvlRow: the text model of Hunyuan VL and Hunyuan OCR, whose rotations have four sections.
var hunyuanvlRow = &row{
	arch: "hunyuan_vl", model: "hunyuan_vl", names: []string{"HunYuanVLForConditionalGeneration"},
	defaults: hunyuanRow.defaults, outer: outer, layer: decoderLayer, layers: hunyuanRow.layers,
	keys: func(k *keys) {
		common(k)
		if k.c.experts() > 1 {
			k.fail("num_experts", k.c.get("num_experts"), "1: its mixtures are not compared")
		}
		r := k.c.rope()
		sections := r.params.Get("xdrope_section")
		if !sections.There {
			sections = r.params.Get("mrope_section")
		}
		alpha, ok := r.params.Get("alpha").Float()
		base, there := r.theta.Float()
		if !sections.There || !ok || !there || !(alpha > 0) {
			k.fail("rope_scaling", r.params, "of the kind xdrope, with alpha, a base and sections")
			return
		}
		k.putArch("rope.freq_base", float32(base))
		k.putArch("rope.scaling.alpha", float32(alpha))
		k.putArch("rope.scaling.type", "none")
		factor := 1.0
		if f, ok := r.params.Get("factor").Float(); ok {
			factor = f
		}
		k.putArch("rope.scaling.factor", float32(factor))
		k.u32("rope.scaling.original_context_length", "max_position_embeddings")
		list := sections.List()
		if len(list) != 4 {
			k.fail("xdrope_section", sections, "four numbers")
			return
		}
		numbers := make([]int32, 4)
		for i, v := range list {
			n, ok := v.Int()
			if !ok || n < 0 || n > 1<<20 {
				k.fail("xdrope_section", sections, "four numbers")
				return
			}
			numbers[i] = int32(n)
		}
		k.putArch("rope.dimension_sections", numbers)
	}, vocab: hunyuanVocab,

	naming:    naming{otherParts: []string{"vit.", "model.vit."}},
	attention: attention{scalings: []string{"dynamic", "xdrope"}}, mlx: mlxRow{none: notCompared},
}
