package sidecar

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// A grammar reports whether a text is what a member may have.
type grammar func(text string) bool

// A shape is what a member may hold: a text, a list of texts, or objects with texts.
type shape uint8

const (
	word shape = iota
	list
	tree
)

// An explained are members whose texts are more than words, the grammar of these texts, and what
// the libraries do with them.
type explained struct {
	members string // names, or endings behind an asterisk
	in      string // names of the texts that have them, as path.Match takes them
	of      string // the kind of folder, "" for all that have such a text
	under   string // the member around them, "" for any place
	holds   shape
	is      grammar
	why     string
}

// Texts with members that a row of this file explains.
const (
	configs   = "config.json"
	quantized = configs + " quantize_config.json quantization_config.json quant_config.json hf_quant_config.json"
	adapters  = "adapter_config.json"
	tokens    = "tokenizer_config.json processor_config.json preprocessor_config.json"
	mlmodel   = "mlmodel"
	// underQuantized is a member of a configuration; in a text of its own it is the root.
	underQuantized = "quantization_config"
)

// grammars are members whose texts have a grammar that names nothing outside of the folder and
// of the library's own tables.
var grammars = [...]explained{
	// Layers, by names and patterns: compared with names of modules, never imported.
	{"target_modules modules_to_save feedforward_modules target_modules_bd_a target_modules_bd_b", adapters, "PEFT", "", list, isLayers, "PEFT compares them with names of layers"},
	{"exclude_modules target_parameters layers_pattern", adapters, "PEFT", "", list, isPattern, "PEFT compares them with names of layers"},
	{"keys", adapters, "MLX", "lora_parameters", list, isPattern, "mlx-lm compares them with names of layers"},
	{layerMembers, quantized, "", underQuantized, list, isLayers, "compared with names of layers"},
	{layerMembers, quantized, "", "compression_config", list, isLayers, "compared with names of layers"},
	{"first_conv classifier", configs, "", "pretrained_cfg", list, isPattern, "timm compares them with names of layers"},
	// What quantized the model.
	{"uri", quantized, "", "meta", word, isQuantizer, "the page of what quantized the model, which nothing opens"},
	{"_type", quantized, "", "quant_type", word, isTorchAO, "torchao looks it up in its own table"},
	// Names of files in the folder, which a tokenizer opens there. One that leads out is a finding by itself.
	{"vocab_file merges_file spm_file source_spm target_spm sentencepiece_model_file monolingual_vocab_file normalizer_file tokenizer_file special_tokens_map_file", tokens, "", "", word, isInside, "tokenizers open the file in their folder"},
	{"fast_tokenizer_files", "tokenizer_config.json", "", "", list, isTokenizer, "transformers opens that of its version in place of tokenizer.json"},
	{"cmvn_file", configs, "", "", word, isPlainFile, "FireRedASR opens the file in its folder"},
	{"repo_path", tokens, "", "", word, isOneFormer, "the default of OneFormer's processor: a set of data with names of classes"},
	// Names in a library's own table.
	{"hf_model_name", "open_clip_config.json open_clip_model_config.json", "", "", word, isOpenClip, "open_clip's own configurations have these"},
	{"backbone hf_model_name architecture vision_encoder vision_tower model_name timm_model_name", configs + " open_clip_config.json open_clip_model_config.json", "", "", word, isTagged, "timm and open_clip look it up in their tables"},
	{"language_codes src_lang tgt_lang", tokens, "", "", list, isLanguage, "tokenizers make tokens of them"},
	{"torch_dtype dtype *_dtype", "", "", "", word, isDType, "looked up in torch"},
	// MLflow's MLmodel: files of the folder, and types.
	{"artifact_path data pickled_model model_path model_data model_binary path_to_model weights virtualenv conda env checkpoint_path saved_model_dir onnx_type", mlmodel, "", "", list, isInside, "MLflow joins it with the folder"},
	{"loader_module", mlmodel, "", "", word, isMLflow, "MLflow imports it; judged by itself"},
	// What trains a model of NeMo, FunASR or GLiNER again: a model that is loaded does not read it.
	{"manifest_filepath tarred_audio_filepaths tarred_audio_shard_strategy dir exp_dir input_cfg train_ds validation_ds test_ds shar_path cuts_path lhotse_cfg file_path noise_manifest_path rir_manifest_path", "model_config.yaml", "NeMo", "", list, isNoCommand, "NeMo reads them to train the model, not when it restores it"},
	{"train_data_set_list valid_data_set_list output_dir dataset_dir", "config.yaml", "FunASR", "", list, isInside, "FunASR reads them to train the model"},
	{"train_data val_data val_data_dir prev_path log_dir root_dir", "gliner_config.json", "GLiNER", "", word, isInside, "GLiNER keeps what trained the model, and does not read it"},
	// Files of the folder, by which pipelines find their parts.
	{"cmvn_file init_param token_list bpemodel seg_dict config tokenizer_conf frontend_conf jieba_usr_dict", "config.yaml configuration.json", "FunASR", "", list, isInside, "FunASR joins it with the folder"},
	{"target _target_ _partial_", "model_config.yaml", "NeMo", "", word, isNeMo, "NeMo's own classes; judged by themselves"},
	{"model_path vocab_path tokenizer_model vocab_file merges_file spe_tokenizer_vocab", "model_config.yaml", "NeMo", "", word, isArtifact, "NeMo reads it from where it unpacks the model"},
	{"checkpoint pipeline_file", "model-config.yaml", "TorchServe", "", word, isPlainFile, "TorchServe's handlers join it with the folder"},
	// Classes of the library itself, and its modules; judged by themselves.
	{"name", "config.yaml", "pyannote", "", word, named("pyannote"), "pyannote's own pipelines"},
	{"segmentation embedding plda", "config.yaml", "pyannote", "", word, isOfModel, "pyannote puts the folder in place of $model"},
	{"module", "model.yaml", "", "", word, isBento, "BentoML's own modules"},
	// Sections of the same config.cfg, and what lies between words.
	{"dev_corpus train_corpus corpus", "config.cfg", "spaCy", "", word, isCorpus, "spaCy looks it up in its own configuration"},
	{"ent_id_sep", "cfg", "spaCy", "", word, isSeparator, "spaCy's rules put it between two words"},
	// What Ultralytics says of what it exported, in texts that it writes always alike.
	{"license docs description author data model cfg project name save_dir", "metadata.yaml args.yaml", "Ultralytics", "", list, isUltralytics, "Ultralytics writes it for people"},
	// What made the model, which is read to make it again.
	{"model base_model filter tokenizer_source source", "mergekit_config.yml mergekit_config.yaml", "", "", word, isRepository, "mergekit reads it to merge again, not when the model is loaded"},
	{"targets ignore scheme mappings", "recipe.yaml", "", "", list, isPattern, "llm-compressor compares them with names of layers"},
	// What mlx-lm trained an adapter with, which it keeps with the adapter and does not read.
	{"data adapter_path", adapters, "MLX", "", word, isInside, "mlx-lm's loader does not read it"},
}

