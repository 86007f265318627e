package parser

import (
	"bytes"
	"slices"
)

// beside is the advice for files that accompany a model's weights.
const beside = "it is not a model itself: open the weights beside it, or their folder"

// modelTexts are JSON files of a model's folder, recognized by the members of their
// object. The first match counts.
var modelTexts = [...]foreign{
	{"a tokenizer's JSON (tokenizer.json)", beside, hasMembers("added_tokens", "version|model|truncation|normalizer")},
	{"an adapter's configuration (adapter_config.json)", beside, hasMembers("peft_type")},
	{"an index of shards (model.safetensors.index.json)", "it is opened by its path, beside its shards", hasMembers("weight_map")},
	{"a pipeline's or a component's configuration of diffusers (model_index.json, config.json)", beside, hasMembers("_class_name")},
	{"a tokenizer's configuration (tokenizer_config.json)", beside, hasMembers("tokenizer_class|added_tokens_decoder|chat_template|model_max_length")},
	{"a processor's configuration (preprocessor_config.json)", beside, hasMembers("image_processor_type|feature_extractor_type|video_processor_type|processor_class")},
	{"a model's configuration (config.json)", beside, hasMembers("model_type|architectures")},
	{"a quantization's configuration", beside, hasMembers("quant_method|quantization|quant_algo|group_size")},
	{"settings for generating text (generation_config.json)", beside, hasMembers("do_sample|eos_token_id|max_new_tokens|_from_model_config")},
	{"a list of special tokens (special_tokens_map.json)", beside, hasMembers("bos_token|eos_token|unk_token|pad_token|cls_token|mask_token|additional_special_tokens")},
	{"a trainer's state (trainer_state.json)", beside, hasMembers("log_history|global_step")},
	{"a list of a pipeline's modules (modules.json)", beside, isModules},
}

// hasMembers returns a matcher for objects that have a member for each argument; "a|b"
// means either.
func hasMembers(all ...string) func(*head) bool {
	return func(h *head) bool {
		p := trimText(h.p)
		if !isJSON(h) || p[0] != '{' {
			return false
		}
		for _, any := range all {
			has := false
			for name := range bytes.SplitSeq([]byte(any), []byte("|")) {
				has = has || hasMember(p, name)
			}
			if !has {
				return false
			}
		}
		return true
	}
}

// hasMember reports whether the outermost object has a member called name, in the part of
// the text that is there. Escapes are not resolved.
func hasMember(p, name []byte) bool {
	depth, open := 0, -1 // offset at which the current text began
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

// isModules matches the list of modules that sentence-transformers keeps.
func isModules(h *head) bool {
	p := trimText(h.p)
	if !isJSON(h) || p[0] != '[' {
		return false
	}
	p = bytes.TrimLeft(p[1:], " \t\r\n")
	return !slices.ContainsFunc([]string{"idx", "path", "type"}, func(name string) bool { return !hasMember(p, []byte(name)) })
}
