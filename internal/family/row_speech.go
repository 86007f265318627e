package family

// Further encoders of audio that are Whisper's.

// meralionProjector: MERaLiON 2, with gates in its adapter.
var meralionProjector = &row{
	arch: "clip", prefix: "a.", names: []string{"MERaLiON2ForConditionalGeneration"},
	defaults: append(whisperDefaults[:len(whisperDefaults):len(whisperDefaults)], preset{"text hidden_size", "2304"}), layer: whisperLayer, layers: lazy(whisperLayers),
	outer: whisperOuter(alwaysF16,
		mapping{hf: "ln_speech", gguf: "mm.a.norm_pre", shape: dims{Hidden}},
		mapping{hf: "speech_audio_adapter.mlp_adapter.0", gguf: "mm.a.mlp.0", shape: dims{meralionInner, meralionStack}},
		mapping{hf: "speech_audio_adapter.gate_proj", gguf: "mm.a.mlp.1", shape: dims{meralionWide, meralionInner}},
		mapping{hf: "speech_audio_adapter.pool_proj", gguf: "mm.a.mlp.2", shape: dims{meralionWide, meralionInner}},
		mapping{hf: "speech_audio_adapter.out_proj", gguf: "mm.a.mlp.3", shape: dims{TextHidden, meralionWide}},
	),
	keys: func(k *keys) {
		sound(k, "meralion")
		k.putArch("audio.projector.stack_factor", uint32(meralionScale(k.c)))
	}, vocab: noVocab,

	naming: naming{renames: [][2]string{{"speech_encoder.", "audio_tower."}}},
	vision: visionPart{config: "speech_config", keep: []string{"speech_encoder.", "ln_speech.", "speech_audio_adapter."}},
}

// meralionScale is the number of results that become one, meralionStack their width, meralionInner that of the
// adapter, meralionWide that of its gates.
func meralionScale(c *config) int64 {
	if n := sizeIn(c.full, "speech_mlp_scale_factor"); n > 0 {
		return min(n, 1<<10)
	}
	return 15
}

func meralionStack(c *config) int64 { return meralionScale(c) * c.hidden() }

func meralionInner(c *config) int64 { return c.hidden() }

func meralionWide(c *config) int64 { return 4 * c.hidden() }