// layerMembers are members of quantizers that take names of layers.
const layerMembers = "modules_to_not_convert modules_to_convert llm_int8_skip_modules skip_modules ignore ignored_layers ignored_modules linear_weights_not_to_quantize " +
	"block_name_to_quantize modules_in_block_to_quantize module_name_preceding_first_block exclude exclude_modules targets kv_cache_group"

// exceptions are members whose text may name something, and passes: there are at most twenty, with
// those of repositories, and each has its line in crosscheck/sinks/sinks.jsonl.
var exceptions = [...]explained{
	{"content", tokens, "", "", word, anything, "a token: tokenizers look it up in the vocabulary"},
	{"*_token", tokens, "", "", word, anything, "a token: tokenizers look it up in the vocabulary"},
	{"additional_special_tokens", tokens, "", "", list, anything, "tokens: tokenizers look them up in the vocabulary"},
	{"extra_special_tokens", tokens, "", "", tree, anything, "tokens: tokenizers look them up in the vocabulary"},
	{"stop_strings", "generation_config.json", "", "", list, anything, "texts at which generation ends"},
	{"id2label", configs, "", "", tree, anything, "what an output is called"},
	{"_name_or_path", "", "", "", word, anything, "where a configuration came from: loaders overwrite it"},
	{"best_model_checkpoint", "trainer_state.json", "", "", word, anything, "where the trainer saved, which it writes and only a training that goes on reads"},
	{"dataset", quantized, "", underQuantized, list, isNoCommand, "what calibrated the model: read when it is quantized, not when it is loaded"},
	{"pretrained_cfg", configs, "", "", tree, isNote, "timm leaves its addresses aside for a model from a hub or a folder; its notes are for people"},
	{"hf_hub_id", configs, "", "pretrained_cfg", word, isRepository, "timm overwrites it with where it loads from"},
	// Models of which a model is a part, which from_pretrained fetches without their code.
	{"base_model_name_or_path", adapters, "PEFT", "", word, anything, "PEFT's base model: an adapter is nothing without it"},
	{"mm_vision_tower", configs, "", "", word, isRepository, "LLaVA's vision model"},
	{"hf_tokenizer_name", "open_clip_config.json open_clip_model_config.json", "", "", word, isRepository, "open_clip's tokenizer"},
}

