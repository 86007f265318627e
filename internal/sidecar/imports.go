package sidecar

import (
	"cmp"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// codeImport is the code of findings about names that a library imports because a
// configuration has them.
const codeImport = "sidecar.import"

// An importer is a rule about strings that a library uses as names of modules.
type importer struct {
	who string
	ok  func(text string) bool
}

// named returns a matcher for full names of classes in one of the packages.
func named(packages ...string) func(string) bool {
	return func(text string) bool {
		last := text[strings.LastIndexByte(text, '.')+1:]
		return within(text, packages...) && last != "" && 'A' <= last[0] && last[0] <= 'Z'
	}
}

// under returns a matcher for the packages and modules below them.
func under(packages ...string) func(string) bool {
	return func(text string) bool { return within(text, packages...) }
}

// within reports whether a name is in one of the packages and does not lead through
// anything that runs code.
func within(text string, packages ...string) bool {
	if !isPath(text) {
		return false
	}
	for _, p := range packages {
		if rest, ok := strings.CutPrefix(text, p); ok && (rest == "" || rest[0] == '.' && !runsCode(rest[1:])) {
			return true
		}
	}
	return false
}

// The names that libraries import and call when they read a configuration, and
// which of them are explained. Newer versions ask whether the model is trusted:
// sentence-transformers 6.0, PEFT 0.20 (by a list), mlx-lm 0.32, and diffusers for
// modules of the folder.
var (
	embedder   = importer{"sentence-transformers before 6.0 imports", named("sentence_transformers", "pylate")}
	activation = importer{"sentence-transformers imports and calls", named("torch.nn")}
	parent     = importer{"PEFT before 0.20 imports", under("transformers", "diffusers", "lerobot", "megatron", "timm", "__main__")}
	megatron   = importer{"PEFT imports", under("megatron")}
	component  = importer{"diffusers imports", isPipeline}
	server     = importer{"MLServer imports", func(text string) bool { return strings.HasPrefix(text, "mlserver") && isPath(text) && !runsCode(text) }}
	speech     = importer{"Coqui's TTS imports", under("TTS")}
	engine     = importer{"MMEngine, when it reads its configuration, imports", under("mmaction", "mmagic", "mmcls", "mmcv", "mmdet", "mmdet3d", "mmengine", "mmocr", "mmpose", "mmpretrain", "mmrotate", "mmseg", "mmyolo")}
	index      = importer{"mlflow.llama_index imports", named("llama_index")}
	grammarian = importer{"SetFit gives spacy.load, which imports,", isSpaCy}
	robot      = importer{"LeRobot imports and calls", under("lerobot")}
	kernel     = importer{"transformers downloads and runs the kernel", func(string) bool { return false }}
)

// imports judges a string by what libraries do with it, and reports whether one of them is known to read it. A string longer than any name
// counts as one with dots and slashes.
func (w *walk) imports(key string, k *kept, at int64) (bool, error) {
	file, text := w.file, k.text
	dots, slashes := k.isCut() || strings.Contains(text, "."), k.isCut() || strings.Contains(text, "/")
	switch {
	case file == "modules.json" && key == "type",
		key == "tokenizer_class" && dots,
		(file == "router_config.json" || file == "config.json") && w.below("types") && dots:
		return true, w.importOf(embedder, key, text, at)
	case dots && (key == "activation_function" || key == "activation_fn" || key == "sbert_ce_default_activation_function"):
		return true, w.importOf(activation, key, text, at)
	case key == "parent_library" && w.below("auto_mapping"):
		return true, w.importOf(parent, key, text, at)
	case key == "megatron_core":
		return true, w.importOf(megatron, key, text, at)
	case key == "model_file" && isCode(text):
		return true, w.report(codeImport, tensor.Danger, key, at, "mlx-lm before 0.32 runs "+wire.Quote(text))
	case key == "transformers_weights" && leaves(text):
		return true, w.once("sidecar.index-path", tensor.Danger, "", at, "transformers reads the weights from "+wire.Quote(text))
	case w.isComponents() && w.isComponent():
		return true, w.component(text, at)
	case slashes && w.chooses():
		if strings.HasSuffix(key, "_internal") {
			return true, w.reportCase("attention", codeImport, key, at, "transformers downloads and runs "+wire.Quote(text)+", without being told to trust it")
		}
		_, name, paged := strings.Cut(text, "|")
		if !paged {
			name = text
		}
		return true, w.importOf(kernel, key, name, at)
	}
	return false, nil
}

// chooses reports whether the current value is below a member that chooses an implementation.
func (w *walk) chooses() bool {
	for i := range w.open {
		if !w.open[i].list && strings.Contains(w.open[i].key, "implementation") {
			return true
		}
	}
	return false
}

// names judges a value by its key, for any library, and reports whether one of them is known to read
// it. Each of them is asked: a policy may lower what it makes of the value, and not what another does.
func (w *walk) names(key string, k *kept, at int64) (is bool, err error) {
	file, text := w.file, k.text
	if isObeyed(key, text) {
		is, err = true, cmp.Or(err, w.obeyed(key, text, at))
	}
	if who := w.leadsOut(key, text); who != "" {
		is, err = true, cmp.Or(err, w.once("sidecar.index-path", tensor.Danger, key, at, who+" "+wire.Quote(text)))
	}
	if key == "class" && strings.HasPrefix(file, "policy_") && strings.HasSuffix(file, "processor.json") {
		is, err = true, cmp.Or(err, w.importOf(robot, key, text, at))
	}
	if origins[key] && leadsOut(text) && !w.overwritten(file, key) {
		is, err = true, cmp.Or(err, w.once("sidecar.index-path", tensor.Warning, key, at, "transformers writes places of its own machine here, and some loaders read "+wire.Quote(text)))
	}
	if key == "spacy_model" {
		is, err = true, cmp.Or(err, w.importOf(grammarian, key, text, at))
	}
	if key == "object_constructor" && !index.ok(text) {
		is, err = true, cmp.Or(err, w.importOf(index, key, text, at))
	}
	if file == "model-settings.json" && key == "implementation" {
		is, err = true, cmp.Or(err, w.importOf(server, key, text, at))
	}
	if key == "characters_class" || key == "tokenizer_class" && w.below("characters") {
		is, err = true, cmp.Or(err, w.importOf(speech, key, text, at))
	}
	if isZarr(file) && (key == "id" || key == "name") && (text == "pickle" || text == "numcodecs.pickle") {
		is, err = true, cmp.Or(err, w.once("sidecar.pickle", tensor.Danger, key, at, "zarr unpickles the chunks of this array"))
	}
	if w.below("custom_imports") && w.below("imports") {
		is, err = true, cmp.Or(err, w.importOf(engine, "custom_imports", text, at))
	}
	if w.below("weightsManifest") && w.below("paths") && leaves(text) {
		is, err = true, cmp.Or(err, w.once("sidecar.index-path", tensor.Danger, "weightsManifest", at, "TensorFlow.js reads weights from "+wire.Quote(text)))
	}
	if file == "configuration.json" && w.below("plugins") {
		is, err = true, cmp.Or(err, w.once(codeImport, tensor.Danger, "plugins", at, "ModelScope installs and imports "+wire.Quote(text)+", older versions without being asked"))
	}
	if key == "value" && (w.below("externalData") || w.below("external_data")) {
		is, err = true, cmp.Or(err, w.externalData(text))
	}
	if key == "impl" && w.below("custom_pipelines") {
		is, err = true, cmp.Or(err, w.autoMap(text, at))
	}
	more, failed := w.namesAny(key, k, at)
	return is || more, cmp.Or(err, failed)
}

// namesAny judges a value that some library takes for code, whichever wrote the file.
func (w *walk) namesAny(key string, k *kept, at int64) (is bool, err error) {
	file, text := w.file, k.text
	if (key == "target" || key == "class_path") && callsCode(text) {
		is, err = true, cmp.Or(err, w.report("sidecar.target", tensor.Danger, key, at, "loaders of configurations call "+wire.Quote(text)+" with arguments of the file"))
	}
	if file == adapters && w.below("adapters") && text != "" {
		is, err = true, cmp.Or(err, w.expert(key, text, at))
	}
	if key != "content" && (w.inObject() || listsCode(w.listed(key))) && k.dotted && isReach(text) {
		is, err = true, cmp.Or(err, w.report(codeImport, tensor.Danger, wire.Quote(key), at, "a library that looks up what this names imports "+wire.Quote(text)))
	}
	if w.inObject() && isLibrary(key, k) {
		is, err = true, cmp.Or(err, w.report("sidecar.library", tensor.Danger, wire.Quote(key), at, "a runtime such as ONNX Runtime loads the library "+wire.Quote(text)))
	}
	if who := w.fetchesWord(key); who != "" && isHubWord(k) && !(key == "hf_model_name" && isOpenClip(text)) {
		is, err = true, cmp.Or(err, w.once(CodeUnexplained, tensor.Warning, wire.Quote(key), at, who+" fetches the model "+wire.Quote(text)+", or takes a folder of this name where it runs"))
	}
	return is, err
}

// leadsOut says what reads a file by a member whose text leads out of the folder, "" for nothing.
func (w *walk) leadsOut(key, text string) string {
	file := w.file
	switch {
	case (file == "modules.json" && key == "path" || key == "checkpoint_path" || w.below("file_path_metas")) && text != "" && leaves(text):
		return "its loader opens"
	case vocabularies[key] && leadsOut(text):
		return "its loader reads a vocabulary from"
	case (file == "special_tokens_map.json" || file == "tokenizer_config.json" && !origins[key] || w.below("tokenizer_args") || w.below("tokenizer_kwargs")) && strings.HasSuffix(key, "_file") && leadsOut(text):
		return "transformers hands it to the tokenizer, which reads"
	case key == "filename" && file == "genai_config.json" && leadsOut(text):
		return "ONNX Runtime GenAI reads a model from"
	case key == "filename" && (w.below("_data_files") || w.below("_indices_data_files")) && leadsOut(text):
		return "datasets.load_from_disk reads"
	}
	return ""
}

// codeLists are members whose lists name what a library imports. Other lists may be those of a vocabulary.
var codeLists = setOf("hooks callbacks imports plugins modules classes functions transforms steps handlers layers metrics losses")

func listsCode(key string) bool { return codeLists()[key] || imported()[key] }

// vocabularies are members by which a tokenizer finds its files if its folder has none, and
// origins those in which transformers writes where it read from itself.
var (
	vocabularies = map[string]bool{"vocab_file": true, "merges_file": true, "spm_file": true, "source_spm": true, "target_spm": true, "sentencepiece_model_file": true, "monolingual_vocab_file": true, "normalizer_file": true}
	origins      = map[string]bool{"tokenizer_file": true, "special_tokens_map_file": true, "name_or_path": true, "base_model_name_or_path": true}
)

// overwritten reports whether transformers sets a member itself before anything reads it: what
// a tokenizer was loaded from, and the special tokens that it found (_from_pretrained of
// tokenization_utils_base.py, 5.24).
func (w *walk) overwritten(file, key string) bool {
	return file == "tokenizer_config.json" && len(w.open) == 1 && (key == "name_or_path" || key == "special_tokens_map_file")
}

// leadsOut reports whether a path, with blanks in it or without, is not below a folder.
func leadsOut(path string) bool {
	if path == "" {
		return false
	}
	if len(path) >= maxText || strings.IndexByte(`/\~`, path[0]) >= 0 || strings.Contains(path, "://") || len(path) > 1 && path[1] == ':' {
		return true
	}
	for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		if part == ".." {
			return true
		}
	}
	return false
}

