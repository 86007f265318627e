package sidecar

import "strings"

// explainedKeys are members whose texts are known to be names, and judged or not followed:
// where a model came from, its layers, its labels, its words.
var explainedKeys = map[string]bool{
	"name_or_path": true, "base_model_name_or_path": true, "target_modules": true, "modules_to_not_convert": true, "modules_to_save": true, "hf_hub_id": true,
	"ignore": true, "id2label": true, "content": true, "license": true, "extra_special_tokens": true, "special_tokens_map_file": true, "tokenizer_file": true,
	"additional_special_tokens": true, "tags": true, "label2id": true, "ignored_layers": true, "description": true,
	"labels": true, "class_names": true, "label_names": true, "stop_strings": true, "stop": true, "train_dataset": true, "train_datasets": true, "datasets": true,
}

// quantizers are members that describe how weights were quantized: their names are layers,
// data sets and kinds.
var quantizers = map[string]bool{"quantization_config": true, "compression_config": true}

// documents are members with an address that people read.
var documents = map[string]bool{
	"origin_url": true, "homepage": true, "homepage_url": true, "documentation": true, "documentation_url": true, "license_link": true, "license_url": true,
	"paper_url": true, "citation": true, "pretrained_cfg": true, // of timm, which leaves its addresses aside for a model from a hub
}

// explains reports whether a member explains a text below it.
func explains(key, text string, outermost bool) bool {
	switch {
	case explainedKeys[key], vocabularies[key], strings.HasSuffix(key, "_token"), key == "_name_or_path" && outermost:
		return true
	case quantizers[key]:
		return !isCommand(text)
	case namesLayers(key):
		return isPattern(text)
	case documents[key]:
		return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
	}
	return false
}

// isCommand reports whether a text is more than names, whatever its member is for.
func isCommand(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "${") || strings.Contains(text, "$(") || strings.Contains(text, "://") ||
		strings.ContainsAny(text, "`") || namesInside(text) || isPacked(text)
}

// namesLayers reports whether a member chooses layers or weights by their names.
func namesLayers(key string) bool {
	switch key {
	case "targets", "exclude", "ignore", "first_conv", "classifier":
		return true
	}
	if strings.Contains(key, "import") || strings.Contains(key, "custom") {
		return false
	}
	return strings.Contains(key, "modules") || strings.Contains(key, "parameters") || strings.Contains(key, "layers")
}

// isPattern reports whether a text is a name of layers or a pattern for such names, and none
// of a class or a path.
func isPattern(text string) bool {
	return strings.ToLower(text) == text && !strings.ContainsAny(text, "/;&` ") && !isCommand(text)
}

// parts are what modules are called in the models of libraries.
var parts = setOf(`layers layer blocks block self_attn attn attention mlp embed embeddings embed_tokens patch_embed lm_head experts
	vision_tower vision_model language_model text_model head norm`)

// namesLayer reports whether a text is the name of a layer of a model: one of its parts is a
// number or what libraries call a module, and none begins with a capital letter as classes do.
func namesLayer(text string) bool {
	if strings.ToLower(text) != text || runsCode(text) || callsCode(text) {
		return false
	}
	for part := range strings.SplitSeq(text, ".") {
		if parts()[part] || strings.HasSuffix(part, "_proj") || part != "" && strings.Trim(part, "0123456789") == "" {
			return true
		}
	}
	return false
}