// repositories are exceptions too, by which libraries fetch another model: a warning, which the
// profiles upload and strict refuse.
var repositories = [...]explained{
	{"backbone", configs, "", "", word, isOwned, "DETR's backbone"},
	{"vlm_model_name", configs, "", "", word, isOwned, "LeRobot's language model"},
	{"name_or_path", configs, "", "verifier", word, isOwned, "the model that a draft model of vLLM is for"},
	{"repo", "modular_model_index.json", "", "", word, isOwned, "diffusers' component of a modular pipeline"},
	{"tokenizer_name_or_path", adapters, "PEFT", "", word, isOwned, "PEFT's tokenizer of a text that begins a prompt"},
	{"model", adapters, "MLX", "", word, isOwned, "mlx-lm's base model"},
}

// shown are members of texts that no library is known to read, whose texts are for people.
var shown = setOf("license description tags citation notes homepage homepage_url documentation documentation_url license_link license_url paper_url origin_url " +
	"train_dataset train_datasets datasets labels class_names label_names")

// A row is one of the tables, in the form in which it is looked up.
type row struct {
	*explained
	texts []string
	kinds Folder
}

// rowsOf returns a function that looks up the rows of a table by the name of a member.
func rowsOf(table []explained) func(key string) []row {
	byName := sync.OnceValue(func() map[string][]row {
		out := map[string][]row{}
		for i := range table {
			for _, name := range strings.Fields(table[i].members) {
				out[name] = append(out[name], row{&table[i], strings.Fields(table[i].in), kindOf(table[i].of)})
			}
		}
		return out
	})
	return func(key string) []row {
		rows := byName()[key]
		if i := strings.LastIndexByte(key, '_'); i >= 0 {
			rows = slices.Concat(rows, byName()["*"+key[i:]])
		}
		return rows
	}
}

var (
	grammarRows    = rowsOf(grammars[:])
	exceptionRows  = rowsOf(exceptions[:])
	repositoryRows = rowsOf(repositories[:])
)

// inText reports whether a row is about texts of a name. A text that no library is known to read
// may be one of any, but not of those that are known by their root.
func (r *row) inText(file string, known bool) bool {
	if len(r.texts) == 0 || !known && !(r.of == "" && rootMembers[r.texts[0]] != nil) {
		return true
	}
	return slices.ContainsFunc(r.texts, func(pattern string) bool {
		is, _ := path.Match(pattern, file)
		return is
	})
}

// A place is the path to a text: the members around it, the innermost first, and for each what lies
// between it and the text (an object, a list or a tree of both).
type place struct {
	keys []string
	gaps []shape
}

// place returns the path to the current value.
func (w *walk) place() place {
	gap, p := word, place{make([]string, 0, len(w.open)), make([]shape, 0, len(w.open))}
	for i := len(w.open) - 1; i >= 0; i-- {
		if w.open[i].list {
			gap = max(gap, list)
			continue
		}
		p.keys, p.gaps = append(p.keys, w.open[i].key), append(p.gaps, gap)
		gap = tree
	}
	return p
}

// explains reports whether a row explains a text for one of the members around it, the innermost
// first.
func (r *reader) explains(rows func(string) []row, p place, text string) bool {
	for i, key := range p.keys {
		for _, row := range rows(key) {
			if row.inText(r.file, r.known != nil) && (row.of == "" || row.kinds&r.kinds != 0) && p.gaps[i] <= row.holds && r.isUnder(row.under, p.keys[i+1:]) && row.is(text) {
				return true
			}
		}
	}
	return false
}

// isUnder reports whether a member is one of those around a value. A file of a quantizer has at its
// root what other files have below quantization_config.
func (r *reader) isUnder(name string, around []string) bool {
	if name == "" || slices.Contains(around, name) {
		return true
	}
	return name == underQuantized && r.file != configs && r.known != nil
}

func anything(string) bool { return true }

func isNoCommand(text string) bool { return !isCommand(text) }

