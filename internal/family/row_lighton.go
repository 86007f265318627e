package family

// lightonProjector: the vision part of LightOnOCR, Mistral Small's under other names.
var lightonProjector = &row{
	arch: "clip", prefix: "v.", model: "pixtral", names: []string{"LightOnOCRForConditionalGeneration"},
	defaults: mistral3Projector.defaults, outer: mistral3Projector.outer, layer: mistral3Projector.layer, layers: mistral3Projector.layers,
	keys: func(k *keys) {
		pixtralKeys(k)
		k.put("clip.projector_type", "lightonocr")
	}, vocab: noVocab,

	naming: naming{renames: [][2]string{{"model.vision_encoder.", "vision_tower."}, {"model.vision_projection.", "multi_modal_projector."}}},
	vision: visionPart{keep: []string{"model.vision_encoder.", "model.vision_projection.", "vision_tower.", "multi_modal_projector."}},
}