// isZarr reports whether zarr reads the description of an array in a file of this name.
func isZarr(file string) bool {
	return file == ".zarray" || file == ".zmetadata" || file == "zarr.json"
}

// inObject reports whether the current value is that of a member.
func (w *walk) inObject() bool { return len(w.open) > 0 && !w.open[len(w.open)-1].list }

// libraries are shared libraries that come with runtimes, and are named without a folder.
var libraries = setOf(`QnnHtp.dll QnnCpu.dll QnnGpu.dll libQnnHtp.so libQnnCpu.so libQnnGpu.so`)

// isLibrary reports whether a value is a file of machine code that a runtime loads.
func isLibrary(key string, k *kept) bool {
	if k.text == "" || libraries()[k.text] {
		return false
	}
	switch key {
	case "custom_ops_library", "backend_path":
		return true
	}
	low := strings.ToLower(k.end)
	if at := strings.LastIndex(low, ".so."); at >= 0 && strings.Trim(low[at+len(".so."):], ".0123456789") == "" {
		low = low[:at+len(".so")]
	}
	for _, end := range [...]string{".so", ".dll", ".dylib", ".pyd"} {
		if strings.HasSuffix(low, end) && !k.spaced && k.size > int64(len(end)) {
			return true
		}
	}
	return false
}

