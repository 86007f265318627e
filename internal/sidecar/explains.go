package sidecar

import (
	"strings"
	"sync"
)

// A grammar reports whether a text is what a member may have.
type grammar func(text string) bool

// An explained are members whose texts are more than words, the grammar of these texts, and what
// the libraries do with them.
type explained struct {
	members string // names, or endings behind an asterisk
	is      grammar
	why     string
}

// explanations are tried in order, for each member that a text is below. A text of any words is
// explained where a library looks it up in what the same folder has, or shows it to people.
var explanations = [...]explained{
	// Words of a vocabulary and of a list are data.
	{"content *_token additional_special_tokens extra_special_tokens stop_strings stop", anything, "tokenizers look them up in the vocabulary"},
	{"id2label label2id labels class_names label_names", anything, "what an output is called"},
	// Where a model came from.
	{"base_model_name_or_path tokenizer_file special_tokens_map_file hf_hub_id", anything, "loaders overwrite it, or read a path that leads out of the folder, which is a finding by itself"},
	{"vocab_file merges_file spm_file source_spm target_spm sentencepiece_model_file monolingual_vocab_file normalizer_file", isInside, "tokenizers open the file in their folder"},
	{"train_dataset train_datasets datasets", anything, "a card of the model"},
	// Models that LLaVA and open_clip write by themselves into what is published, and that
	// from_pretrained fetches without code.
	{"mm_vision_tower mm_audio_tower hf_tokenizer_name", isRepository, "from_pretrained fetches the model, without its code"},
	{"hf_model_name", isOpenClip, "open_clip's own configurations have these"},
	{"backbone hf_model_name architecture vision_encoder vision_tower model_name timm_model_name", isTagged, "timm and open_clip look it up in their tables"},
	{"language_codes src_lang tgt_lang", isLanguage, "tokenizers make tokens of them"},
	// For people.
	{"license description tags citation notes", anything, "shown to people"},
	{"origin_url homepage homepage_url documentation documentation_url license_link license_url paper_url", isLink, "shown to people"},
	{"pretrained_cfg", isLink, "timm leaves its addresses aside for a model from a hub"},
	// Layers, by names and patterns.
	{"target_modules modules_to_not_convert modules_to_save ignore ignored_layers", isNoCommand, "compared with names of layers"},
	{"quantization_config compression_config", isNoCommand, "compared with names of layers; data sets and kinds"},
	{"targets exclude first_conv classifier", isPattern, "compared with names of layers"},
	// MLflow's MLmodel: files of the folder, and types.
	{"artifact_path data pickled_model model_path model_data model_binary path_to_model weights virtualenv conda env checkpoint_path saved_model_dir onnx_type", isInside, "MLflow joins it with the folder"},
	{"loader_module", isMLflow, "MLflow imports it; judged by itself"},
	{"torch_dtype dtype *_dtype", isDType, "looked up in torch"},
}

// explanationsOf has the explanations of a name of a member.
var explanationsOf = sync.OnceValue(func() map[string][]grammar {
	out := map[string][]grammar{}
	for _, e := range explanations {
		for _, name := range strings.Fields(e.members) {
			out[name] = append(out[name], e.is)
		}
	}
	return out
})

// explains reports whether a member explains a text below it.
func explains(key, text string, outermost bool) bool {
	if outermost && (key == "name_or_path" || key == "_name_or_path") || strings.HasSuffix(key, "_file") && isPlainFile(text) {
		return true
	}
	table := explanationsOf()
	for _, is := range table[key] {
		if is(text) {
			return true
		}
	}
	if i := strings.LastIndexByte(key, '_'); i >= 0 {
		for _, is := range table["*"+key[i:]] {
			if is(text) {
				return true
			}
		}
	}
	return namesLayers(key) && isPattern(text)
}

func anything(string) bool { return true }

func isNoCommand(text string) bool { return !isCommand(text) }

func isLink(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// isInside reports whether a text is a path in the folder, and no code.
func isInside(text string) bool {
	return !leadsOut(text) && !isCommand(text) && !isCode(text) && !strings.ContainsAny(text, ";&|<>")
}

// isPlainFile reports whether a text is the name of a file in the folder at hand.
func isPlainFile(text string) bool {
	return isInside(text) && !strings.ContainsAny(text, `/\:`) && strings.Trim(text, ". ") != ""
}

// isTagged reports whether a text is the name of a model in a table such as timm's, with the tag
// of its weights: vit_base_patch16_224.augreg_in21k.
func isTagged(text string) bool {
	name, tag, _ := strings.Cut(text, ".")
	return isPath(text) && strings.ToLower(text) == text && strings.ContainsAny(name, "0123456789") && strings.Contains(name, "_") &&
		!strings.Contains(tag, ".") && !namesInside(text) && !callsCode(text) && !isReach(text)
}

// openClips are the repositories of text models in the configurations of open_clip 3.3.0.
var openClips = setOf("google/mt5-base google/mt5-xl facebook/nllb-200-distilled-600M facebook/nllb-200-distilled-1.3B")

func isOpenClip(text string) bool { return openClips()[text] }

// isOwned reports whether a text is the name of a repository of a hub, owner/name.
func isOwned(text string) bool { return strings.Contains(text, "/") && isRepository(text) }

// fetchingEnds are the ends of members under which libraries look for another model.
var fetchingEnds = [...]string{"model", "model_name", "model_id", "name_or_path", "repo_id", "repo", "backbone", "_tower", "tokenizer_name"}

// fetches reports whether a library may fetch a model that a member names.
func fetches(key, text string) bool {
	for _, end := range fetchingEnds {
		if strings.HasSuffix(key, end) && isOwned(text) {
			return true
		}
	}
	return false
}

func isMLflow(text string) bool { return within(text, "mlflow") }

// isDType reports whether a text is a type of numbers of PyTorch.
func isDType(text string) bool { return isType(strings.TrimPrefix(text, "torch.")) }

// isRepository reports whether a text is the name of a model of a hub, owner/name, or of a table
// such as timm's, which has digits in it.
func isRepository(text string) bool {
	owner, name, owned := strings.Cut(text, "/")
	if len(text) > 200 || isCode(text) || owned && !isRepositoryPart(owner) || owned && !isRepositoryPart(name) {
		return false
	}
	return owned || isRepositoryPart(text) && strings.ContainsAny(text, "0123456789")
}

func isRepositoryPart(text string) bool {
	return text != "" && text[0] != '.' && text[0] != '-' && !strings.Contains(text, "..") && isNames(strings.ReplaceAll(text, "-", "_"))
}

// isLanguage reports whether a text is a code of a language, such as en_XX or __java__.
func isLanguage(text string) bool {
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "__"), "__")
	return inner != "" && len(inner) < 24 && !strings.ContainsAny(inner, ".") && isNames(strings.ReplaceAll(inner, "-", "_")) && !strings.Contains(inner, "__")
}

// isCommand reports whether a text is more than names, whatever its member is for.
func isCommand(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "${") || strings.Contains(text, "$(") || strings.Contains(text, "://") ||
		strings.ContainsAny(text, "`") || namesInside(text) || isPacked(text)
}

// namesLayers reports whether a member chooses layers or weights by their names.
func namesLayers(key string) bool {
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
