package family

// Encoders of audio that are Whisper's, with a projector of the text model's maker.

// MelBins is the number of bands of a spectrogram, SoundPositions that of position embeddings.
func MelBins(c *config) int64 { return c.int("num_mel_bins") }

func SoundPositions(c *config) int64 { return c.int("max_source_positions") }

// SoundFFN is the width of a feed-forward layer.
func SoundFFN(c *config) int64 { return c.int("encoder_ffn_dim", "intermediate_size") }

// Kernel3 is the length of the convolutions.
func Kernel3(*config) int64 { return 3 }

// whisperOuter are the tensors outside of layers; kind is the type of the convolutions.
func whisperOuter(kind typeRule, more ...mapping) []mapping {
	return with([]mapping{
		{hf: "audio_tower.conv1", gguf: "a.conv1d.1", shape: dims{Hidden, MelBins, Kernel3}, typeRule: kind, bias: "a.conv1d.1.bias", biasColumn: true},
		{hf: "audio_tower.conv2", gguf: "a.conv1d.2", shape: dims{Hidden, Hidden, Kernel3}, typeRule: kind, bias: "a.conv1d.2.bias", biasColumn: true},
		{hf: "audio_tower.embed_positions", gguf: "a.position_embd", shape: dims{SoundPositions, Hidden}},
		{hf: "audio_tower.layer_norm", gguf: "a.post_ln", shape: dims{Hidden}},
	}, more...)
}

const whisperLayer = "audio_tower.layers.#."

func whisperLayers() []mapping {
	return []mapping{
		{hf: "self_attn_layer_norm", gguf: "ln1", shape: dims{Hidden}},
		{hf: "self_attn.q_proj", gguf: "attn_q", shape: dims{Hidden, Hidden}},
		{hf: "self_attn.k_proj", gguf: "attn_k", shape: dims{Hidden, Hidden}},
		{hf: "self_attn.v_proj", gguf: "attn_v", shape: dims{Hidden, Hidden}},
		{hf: "self_attn.out_proj", gguf: "attn_out", shape: dims{Hidden, Hidden}},
		{hf: "final_layer_norm", gguf: "ln2", shape: dims{Hidden}},
		{hf: "fc1", gguf: "ffn_up", shape: dims{SoundFFN, Hidden}},
		{hf: "fc2", gguf: "ffn_down", shape: dims{Hidden, SoundFFN}},
	}
}

// sound adds the keys of every encoder of audio: MmprojModel in base.py.
func sound(k *keys, projector string) {
	k.put("general.type", "mmproj")
	k.put("clip.has_audio_encoder", true)
	k.put("clip.projector_type", projector)
	k.putArch("audio.projection_dim", uint32(k.c.textWidth()))
	k.putArch("audio.embedding_length", uint32(k.c.hidden()))
	k.putArch("audio.feed_forward_length", uint32(SoundFFN(k.c)))
	k.putArch("audio.block_count", uint32(k.c.layers()))
	k.putArch("audio.attention.head_count", uint32(k.c.heads()))
	k.u32("audio.num_mel_bins", "num_mel_bins")
	if v := k.c.get("layer_norm_eps"); v.There {
		k.number("audio.attention.layer_norm_epsilon", "layer_norm_eps", v)
		return
	}
	k.putArch("audio.attention.layer_norm_epsilon", float32(1e-5))
}

var whisperDefaults = []preset{{"num_mel_bins", "128"}, {"max_source_positions", "1500"}, {"text hidden_size", "4096"}}

var (
	soundAlone = visionPart{config: "audio_config", keep: []string{"audio_tower.", "multi_modal_projector.", "model.audio_tower.", "model.multi_modal_projector."}}
	// soundFour is the width of four results beside each other.
	soundFour = double(double(Hidden))
)

var qwen2audioProjector = &row{
	arch: "clip", prefix: "a.", names: []string{"Qwen2AudioForConditionalGeneration"},
	defaults: whisperDefaults, layer: whisperLayer, layers: lazy(whisperLayers),
	outer: whisperOuter(alwaysF16, mapping{hf: "multi_modal_projector.linear", gguf: "mm.a.fc", shape: dims{TextHidden, Hidden}}),
	keys:  func(k *keys) { sound(k, "qwen2a") }, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: soundAlone,
}

var voxtralProjector = &row{
	arch: "clip", prefix: "a.", names: []string{"VoxtralForConditionalGeneration"},
	defaults: whisperDefaults, layer: whisperLayer, layers: lazy(whisperLayers),
	outer: whisperOuter(alwaysF16,
		mapping{hf: "multi_modal_projector.linear_1", gguf: "mm.a.mlp.1", shape: dims{TextHidden, soundFour}},
		mapping{hf: "multi_modal_projector.linear_2", gguf: "mm.a.mlp.2", shape: dims{TextHidden, TextHidden}},
	),
	keys: func(k *keys) {
		sound(k, "voxtral")
		k.putArch("audio.projector.stack_factor", uint32(4)) // as in the converter
	}, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: soundAlone,
}

var musicProjector = &row{
	arch: "clip", prefix: "a.", names: []string{"AudioFlamingo3ForConditionalGeneration"},
	defaults: whisperDefaults, layer: whisperLayer, layers: lazy(whisperLayers),
	outer: whisperOuter(alwaysF32,
		mapping{hf: "multi_modal_projector.linear_1", gguf: "mm.a.mlp.1", shape: dims{TextHidden, Hidden}},
		mapping{hf: "multi_modal_projector.linear_2", gguf: "mm.a.mlp.2", shape: dims{TextHidden, TextHidden}},
	),
	keys: func(k *keys) { sound(k, "musicflamingo") }, vocab: noVocab,

	naming: naming{trimPrefixes: []string{"model."}}, vision: soundAlone,
}

// ultravoxProjector: the text model is a folder of its own. Between the two matrices is a gate, which
// halves the width, and a norm after one of them, by the version.
var ultravoxProjector = &row{
	arch: "clip", prefix: "a.", names: []string{"UltravoxModel"},
	defaults: whisperDefaults, layer: whisperLayer, layers: lazy(whisperLayers),
	outer: whisperOuter(alwaysF16,
		mapping{hf: "multi_modal_projector.ln_pre", gguf: "mm.a.norm_pre", shape: dims{ultravoxStack}},
		mapping{hf: "multi_modal_projector.linear_1", gguf: "mm.a.mlp.1", shape: dims{ultravoxWide, ultravoxStack}},
		mapping{hf: "multi_modal_projector.linear_2", gguf: "mm.a.mlp.2", shape: dims{TextHidden, ultravoxHalf}},
		mapping{hf: "multi_modal_projector.ln_mid", gguf: "mm.a.norm_mid", shape: dims{ultravoxHalf}},
	),
	keys: func(k *keys) {
		sound(k, "ultravox")
		n, ok := k.c.full.Get("stack_factor").Int()
		if !ok || n < 1 || n > 1<<10 {
			k.fail("stack_factor", k.c.full.Get("stack_factor"), "a number of results beside each other")
			return
		}
		k.putArch("audio.projector.stack_factor", uint32(n))
		if !k.c.full.Get("projector_ln_mid").True() {
			k.fail("projector_ln_mid", k.c.full.Get("projector_ln_mid"), "true, as of Ultravox 0.5")
		}
	}, vocab: noVocab,

	vision: soundAlone,
}

func ultravoxStack(c *config) int64 { return sizeIn(c.full, "stack_factor") * c.hidden() }

func ultravoxWide(c *config) int64 { return sizeIn(c.full, "hidden_size") }

func ultravoxHalf(c *config) int64 { return ultravoxWide(c) / 2 }