// member judges the name of a member.
func (w *walk) member(name string) error {
	delete(w.built, name) // of two, the last counts
	if trees := treesOf[name]; trees != "" {
		w.trees = trees
	}
	if len(w.open) == 1 {
		w.atRoot(name)
	}
	switch {
	case pickled[name]:
		return w.once(codeImport, tensor.Danger, name, w.off, "jsonpickle imports and calls what its members name")
	case name == "lc":
		w.open[len(w.open)-1].chained = true
	case name == ":serialized:":
		return w.once("sidecar.pickle", tensor.Danger, name, w.off, "Stable-Baselines3 unpickles what is kept here in base64")
	case len(w.open) == 4 && w.open[2].key == "type_hint" && w.isComponents():
		return w.report(codeImport, tensor.Danger, "type_hint", w.off, component.who+" "+wire.Quote(name))
	}
	return nil
}

// isComponents reports whether the file lists the components of a diffusers pipeline.
func (w *walk) isComponents() bool {
	file := w.file
	return file == "model_index.json" || file == "modular_model_index.json"
}

func (w *walk) importOf(p importer, key, text string, at int64) error {
	if p.ok(text) {
		return nil
	}
	return w.report(codeImport, tensor.Danger, key, at, p.who+" "+wire.Quote(text))
}

