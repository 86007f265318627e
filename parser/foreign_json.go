package parser

import (
	"bytes"
	"slices"
)

// beside is what to do with a file that stands beside a model's weights.
const beside = "it is not a model itself: open the weights beside it, or their folder"

// modelTexts are the JSON files of a model's folder, told by the members of their
// object; the first that fits gives the name.
var modelTexts = [...]foreign{
	{"a tokenizer's JSON (tokenizer.json)", beside, hasKeys("added_tokens", "version|model|truncation|normalizer")},
	{"an adapter's configuration (adapter_config.json)", beside, hasKeys("peft_type")},
	{"an index of shards (model.safetensors.index.json)", "it is opened by its path, beside its shards", hasKeys("weight_map")},
	{"a pipeline's or a component's configuration of diffusers (model_index.json, config.json)", beside, hasKeys("_class_name")},
	{"a tokenizer's configuration (tokenizer_config.json)", beside, hasKeys("tokenizer_class|added_tokens_decoder|chat_template|model_max_length")},
	{"a processor's configuration (preprocessor_config.json)", beside, hasKeys("image_processor_type|feature_extractor_type|video_processor_type|processor_class")},
	{"a model's configuration (config.json)", beside, hasKeys("model_type|architectures")},
	{"a quantization's configuration", beside, hasKeys("quant_method|quantization|quant_algo|group_size")},
	{"settings for generating text (generation_config.json)", beside, hasKeys("do_sample|eos_token_id|max_new_tokens|_from_model_config")},
	{"a list of special tokens (special_tokens_map.json)", beside, hasKeys("bos_token|eos_token|unk_token|pad_token|cls_token|mask_token|additional_special_tokens")},
	{"a trainer's state (trainer_state.json)", beside, hasKeys("log_history|global_step")},
	{"a list of a pipeline's modules (modules.json)", beside, isModules},
}

// hasKeys fits an object that has a member of each of these names; | is or.
func hasKeys(all ...string) func(*head) bool {
	return func(h *head) bool {
		p := trimText(h.p)
		if !isJSON(h) || p[0] != '{' {
			return false
		}
		for _, any := range all {
			has := false
			for name := range bytes.SplitSeq([]byte(any), []byte("|")) {
				has = has || hasKey(p, name)
			}
			if !has {
				return false
			}
		}
		return true
	}
}

// hasKey looks for a member of the outermost object, as far as its text is there. Texts
// with escapes are compared as they stand.
func hasKey(p, name []byte) bool {
	depth, open := 0, -1 // where a text began
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case open >= 0 && c == '\\':
			i++
		case c != '"' && open >= 0:
		case c == '"' && open < 0:
			open = i + 1
		case c == '"':
			rest := bytes.TrimLeft(p[i+1:], " \t\r\n")
			if depth == 1 && bytes.Equal(p[open:i], name) && len(rest) > 0 && rest[0] == ':' {
				return true
			}
			open = -1
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// isModules knows the list that sentence-transformers keeps of its modules.
func isModules(h *head) bool {
	p := trimText(h.p)
	if !isJSON(h) || p[0] != '[' {
		return false
	}
	p = bytes.TrimLeft(p[1:], " \t\r\n")
	return !slices.ContainsFunc([]string{"idx", "path", "type"}, func(name string) bool { return !hasKey(p, []byte(name)) })
}
