package sidecar

import (
	_ "embed"
	"strings"
	"sync"
)

// maxPath is longer than any honest path of names.
const maxPath = 200

// isPath reports whether text is names with dots between them, without interpolation.
func isPath(text string) bool { return len(text) < maxPath && isNames(text) }

// isNames is isPath for refusals: a long or circular path counts too.
func isNames(text string) bool {
	for i := range len(text) {
		if !inName(text[i]) && text[i] != '.' {
			return false
		}
	}
	return true
}

// setOf returns a function that makes a set of words on its first call.
func setOf(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(words) {
			set[w] = true
		}
		return set
	})
}

// running are modules that run, open or import what they are given. Most modules import
// one of them, and so lead to it.
var running = setOf(`os posix nt sys subprocess builtins importlib runpy shutil pty pickle _pickle cPickle dill cloudpickle joblib
	marshal shelve yaml ctypes socket urllib requests http webbrowser multiprocessing asyncio pathlib tempfile code codeop timeit pdb
	hydra omegaconf numpy np pip ensurepip antigravity commands popen2 torch inspect pkgutil pydoc`)

// reading are functions that load another file, which may be a pickle, run what they are
// given, or look up a name, and modules of such functions.
var reading = setOf(`load loads load_inline load_module load_from_checkpoint restore_from read_pickle unpickle hub cpp_extension
	collect_env exec eval system popen Popen spawn check_output import_module locate instantiate import_class_by_path cli`)

// runsCode reports whether a path leads through such a module or function, or through
// Python's private attributes.
func runsCode(text string) bool {
	for i, part := range strings.Split(text, ".") {
		if running()[part] && (i > 0 || part != "torch") || i > 0 && reading()[part] || strings.HasPrefix(part, "__") {
			return true
		}
	}
	return false
}

//go:embed stdlib.txt
var stdlibTable string

// standard are Python's modules.
var standard = sync.OnceValue(func() map[string]bool { return tableOf(stdlibTable) })

// tableOf returns the lines of a table but for its comments.
func tableOf(table string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(table) {
		if line[0] != '#' {
			set[strings.TrimSpace(line)] = true
		}
	}
	return set
}

// plain are names in standard modules that hold numbers and texts.
var plain = map[string]bool{"datetime.timedelta": true, "datetime.datetime": true, "collections.OrderedDict": true, "pathlib.Path": true, "decimal.Decimal": true}

// tools are libraries that run, evaluate or load what they are given, and that no model
// is built of.
var tools = setOf(`psutil pexpect fire plumbum sh invoke fabric paramiko cffi numexpr sympy pandas IPython ipykernel jupyter setuptools
	pkg_resources distutils wheel ray dask celery gunicorn uvicorn flask tornado twisted gradio streamlit huggingface_hub nltk mako
	jinja2 cloudpathlib fsspec webdataset`)

// classes are libraries whose functions fetch models and run their code; their classes
// are built by their own loaders.
var classes = setOf("transformers diffusers datasets accelerate peft evaluate keras tensorflow tf jax flax scipy sklearn lightning pytorch_lightning")

// layers are parts of PyTorch that compute.
var layers = setOf(`nn optim distributions fft linalg special amp ao quantization Tensor device Generator dtype tensor zeros ones full arange
	linspace logspace rand randn tanh sigmoid relu square sqrt exp log abs sum mean cat stack einsum manual_seed strided preserve_format`)

// callsCode reports whether a path must not be called with arguments from a file.
func callsCode(text string) bool {
	if plain[text] {
		return false
	}
	root, rest, dotted := strings.Cut(text, ".")
	last := text[strings.LastIndexByte(text, '.')+1:]
	switch {
	case !isNames(text) || !dotted && len(text) < maxPath:
		return running()[text]
	case len(text) >= maxPath, runsCode(text) || strings.Contains(text, "._") || standard()[root] || tools()[root], last == "from_pretrained":
		return true
	case root == "torch":
		second, _, _ := strings.Cut(rest, ".")
		return !layers()[second] && !isType(second) && !strings.HasPrefix(rest, "utils.data.") && !strings.HasPrefix(rest, "distributed.fsdp.")
	}
	return classes()[root] && last != "" && (last[0] < 'A' || last[0] > 'Z')
}

// isType reports whether text is a type name such as float32 or bfloat16.
func isType(name string) bool {
	switch strings.TrimRight(name, "0123456789") {
	case "float", "bfloat", "int", "uint", "complex", "bool", "half", "long", "double":
		return true
	}
	return false
}

// roots are modules that a configuration has no reason to refer to, under any key.
var roots = setOf(`os posix nt subprocess builtins __builtin__ importlib runpy pty ctypes _ctypes pickle _pickle cPickle dill cloudpickle
	joblib marshal shelve imp pydoc shutil psutil pexpect webbrowser multiprocessing timeit cProfile profile pdb bdb cffi codeop
	zipimport ensurepip setuptools distutils IPython numexpr`)

// endings are file extensions, which are not Python names.
var endings = setOf(`py pyc json txt md yaml yml toml ini cfg html js ts c h cc cpp rs go java so dll dylib exe zip gz tar pkl pickle joblib
	bin pt pth onnx npy npz csv tsv png jpg svg pdf log io com org net dev ai`)

// attributes are the attributes of pickle and profile, whose names are also common words:
// "pickle.align" is a rule of a scanner, "profile.title" a text of a page.
var attributes = map[string]func() map[string]bool{
	"pickle": setOf(`PickleBuffer Pickler Unpickler PyStringMap _Framer _Pickler _Stop _Unframer _Unpickler _compat_pickle _dump _dumps _extension_cache
		_extension_registry _getattribute _inverted_registry _load _loads _test _tuplesize2code bytes_types codecs copyreg decode_long
		dispatch_table dump dumps encode_long io islice load loads maxsize pack partial re struct sys types unpack whichmodule`),
	"yaml": setOf(`load load_all full_load full_load_all unsafe_load unsafe_load_all Loader FullLoader UnsafeLoader CLoader CFullLoader CUnsafeLoader
		YAMLObject add_constructor add_multi_constructor constructor loader cyaml`),
	"profile": setOf(`Profile _Utils importlib io machinery main marshal optparse os run runctx sys time`),
}

// isReach reports whether a value is the full name of something in such a module, which
// some library may import and call.
func isReach(text string) bool {
	root, rest, dotted := strings.Cut(text, ".")
	if !dotted || !isNames(text) || strings.HasSuffix(text, ".") && len(text) < maxText || endings()[rest] {
		return false
	}
	switch {
	case attributes[root] != nil:
		first, _, _ := strings.Cut(rest, ".")
		return attributes[root]()[first] || strings.HasPrefix(first, "__")
	case roots()[root], tools()[root]:
		return true
	case root == "torch":
		second, _, _ := strings.Cut(rest, ".")
		return second == "hub" || second == "load" || second == "serialization" || second == "package" || rest == "jit.load" || strings.HasPrefix(rest, "utils.cpp_extension") || strings.HasPrefix(rest, "utils.collect_env")
	}
	return false
}
