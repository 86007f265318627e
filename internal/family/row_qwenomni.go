package family

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// The text models of Qwen's models of several senses ("thinkers"), whose configurations are in
// thinker_config.

var omniParts = []string{"thinker.audio_tower.", "thinker.visual.", "talker.", "token2wav.", "code2wav."}

var qwen25omniRow = &row{
	arch: "qwen2vl", model: "qwen2_5_omni", names: []string{"Qwen2_5OmniModel"},
	defaults: qwenDefaults, outer: outer, layer: decoderLayer, layers: qwen2Row.layers,
	keys: qwen2vlRow.keys, vocab: spmOrBytes,

	naming: naming{inner: []string{"thinker."}, otherParts: omniParts}, mlx: mlxRow{none: notCompared},
}

var qwen3omniRow = &row{
	arch: "qwen3vlmoe", model: "qwen3_omni_moe", names: []string{"Qwen3OmniMoeForConditionalGeneration"},
	defaults: qwenPresets(preset{"head_dim", "128"}, preset{"num_experts", "128"}, preset{"num_experts_per_tok", "8"}), outer: outer, layer: decoderLayer,
	layers: qwen3moeRow.layers,
	keys: func(k *keys) {
		qwenMoeKeys(k)
		k.sections()
		k.putArch("n_deepstack_layers", uint32(0))
	}, vocab: omniVocab,

	naming: naming{inner: []string{"thinker."}, otherParts: omniParts}, mlx: mlxRow{none: notCompared},
}

// qwen3asrRow: the text model of Qwen3-ASR.
var qwen3asrRow = &row{
	arch: "qwen3vl", model: "qwen3_asr", names: []string{"Qwen3ASRForConditionalGeneration"},
	defaults: qwenPresets(preset{"head_dim", "128"}), outer: outer, layer: decoderLayer, layers: qwen3Row.layers,
	keys: func(k *keys) {
		qwenKeys(k)
		k.sections()
		k.putArch("n_deepstack_layers", uint32(0))
	}, vocab: asrVocab,

	naming: naming{inner: []string{"thinker."}, otherParts: omniParts}, mlx: mlxRow{none: notCompared},
}

// omniVocab is a BPE of bytes whose texts begin and end with <|im_end|>, as the converter has it.
func omniVocab(k *keys) error {
	if err := gpt2Vocab(k); err != nil {
		return err
	}
	return k.endsIm()
}

// endsIm makes <|im_end|> of tokenizer_config.json the first and the last token of a text.
func (k *keys) endsIm() error {
	config, err := jsontree.Read(k.b, k.files, tokenizerConfig, maxTokenizer)
	if err != nil {
		return err
	}
	size := k.c.int("vocab_size")
	for m := range config.Get("added_tokens_decoder").Members() {
		if err := k.b.Step(1); err != nil {
			return err
		}
		if m.Value.Get("content").String() != "<|im_end|>" {
			continue
		}
		n, err := strconv.ParseUint(m.Name, 10, 32)
		if err != nil || int64(n) >= size {
			return wire.At(tokenizerConfig, "", m.Value.Off(), wire.ErrRange.Errorf("token %s, of %d tokens", wire.Quote(m.Name), size))
		}
		k.put("tokenizer.ggml.bos_token_id", uint32(n))
		k.put("tokenizer.ggml.eos_token_id", uint32(n))
		break
	}
	return nil
}

// asrTemplate is the chat template that the converter gives Qwen3-ASR, whatever the folder has.
const asrTemplate = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

func asrVocab(k *keys) error {
	if err := spmOrBytes(k); err != nil {
		return err
	}
	k.put("tokenizer.chat_template", asrTemplate)
	return k.endsIm()
}
