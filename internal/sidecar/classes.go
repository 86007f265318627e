package sidecar

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// keptKeys are members whose strings are kept until the end of their object, which judges
// them.
var keptKeys = map[string]bool{
	"class_name": true, "module": true, "config": true, "registered_name": true, // Keras
	"vocabulary": true,                                         // of a layer of Keras
	"__class__":  true, "__module__": true, "__loader__": true, // skops
	"type": true, "name": true, // Fiddle
	"__kind__": true, "class": true, // GluonTS
	"backbone": true, // of transformers, by use_timm_backbone
}

// keeps reports whether the end of an object judges the current value.
func (w *walk) keeps(key string) bool {
	return w.inObject() && (keptKeys[key] || w.fetchKey(key) || w.isPrompt(key))
}

// keep remembers a string of an object. Of two with one name a reader may take the first, so the object
// is judged with that before.
func (w *walk) keep(key, text string, at int64) error {
	f := &w.open[len(w.open)-1]
	if _, twice := f.kept[key]; twice {
		f.twice = key
		if err := w.object(f); err != nil {
			return err
		}
		f.key = key
	}
	if f.kept == nil {
		f.kept = map[string]value{}
	}
	f.kept[key] = value{text: strings.Clone(text), off: at}
	return nil
}

// said notes that a library is known to read the current value, which was kept.
func (w *walk) said(key string) {
	f := &w.open[len(w.open)-1]
	v := f.kept[key]
	v.said = true
	f.kept[key] = v
}

// object judges an object by its strings, as each library that builds something from such an object:
// what marks it for one of them does not keep another from it.
func (w *walk) object(f *frame) (err error) {
	if f.kept == nil {
		return nil
	}
	if words, ok := f.kept["vocabulary"]; ok && len(w.open) > 1 {
		if outer := &w.open[len(w.open)-2]; outer.key == "config" && !outer.list {
			outer.words = words
		}
	}
	built := false
	if _, ok := f.kept["__loader__"]; ok {
		built, err = true, cmp.Or(err, w.skops(f))
	}
	if _, ok := f.kept["class_name"]; ok {
		built, err = true, cmp.Or(err, w.keras(f))
	}
	if _, ok := f.kept["__kind__"]; ok {
		built, err = true, cmp.Or(err, w.gluon(f))
	}
	if _, ok := f.kept["module"]; ok && (f.kept["type"].text == "pyref" || f.twice == "type") {
		built, err = true, cmp.Or(err, w.fiddle(f))
	}
	if f.chained {
		err = cmp.Or(err, w.langchain(f))
	}
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(f.kept)) {
		if outer := len(w.open) - 2; key == "vocabulary" && outer >= 0 && w.open[outer].key == "config" {
			continue // the layer around it judges this
		}
		v := f.kept[key]
		if v.said || w.readsNone(f, key) {
			continue
		}
		f.key = key // where it stands, and not the last member of the object
		if is, err := w.fetches(f, key, v); err != nil {
			return err
		} else if is || built {
			continue
		}
		k := kept{text: v.text, size: int64(len(v.text))}
		if err := w.unexplained(key, &k, v.off); err != nil {
			return err
		}
	}
	return nil
}

// langchain judges an object that says by its member "lc" that LangChain wrote it: langchain_core.load
// builds the class that one of type "constructor" names, with arguments of the file, and puts a
// variable of the environment in the place of one of type "secret" (CVE-2025-68664).
func (w *walk) langchain(f *frame) error {
	of := f.kept["type"]
	does := map[string]string{"constructor": "LangChain imports the class that this names, and calls it with arguments of the file", "secret": "LangChain puts the variable of the environment here that this names"}
	why := does[of.text]
	if f.twice == "type" {
		why = f.ambiguous()
	}
	if why == "" {
		return nil
	}
	return w.once(codeImport, tensor.Danger, "lc", of.off, why)
}

// arrays are the NumPy and pandas classes that GluonTS constructs.
var arrays = setOf("numpy.dtype numpy.array numpy.datetime64 pandas.Timestamp pandas.Period")

// gluon judges an object from which GluonTS builds what its member "class" names.
func (w *walk) gluon(f *frame) error {
	class := f.kept["class"]
	if f.twice == "" && (arrays()[class.text] || within(class.text, "gluonts", "torch.nn", "torch.distributions") || strings.HasPrefix(class.text, "pandas.tseries.offsets.") && isPath(class.text)) {
		return nil
	}
	return w.report(codeImport, tensor.Danger, wire.Quote(class.text), class.off, "GluonTS looks up "+wire.Quote(class.text)+", and calls it with arguments of the file")
}

// ambiguous returns why readers could read an object differently, or "".
func (f *frame) ambiguous() string {
	return "the member " + wire.Quote(f.twice) + " appears twice: readers differ in which one they take"
}

