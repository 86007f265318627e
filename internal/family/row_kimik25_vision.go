package family

import (
	"cmp"
	"math"
)

// kimik25Projector: MoonViT of Kimi K2.5 and GLM-5.2-Vision, which knows times too. Queries and keys rotate by two axes: of each four
// rows, the first two and the last two are apart in llama.cpp.
var kimik25Projector = &row{
	arch: "clip", prefix: "v.", names: []string{"KimiK25ForConditionalGeneration", "Glm5vForConditionalGeneration"},
	defaults: []preset{
		{"num_channels", "3"}, {"patch_size", "14"}, {"init_pos_emb_height", "64"}, {"init_pos_emb_width", "64"}, {"init_pos_emb_time", "4"}, {"projector_hidden_act", `"gelu"`}, {"text hidden_size", "7168"},
	},
	outer: []mapping{
		kimivlProjector.outer[0],
		{hf: "vision_tower.patch_embed.pos_emb", gguf: "v.position_embd", shape: dims{memberSize("init_pos_emb_height"), memberSize("init_pos_emb_width"), Hidden}},
		kimivlProjector.outer[2],
		{hf: "mm_projector.pre_norm", gguf: "mm.input_norm", shape: dims{Hidden}},
		{hf: "mm_projector.proj.0", gguf: "mm.1", shape: dims{kimiMerged, kimiMerged}},
		{hf: "mm_projector.proj.2", gguf: "mm.2", shape: dims{TextHidden, kimiMerged}},
	},
	layer: kimivlProjector.layer,
	layers: lazy(func() []mapping {
		list := kimivlProjector.layers()
		return append(list[:2:2], list[3], list[4], list[5],
			mapping{hf: "wqkv", shape: dims{Hidden3, Hidden}, views: []view{rowsOf("attn_qkv", kimiAxes)}})
	}),
	keys: func(k *keys) {
		c := k.c
		vision(k, "kimik25")
		k.u32("vision.feed_forward_length", "vt_intermediate_size")
		k.putArch("vision.image_size", uint32(c.int("init_pos_emb_height")*c.patch()))
		for _, m := range []string{"height", "width", "time"} {
			k.put("vision.pos_emb_"+m, uint32(c.int("init_pos_emb_"+m)))
		}
		k.put("clip.use_gelu", c.get("projector_hidden_act").String() == "gelu")
		k.epsilon(c.get("projector_ln_eps"), 1e-5)
		k.putArch("vision.projector.scale_factor", uint32(2))
		sides := c.get("merge_kernel_size").List()
		for i := range min(len(sides), 3) {
			if n, ok := sides[i].Int(); !ok || n != 2 || len(sides) != 2 {
				k.fail("merge_kernel_size", c.get("merge_kernel_size"), "two patches of each side")
				return
			}
		}
		k.kimiPixels()
		if c.heads() != kimiHeads(c) || c.hidden()%(4*kimiHeads(c)) != 0 {
			k.fail("vt_num_attention_heads", c.get("vt_num_attention_heads"), itoa(kimiHeads(c))+", as the converter assumes, with heads of a multiple of four")
		}
	}, vocab: noVocab,

	ranges: Hidden, naming: naming{renames: [][2]string{{"mm_projector.linear_1.", "mm_projector.proj.0."}, {"mm_projector.linear_2.", "mm_projector.proj.2."}}}, vision: visionPart{keep: []string{"vision_tower.", "mm_projector."}},
}

// kimiHeads is the number of heads by which the converter takes rows apart.
func kimiHeads(c *config) int64 {
	if n := c.int("num_attention_heads"); n > 0 {
		return n
	}
	return 16
}

// kimiAxes are the rows of queries and keys by axis, and those of values.
func kimiAxes(c *config) (list []cut) {
	heads := kimiHeads(c)
	wide := c.hidden() / heads
	for part := range int64(2) {
		for h := range heads {
			for axis := range int64(2) {
				for i := range wide / 4 {
					list = append(list, cut{first: part*c.hidden() + h*wide + 4*i + 2*axis, rows: 2})
				}
			}
		}
	}
	return append(list, cut{first: 2 * c.hidden(), rows: c.hidden()})
}

// kimiPixels adds how many pixels an image may have, of which the preprocessor's configuration states
// the patches.
func (k *keys) kimiPixels() {
	most := int64(16384)
	v, err := k.preprocessor("in_patch_limit")
	k.err = cmp.Or(k.err, err)
	if v.There {
		var ok bool
		if most, ok = v.Int(); !ok || most < 1 || most > 1<<20 {
			k.fail("in_patch_limit", v, "a number of patches")
			return
		}
	}
	each := k.c.patch() * k.c.patch()
	if most*each > math.MaxUint32 {
		k.fail("patch_size", k.c.get("patch_size"), "the side of a patch")
		return
	}
	k.putArch("vision.image_min_pixels", uint32(8*each)) // as in the converter
	k.putArch("vision.image_max_pixels", uint32(most*each))
}