func isLink(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// isNote reports whether a text is an address, or words that contain one.
func isNote(text string) bool {
	_, words, _ := strings.Cut(text, " ")
	return isLink(text) || strings.Contains(words, "://") && !strings.ContainsAny(text, "{`$") && !namesInside(text)
}

// isUltralytics reports whether a text is one that Ultralytics writes about a model: words, a path, the
// addresses of its own pages.
func isUltralytics(text string) bool {
	text = strings.ReplaceAll(strings.ReplaceAll(text, " (https://ultralytics.com/license)", ""), "https://docs.ultralytics.com", "")
	return !isCommand(text) && !calls(text) && !imports(text)
}

// isCorpus reports whether a text is a section of a config.cfg with a set of texts.
func isCorpus(text string) bool {
	name, ok := strings.CutPrefix(text, "corpora.")
	return ok && isNames(name) && !strings.Contains(name, ".") && !namesInside(name)
}

// isSeparator reports whether a text is marks alone.
func isSeparator(text string) bool { return len(text) < 4 && strings.Trim(text, "|-_:/") == "" }

// isOfModel reports whether a text is a folder in that of the model, as pyannote writes it.
func isOfModel(text string) bool {
	name, ok := strings.CutPrefix(text, "$model/")
	return ok && isNames(name) && !strings.Contains(name, ".")
}

// isBento reports whether a text is a module by which BentoML loads a model of a library.
func isBento(text string) bool { return within(text, "bentoml") }

// isNeMo reports whether a text is a class of NeMo's collections, or of what computes in PyTorch.
func isNeMo(text string) bool {
	return named("nemo.collections", "nemo.core.optim", "torch.nn", "torch.optim")(text) && !callsCode(text)
}

// isArtifact reports whether a text is a file that NeMo keeps in a model, or one of the folder.
func isArtifact(text string) bool { return isPlainFile(strings.TrimPrefix(text, "nemo:")) }

// isQuantizer reports whether a text is the address of a tool that quantizes and writes it.
func isQuantizer(text string) bool {
	text = strings.ToLower(strings.TrimSuffix(text, "/"))
	return text == "https://github.com/modelcloud/gptqmodel" || text == "https://github.com/intel/auto-round"
}

// isTorchAO reports whether a text is a type that torchao writes with a module.
func isTorchAO(text string) bool { return text == "torch.dtype" }

// isInside reports whether a text is a path in the folder, and no code.
func isInside(text string) bool {
	return !leadsOut(text) && !isCommand(text) && !isCode(text) && !strings.ContainsAny(text, ";&|<>")
}

// isPlainFile reports whether a text is the name of a file in the folder at hand.
func isPlainFile(text string) bool {
	return isInside(text) && !strings.ContainsAny(text, `/\:`) && strings.Trim(text, ". ") != ""
}

// isTokenizer reports whether a text is a name by which transformers opens a tokenizer in the folder.
func isTokenizer(text string) bool { return text == "tokenizer.json" || isVersioned(text) }

// isTagged reports whether a text is the name of a model in a table such as timm's, with the tag
// of its weights: vit_base_patch16_224.augreg_in21k.
func isTagged(text string) bool {
	name, tag, _ := strings.Cut(text, ".")
	return isPath(text) && strings.ToLower(text) == text && strings.ContainsAny(name, "0123456789") && strings.Contains(name, "_") &&
		!strings.Contains(tag, ".") && !namesInside(text) && !callsCode(text) && !isReach(text)
}

// openClips are the repositories of text models in the configurations of open_clip 3.3.0.
var openClips = setOf("roberta-base xlm-roberta-base xlm-roberta-large google/mt5-base google/mt5-xl facebook/nllb-200-distilled-600M facebook/nllb-200-distilled-1.3B")

// isOneFormer reports whether a text is the set of data that transformers writes for OneFormer.
func isOneFormer(text string) bool { return text == "shi-labs/oneformer_demo" }

func isOpenClip(text string) bool { return openClips()[text] }

// isOwned reports whether a text is the name of a repository of a hub, owner/name.
func isOwned(text string) bool { return strings.Contains(text, "/") && isRepository(text) }

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

// isLayers reports whether a text is a name of layers or a pattern for such names, and no path.
func isLayers(text string) bool { return !strings.ContainsAny(text, "/;&` ") && !isCommand(text) }

// isPattern is isLayers for members that are not given classes: it has no capital letter.
func isPattern(text string) bool { return strings.ToLower(text) == text && isLayers(text) }