// kerasCode are Keras classes that run code which a file holds or names.
var kerasCode = map[string]string{
	"Lambda": "runs Python bytecode of the file", "__lambda__": "is Python bytecode of the file",
	"TorchModuleWrapper": "unpickles a module of the file", "TFSMLayer": "loads another model by its path",
	"TFOpLambda": "calls a function of TensorFlow that the file names", "SlicingOpLambda": "calls a function of TensorFlow that the file names",
	"ClassMethod": "calls a method that the file names", "InstanceMethod": "calls a method that the file names", "InstanceProperty": "asks for an attribute that the file names",
}

// kerasNames are the names that Keras looks up without a module.
var kerasNames = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(kerasTable) {
		if line[0] != '#' {
			set[strings.TrimSpace(line)] = true
		}
	}
	return set
})

//go:embed keras.txt
var kerasTable string

// kerasModules are the modules of Keras classes that only compute. A module with a final
// dot includes all modules below it.
var kerasModules = []string{
	"keras", "keras.layers", "keras.activations", "keras.initializers", "keras.regularizers", "keras.constraints", "keras.losses",
	"keras.metrics", "keras.optimizers", "keras.optimizers.schedules", "keras.models", "keras.dtype_policies", "keras.mixed_precision", "keras.quantizers",
	"keras.src.models.", "keras.src.layers.", "keras.src.ops.", "keras.src.activations.", "keras.src.initializers.", "keras.src.optimizers.",
	"keras.src.losses.", "keras.src.metrics.", "keras.src.dtype_policies.",
	"keras.src.backend.torch.optimizers.", // where Keras 3 says that its optimizers are from, with torch as its backend
}

// keras judges what Keras builds from an object: a class or function of a module that it
// imports for it.
func (w *walk) keras(f *frame) (err error) {
	class, module := f.kept["class_name"], f.kept["module"]
	where := wire.Quote(class.text)
	if f.twice != "" {
		err = cmp.Or(err, w.report("sidecar.keras-module", tensor.Danger, where, class.off, f.ambiguous()))
	}
	if f.words.text != "" {
		err = cmp.Or(err, w.report("sidecar.keras-file", tensor.Danger, where, f.words.off, "Keras opens "+wire.Quote(f.words.text)+" for the words of a layer"))
	}
	if why := kerasCode[class.text]; why != "" {
		err = cmp.Or(err, w.report("sidecar.keras-code", tensor.Danger, where, class.off, "the class "+where+" "+why))
	} else if module.text == "" && strings.ContainsAny(class.text, ".>/") && !isRegistered(class.text) {
		err = cmp.Or(err, w.report("sidecar.keras-module", tensor.Danger, where, class.off, "Keras looks up "+where+" without a module that says where it is from"))
	} else if module.text == "" && !kerasNames()[class.text] && !isRegistered(class.text) {
		err = cmp.Or(err, w.once(CodeUnexplained, tensor.Warning, where, class.off, "Keras 2 and 3 have no class "+where+", and no module says where it is from: it is what the program that loads the model has under this name"))
	}
	name, function := class.text, false
	if fn := f.kept["config"]; name == "function" && fn.text != "" {
		name, function = fn.text, true
	}
	if why := kerasReaches(module.text, name, function); why != "" {
		err = cmp.Or(err, w.report("sidecar.keras-module", tensor.Danger, wire.Quote(name), class.off, why))
	}
	if module.text == "" || inModules(kerasModules, module.text) {
		return err
	}
	return cmp.Or(err, w.report("sidecar.keras-module", tensor.Danger, wire.Quote(name), module.off,
		"Keras imports the module "+wire.Quote(module.text)+" for "+wire.Quote(name)+": no part of what builds layers of numbers"))
}

// isRegistered reports whether a name is that of a class of Keras as tf_keras registers it and writes it in
// an HDF5 file, Custom>Adam: the loader takes it from what was registered, and imports nothing.
func isRegistered(name string) bool {
	class, is := strings.CutPrefix(name, "Custom>")
	return is && kerasNames()[class] && 'A' <= class[0] && class[0] <= 'Z' && kerasCode[class] == ""
}

// kerasFunctions are the modules whose functions only compute, but for kerasBuilders.
var kerasFunctions = []string{
	"keras.activations", "keras.losses", "keras.metrics", "keras.initializers", "keras.regularizers", "keras.constraints",
	"keras.src.activations.", "keras.src.losses.", "keras.src.metrics.", "keras.src.initializers.",
}

// kerasBuilders are functions of these modules that build what their argument describes.
var kerasBuilders = map[string]bool{"get": true, "deserialize": true, "serialize": true}

// kerasReaches returns what a name reaches beyond the classes of a module that is allowed, or "".
// Keras follows the dots of a name, and calls functions with arguments of the file: a module of
// classes has functions that load and save files.
func kerasReaches(module, name string, function bool) string {
	plain := func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	switch rest := strings.TrimLeftFunc(name, plain); {
	case rest != "" && (module != "" || function):
		return "Keras follows the dots of " + wire.Quote(name) + " to whatever they lead to"
	case module == "" || name == "":
		return ""
	case function && !(kerasNames()[name] && !kerasBuilders[name] && inModules(kerasFunctions, module)):
		return "Keras calls the function " + wire.Quote(name) + " of " + wire.Quote(module) + " with arguments of the file: it is none that only computes"
	case !function && (name[0] < 'A' || name[0] > 'Z') && !kerasNames()[name]:
		return wire.Quote(name) + " of " + wire.Quote(module) + " is not a class of Keras"
	}
	return ""
}