// isComponent reports whether the current value is one of the list that names a component.
func (w *walk) isComponent() bool {
	n := len(w.open)
	return (n == 2 || n == 4 && w.open[2].key == "type_hint") && w.open[n-1].list && w.open[n-1].key == ""
}

// component judges the library and the class that diffusers' index has for a component of
// a pipeline.
func (w *walk) component(text string, at int64) error {
	key := w.open[0].key
	if key == "_class_name" {
		return w.report(codeImport, tensor.Danger, key, at, "diffusers runs "+wire.Quote(text+".py")+" for the pipeline, older versions without being asked")
	}
	return w.importOf(component, key, text, at)
}

// baseOf returns a name without its folder, as some system opens it.
func baseOf(name string) string {
	return folder.Opened(name[strings.LastIndexAny(name, "/!")+1:])
}

// partsOf returns the parts of a path, of folders and archives, each as some system opens it.
func partsOf(name string) []string {
	parts := strings.FieldsFunc(name, func(c rune) bool { return c == '/' || c == '!' })
	for i := range parts {
		parts[i] = folder.Opened(parts[i])
	}
	return parts
}

// isCode reports whether name is that of a file that Python imports.
func isCode(name string) bool {
	if len(name) >= maxText { // its end may not have been kept
		return true
	}
	name = strings.ToLower(name)
	for _, end := range [...]string{".py", ".pyc", ".pyw", ".pyd", ".so"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// isPipeline reports whether diffusers takes components from a library, which may be a
// package of its own pipelines.
func isPipeline(text string) bool { return pipelines[text] }

// pickled are members of JSON in which jsonpickle names what it imports and calls.
var pickled = map[string]bool{
	"py/object": true, "py/type": true, "py/function": true, "py/reduce": true, "py/reduce_ex": true, "py/newargs": true, "py/newargsex": true,
	"py/initargs": true, "py/repr": true, "py/mod": true, "py/state": true, "py/ref": true, "py/seq": true, "py/iterator": true, "py/property": true,
}

// fiddle judges a reference to a Python object in a Fiddle configuration, which NeMo 2
// keeps with its checkpoints: the object is imported, and called when the model is built.
func (w *walk) fiddle(f *frame) error {
	module, name := f.kept["module"], f.kept["name"]
	text := module.text + "." + name.text
	switch {
	case f.twice != "":
		return w.report("sidecar.target", tensor.Danger, wire.Quote(name.text), module.off, f.ambiguous())
	case module.text == "builtins" && skopsBuiltins[name.text], within(text, "fiddle", "pathlib"):
		return nil
	case within(text, "nemo", "megatron", "torch", "lightning", "transformers", "nemo_run", "torchmetrics"):
		return w.once("sidecar.target", tensor.Warning, "", module.off, "NeMo calls what its configuration names, such as "+wire.Quote(text))
	}
	return w.report("sidecar.target", tensor.Danger, wire.Quote(name.text), module.off, "Fiddle imports "+wire.Quote(text)+", and calls it when the model is built")
}