func inModules(list []string, name string) bool {
	for _, m := range list {
		if name == m || strings.HasSuffix(m, ".") && strings.HasPrefix(name, m) {
			return true
		}
	}
	return false
}

// skopsLoaders are skops nodes that hold data, or build a type that is judged by its
// module.
var skopsLoaders = map[string]bool{
	"ObjectNode": true, "NdArrayNode": true, "MaskedArrayNode": true, "SparseMatrixNode": true, "RandomStateNode": true, "RandomGeneratorNode": true,
	"DictNode": true, "DefaultDictNode": true, "OrderedDictNode": true, "ListNode": true, "SetNode": true, "TupleNode": true, "SliceNode": true,
	"JsonNode": true, "BytesNode": true, "BytearrayNode": true, "CachedNode": true, "TypeNode": true, "DTypeNode": true, "TreeNode": true,
	"QuantileForestNode": true, "LossNode": true,
}

// skopsModules are modules whose types skops trusts by default.
var skopsModules = []string{"numpy", "numpy.", "scipy.", "sklearn.", "collections"}

// skopsBuiltins are the builtin types that are data.
var skopsBuiltins = map[string]bool{
	"dict": true, "list": true, "tuple": true, "set": true, "frozenset": true, "int": true, "float": true, "complex": true, "str": true,
	"bool": true, "bytes": true, "bytearray": true, "slice": true, "NoneType": true, "range": true,
}

// skops judges a node of a skops file.
func (w *walk) skops(f *frame) error {
	loader, module, class := f.kept["__loader__"], f.kept["__module__"], f.kept["__class__"]
	var err error
	if f.twice != "" {
		err = cmp.Or(err, w.report("sidecar.skops-node", tensor.Danger, wire.Quote(class.text), loader.off, f.ambiguous()))
	}
	if !skopsLoaders[loader.text] {
		err = cmp.Or(err, w.report("sidecar.skops-node", tensor.Danger, wire.Quote(loader.text), loader.off,
			"a node "+wire.Quote(loader.text)+" makes skops look up what is called "+wire.Quote(module.text+"."+class.text)+": no data"))
	}
	if module.text == "builtins" && skopsBuiltins[class.text] || inModules(skopsModules, module.text) {
		return err
	}
	return cmp.Or(err, w.report("sidecar.skops-type", tensor.Danger, wire.Quote(class.text), module.off,
		"skops imports "+wire.Quote(module.text+"."+class.text)+": no type of numpy, scipy or scikit-learn"))
}

// handlers are TorchServe's own handlers.
var handlers = map[string]bool{
	"image_classifier": true, "image_segmenter": true, "object_detector": true, "text_classifier": true, "base_handler": true,
}

// manifest judges what TorchServe runs for an archive: the module that handles requests,
// and the one that defines the model.
func (r *reader) manifest(key, text string, at int64) error {
	switch {
	case key == "handler" && !handlers[text], key == "modelFile" && text != "":
		return r.report("sidecar.mar-handler", tensor.Danger, key, at, "TorchServe runs "+wire.Quote(text)+", code of the archive")
	case key == "requirementsFile" && text != "":
		return r.report("sidecar.mar-requirements", tensor.Warning, key, at, "TorchServe installs what "+wire.Quote(text)+" names, if it is told to install packages for models")
	}
	return nil
}

// Served returns the finding about code in an archive for TorchServe. TorchServe adds the
// archive to Python's path, so a file with the name of a module replaces that module.
func Served(file string) tensor.Finding {
	return tensor.Finding{Code: "sidecar.mar-handler", Severity: tensor.Danger, Where: wire.Quote(file), Off: wire.NoOffset,
		Text: "TorchServe puts the archive on Python's path, and runs this file for whatever module has its name"}
}

// target judges a name that Hydra looks up and calls.
func (r *reader) target(text string, at int64) error {
	s, why := tensor.Danger, "Hydra calls "
	for _, p := range targets {
		if strings.HasPrefix(text, p) && isPath(text) && !callsCode(text) {
			s = tensor.Warning
		}
	}
	return r.report("sidecar.target", s, hydraKey, at, why+wire.Quote(text)+" with arguments of the file")
}

// targets are modules of NeMo and PyTorch that their configurations name. What they
// import can be reached through them, so they are only probably harmless.
var targets = []string{"nemo.collections.", "nemo.core.", "nemo.lightning.", "torch.nn.", "torch.optim.", "torchmetrics.", "lightning.pytorch.", "pytorch_lightning."}
