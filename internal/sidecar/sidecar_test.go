package sidecar_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

const escape = `{{ ''.__class__ }}`

// bufSize is how much of a text is read at once.
const bufSize = 16 << 10

// The findings in a text, by its name and its content.
func TestTextsThatAskForMoreThanText(t *testing.T) {
	ledger.Charges(t)
	for _, c := range []struct{ name, text, want string }{
		{"chat_template.jinja", escape, "template.dunder"},
		{"additional/tools.J2", escape, "template.dunder"},
		{"chat_template.jinja", "{% for m in messages %}{{ m['content'] }}{% endfor %}", ""},
		{"notes.txt", escape, ""},
		{"tokenizer_config.json", `{"chat_template": "` + escape + `"}`, "template.dunder"},
		{"tokenizer_config.json", `{"chat_template": "{{ ''.\u005f\u005fclass__ }}"}`, "template.dunder"},
		{"tokenizer_config.json", `{"chat_template": "a", "chat_template": "` + escape + `"}`, "template.dunder"},
		{"tokenizer_config.json", `{"chat_template": "` + escape + `", "chat_template": "a"}`, "template.dunder"},
		{"tokenizer_config.json", `{"a": NaN, "b": [-Infinity, 1e5], "chat_template": [{"name": "__x__", "template": "` + escape + `"}]}`, "template.dunder"},
		{"processor_config.json", "\ufeff" + `{"x": {"chat_template": {"default": "` + escape + `"}}}`, "template.dunder"},
		{"chat_template.json", `{"chat_template": "{{ messages }}"}`, ""},
		{"tokenizer_config.json", `{"chat_template": "\ud800\u007b{ ''.__class__ }}"}`, "template.syntax template.dunder"},
		{"tokenizer_config.json", `{"chat_template": "\ud83d\ud83d\ude00 \udc00"}`, "template.syntax"},
		{"tokenizer_config.json", `{"chat_template": "\ud83d\ude00 {{ messages }} \uD83D\uDE00"}`, ""},
		{"tokenizer_config.json", `{"chat_template": "\ud800\u00"}`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"chat_template": "\ud800\`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"chat_template": "{%\u001cinclude 'x' %}"}`, "template.import"},
		{"tokenizer_config.json", `{"chat_template": {"name": "` + escape + `"}}`, "template.dunder"},
		{"tokenizer_config.json", `{"chat_template": null, "b": [], "c": {}, "d": [[], {}, [1, "x"]]}`, ""},
		{"tokenizer_config.json", `{"chat_template": "a"`, "sidecar.syntax"},
		{"a.tar!sub/config.json", `{`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"chat_template": "a"} x`, "sidecar.syntax"},
		{"tokenizer_config.json", `["a",]`, "sidecar.syntax"},
		{"data.json", `{"a"`, ""},
		{"config.json", `{"auto_map": {"AutoModel": "modeling_x.Model", "AutoConfig": "configuration_x.Config"}}`, "sidecar.auto-map"},
		{"config.json", `{"auto_map": {"AutoTokenizer": ["evil/repo--tok.Tok", null]}}`, "sidecar.auto-map"},
		{"config.json", `{"trust_remote_code": true}`, "sidecar.trust-remote-code"},
		{"config.json", `{"trust_remote_code": false, "model_type": "llama"}`, ""},
		{"model.yaml", "encoder:\n  _target_: os.system\n  command: id\n", "sidecar.target sidecar.import"},
		{"model.yaml", "a: {'_target_': \"os.system\", b: 1}\n", "sidecar.target sidecar.import"},
		{"model.yaml", "\"\\x5ftarget_\": os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "# _target_: os.system\na: 1\n", ""},
		{"model.yml", "a: !!python/object/apply:os.system [id]\n", "sidecar.yaml-tag"},
		{"model.yaml", "\"_t\\x61rget_\": os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "\"_target\\U0000005F\": os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "? _target_\n: os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "? |-\n  _target_\n: os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "? \"_tar\\\n  get_\"\n: os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "? \"_t\\\n  ar\\\n\tget_\"\n: os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "- &k _target_\n- {*k : os.system}\n", "sidecar.target sidecar.import"},
		{"model.yaml", "# a\r_target_: os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "# a\u2028_target_: os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "# a\u0085_target_: os.system\n", "sidecar.target sidecar.import"},
		{"model.yaml", "a: 1 # _target_ is a key of Hydra\n", ""},
		{"model.yaml", "num_target_classes: 3\nmy_target_: x\n", ""},
		{"model.yaml", "a: '[^\\x00-\\x7F]'\nb: \"\\u2581a\"\nc: \"x\\\n  y\"\n", ""},
		{"model.yaml", "{a: " + strings.Repeat("x", bufSize-514) + "#" + strings.Repeat("y", 507) + ", _target_: os.system}\n", "sidecar.target sidecar.import"},
		{"model.yaml", "#" + strings.Repeat(" x", bufSize) + "_target_: os.system\n", ""},
		{"model.yaml", "_target_: nemo.core.classes.common.os.system\n", "sidecar.target"},
		{"model.yaml", "target: subprocess.Popen\nparams: {}\n", "sidecar.target sidecar.import"},
		{"model.yaml", "target: ldm.models.diffusion.ddpm.LatentDiffusion\n", ""},
		{"model.yaml", "target: nemo.collections.asr.models.EncDecCTCModel\n", ""},
		{"model.yaml", "a: !!pyth%6fn/object/apply:os.system [id]\n", "sidecar.yaml-tag"},
		{"model.yaml", "a: !<tag:yaml.org,2002:pyth%6fn/name:os.system> x\n", "sidecar.yaml-tag"},
		{"model.yaml", "\ufeff%TAG !p! tag:yaml.org,2002:python/\n---\na: !p!name:os.system x\n", "sidecar.yaml-tag"},
		{"model.yaml", "a: 100%! of it, b!%c\n", ""},
		{"hydra.json", `{"_target_": "builtins.eval"}`, "sidecar.target sidecar.import"},
		{"config.json", `{"class_name": "Lambda", "config": {"function": {"class_name": "__lambda__", "config": {"code": "4wE="}}}}`, "sidecar.keras-code"},
		{"config.json", `{"config": "eval", "module": "builtins", "class_name": "function", "registered_name": "function"}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras.layers", "class_name": "Dense", "config": {"units": 3}, "registered_name": null}`, ""},
		{"config.json", `{"module": "keras.src.models.functional", "class_name": "Functional", "config": {}}`, ""},
		{"config.json", `{"module": "keras.utils", "class_name": "function", "config": "get_file"}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras", "class_name": "function", "config": "config.enable_unsafe_deserialization", "registered_name": null}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras", "class_name": "layers.TorchModuleWrapper", "config": {}}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras.models", "class_name": "function", "config": "load_model", "registered_name": null}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras.models", "class_name": "load_model", "config": {}}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras.src.models.cloning", "class_name": "_clone_sequential_model", "config": {}}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras.activations", "class_name": "function", "config": "deserialize"}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras.activations", "class_name": "function", "config": "relu"}`, ""},
		{"config.json", `{"module": "keras.src.ops.numpy", "class_name": "Add", "config": {}}`, ""},
		{"config.json", `{"module": "keras.layers", "module": "os", "class_name": "system", "config": {}}`, "sidecar.keras-module"},
		{"config.json", `{"module": "os", "module": "keras.layers", "class_name": "system", "config": {}}`, "sidecar.keras-module"},
		{"x.mar!MAR-INF/MANIFEST.json", `{"model": {"handler": "handler.py:handle"}}`, "sidecar.mar-handler"},
		{"x.mar!MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier"}}`, ""},
		{"x.mar!MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier", "modelFile": "m.py"}}`, "sidecar.mar-handler"},
		{"x.mar!MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier", "requirementsFile": "r.txt"}}`, "sidecar.mar-requirements"},
		{"flax_model.msgpack.index.json", `{"metadata": {}, "weight_map": {"a": "../../b", "c": "/d"}}`, "sidecar.index-path"},
		{"model.safetensors.index.json", `{"weight_map": {"a": "` + strings.Repeat("dd/", 256) + strings.Repeat("../", 256) + `../b"}}`, "sidecar.index-path"},
		{"MODEL.SAFETENSORS.INDEX.JSON", `{"weight_map": {"a": "C:b"}}`, "sidecar.index-path"},
		{"m.textproto", "graph { initializer { name: \"/a\" external_data { key: \"location\" value: \"../b\" } } }", "onnx.external-path"},
		{"m.pbtxt", "external_data: [{ value: '..' # a part\n \"/b\", key: \"location\" }]", "onnx.external-path"},
		{"m.prototxt", `external_data < key: "location" value: "\056./b" >`, "onnx.external-path"},
		{"m.textproto", "external_data { key: \"location\" value: \"m.data\" }\nexternal_data { key: \"offset\" value: \"4096\" }\nname: \"/layers.0/x\" # /y", ""},
		{"m.onnxtxt", "<ir_version: 10>\ng (float[2] x) => (float[2] y)\n<float[2] e = [\"location\" : \"/b\", \"offset\": \"0\"]> { y = Add(x, e) }", "onnx.external-path"},
		{"m.textproto", `external_data { key: "location" value: "` + strings.Repeat("dd/", 256) + strings.Repeat("../", 256) + `../b" }`, "onnx.external-path"},
		{"m.json", `{"irVersion": "8", "graph": {"initializer": [{"externalData": [{"key": "location", "value": "` + strings.Repeat("dd/", 256) + strings.Repeat("../", 256) + `../b"}]}]}}`, "onnx.external-path"},
		{"m.onnxtext", `<float[2] e = ["loc\ation" : "../b"]>`, "onnx.external-path"},
		{"m.onnxtext", `<metadata_props: ["names": "/b"]> <float[2] e = ["location": "m.data"]>`, ""},
		{"m.json", `{"irVersion": "8", "graph": {"initializer": [{"externalData": [{"key": "location", "value": "../b"}]}]}}`, "onnx.external-path"},
		{"m.onnxjson", `{"graph": {"initializer": [{"external_data": [{"value": "C:\\b", "key": "location"}]}]}}`, "onnx.external-path"},
		{"m.json", `{"graph": {"initializer": [{"externalData": [{"key": "location", "value": "m.data"}, {"key": "offset", "value": "0"}]}]}}`, ""},
		{"tf_model.h5.index.json", `{"weight_map": {"a": "tf_model-00001-of-00002.h5", "b": "x..y"}, "c": "../b"}`, ""},
		{"config.json", `{"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": "/etc/passwd"}}`, "sidecar.keras-file"},
		{"config.json", `{"config": {"vocabulary": "gs://a/b"}, "module": "keras.layers", "class_name": "TextVectorization"}`, "sidecar.keras-file"},
		{"config.json", `{"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": ["a", "b"]}}`, ""},
		{"schema.json", `{"__class__": "LogisticRegression", "__module__": "sklearn.linear_model._logistic", "__loader__": "ObjectNode"}`, ""},
		{"schema.json", `{"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}`, "sidecar.skops-node sidecar.skops-type"},
		{"schema.json", `{"__class__": "Popen", "__module__": "subprocess", "__loader__": "ObjectNode"}`, "sidecar.skops-type"},
		{"schema.json", `{"__class__": "eval", "__module__": "builtins", "__loader__": "TypeNode"}`, "sidecar.skops-type"},
		{"m/modules.json", `[{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}, {"type": "pylate.models.Dense.Dense"}]`, ""},
		{"m/modules.json", `[{"idx": 0, "path": "", "type": "custom_st.Transformer"}]`, "sidecar.import"},
		{"m/Modules.JSON", `[{"type": "sentence_transformers.util.misc.importlib"}]`, "sidecar.import"},
		{"m/modules.json", `[{"type": "sentence_transformers.os.Thing"}]`, "sidecar.import"},
		{"router_config.json", `{"types": {"query_0_Transformer": "sentence_transformers.models.Transformer", "b": "evil.Module"}}`, "sidecar.import"},
		{"config.json", `{"tokenizer_class": "sentence_transformers.models.tokenizer.WhitespaceTokenizer"}`, ""},
		{"config.json", `{"tokenizer_class": "evil.Tokenizer"}`, "sidecar.import"},
		{"config.json", `{"tokenizer_class": "LlamaTokenizer", "activation_function": "gelu_new"}`, ""},
		{"2_Dense/config.json", `{"activation_function": "torch.nn.modules.activation.Tanh"}`, ""},
		{"2_Dense/config.json", `{"activation_function": "os.abort"}`, "sidecar.import"},
		{"config.json", `{"sentence_transformers": {"activation_fn": "torch.utils.collect_env.main"}}`, "sidecar.import"},
		{"adapter_config.json", `{"auto_mapping": {"base_model_class": "X", "parent_library": "transformers.models.llama.modeling_llama"}, "megatron_core": "megatron.core"}`, ""},
		{"adapter_config.json", `{"auto_mapping": {"base_model_class": "X", "parent_library": "evil"}}`, "sidecar.import"},
		{"adapter_config.json", `{"auto_mapping": null, "megatron_config": {}, "megatron_core": "evil"}`, "sidecar.import"},
		{"config.json", `{"model_type": "llama", "model_file": "model.py"}`, "sidecar.import"},
		{"config.json", `{"model_file": "` + strings.Repeat("dd/", 256) + `model.py"}`, "sidecar.import"},
		{"config.json", `{"model_file": "model.onnx"}`, ""},
		{"config.json", `{"transformers_weights": "../x.safetensors"}`, "sidecar.index-path"},
		{"config.json", `{"transformers_weights": "x.safetensors"}`, ""},
		{"config.json", `{"attn_implementation": "evil/kernel"}`, "sidecar.import"},
		{"config.json", `{"text_config": {"_attn_implementation": "paged|evil/kernel@main:f"}}`, "sidecar.import"},
		{"config.json", `{"attn_implementation": {"vision_config": "evil/kernel"}}`, "sidecar.import"},
		{"config.json", `{"attn_implementation": "paged|kernels-community/flash-attn3", "_attn_implementation": "sdpa"}`, "sidecar.import"},
		{"config.json", `{"attn_implementation": "paged|sdpa", "_attn_implementation": "flash_attention_2"}`, ""},
		{"model_index.json", `{"_class_name": "StableDiffusionPipeline", "unet": ["diffusers", "UNet2DConditionModel"], "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"], "x": [null, null]}`, ""},
		{"model_index.json", `{"_class_name": "A", "unet": ["evil", "UNet"]}`, "sidecar.import"},
		{"model_index.json", `{"_class_name": ["evil", "Pipeline"]}`, "sidecar.import"},
		{"any.json", `{"a": {"py/reduce": [{"py/function": "posix.system"}, {"py/tuple": ["id"]}]}}`, "sidecar.import"},
		{"any.json", `{"a": {"p\u0079/repr": "os/os.abort()"}}`, "sidecar.import"},
		{"context/io.json", `{"objects": {"a": {"type": {"type": "pyref", "module": "subprocess", "name": "Popen"}}}}`, "sidecar.target"},
		{"context/io.json", `{"objects": {"a": {"type": {"type": "pyref", "module": "builtins", "name": "eval"}}}}`, "sidecar.target"},
		{"context/io.json", `{"a": {"type": "pyref", "module": "builtins", "name": "list"}, "b": {"type": "pyref", "module": "fiddle._src.config", "name": "Config"}}`, ""},
		{"context/io.json", `{"a": {"type": "pyref", "module": "fiddle", "module": "os", "name": "system"}}`, "sidecar.target"},
		{"hyperparams.yaml", "a: !apply:os.system [id]\n", "sidecar.target"},
		{"hyperparams.yaml", "a: !<!new:subprocess.Popen>\n  args: id\n", "sidecar.target"},
		{"hyperparams.yaml", "a: [!name:speechbrain.utils.data_utils.os.system , 1]\n", "sidecar.target"},
		{"hyperparams.yaml", "a: !include:../../x.yaml\n", "sidecar.import"},
		{"hyperparams.yaml", "a: !new:speechbrain.nnet.RNN.LSTM\nb: !ref <a>\n__s: !apply:torch.manual_seed [1]\n", "sidecar.target"},
		{"config.yaml", "model:\n  class_path: subprocess.Popen\n", "sidecar.import"},
		{"config.yaml", "model:\n  class_path: anomalib.models.Padim\n", ""},
		{"m/MLmodel", "flavors:\n  python_function:\n    loader_module: mlflow.sklearn\n    code: null\n", ""},
		{"m/MLmodel", "flavors:\n  python_function:\n    loader_module: evil\n", "sidecar.import"},
		{"m/MLmodel", "flavors:\n  python_function:\n    loader_module: mlflow.pyfunc.model\n    code: code\n", "sidecar.import"},
		{"m/MLmodel", "flavors:\n  python_function:\n    ? code\n    : code\n", "sidecar.import"},
		{"m/MLmodel", "{\"loader\\x5fmodule\": evil}\n", "sidecar.import"},
		{"m/MLmodel", "model_code_path: m.py\n", "sidecar.import"},
		{"m/MLmodel", "signature:\n  inputs: '[{\"type\": \"string\", \"name\": \"code\"}]'\n", ""},
		{"x/config.pbtxt", "name: \"x\"\nbackend: \"onnxruntime\"\n", ""},
		{"x/config.pbtxt", "backend : # \"onnxruntime\"\n 'python'\n", "sidecar.import"},
		{"x/config.pbtxt", `backend: "pyth\157n"`, "sidecar.import"},
		{"x/config.pbtxt", `backend: "fil" "x"`, "sidecar.import"},
	} {
		got := but(check(t, limits.Policy{}, c.name, c.text), c.want)
		if got != c.want {
			t.Errorf("%s %.80s: %q, want %q", c.name, c.text, got, c.want)
		}
		corpustest.DamagedTexts(t, c.name, c.text, 16, func(text string) string { return said(t, c.name, text) })
	}
}

// check lists the codes that are found, each once; a refusal is its text.
func check(t *testing.T, p limits.Policy, name, text string) string {
	t.Helper()
	var list []string
	for code := range strings.FieldsSeq(found(t, p, name, text)) {
		if !slices.Contains(list, code) {
			list = append(list, code)
		}
	}
	return strings.Join(list, " ")
}

// found lists the code of each finding.
func found(t *testing.T, p limits.Policy, name, text string) string {
	t.Helper()
	b := p.Budget(t.Context())
	defer b.Close()
	w := b.Probe()
	found, err := sidecar.Check(w, sidecar.Text{Name: name, R: strings.NewReader(text), Size: int64(len(text))})
	w.Close()
	limitstest.NoLeak(t, b)
	if err != nil {
		return err.Error()
	}
	var list []string
	for _, f := range found {
		list = append(list, f.Code)
	}
	return strings.Join(list, " ")
}

// but leaves out that a value is unexplained, where a row is about something else.
func but(got, want string) string {
	if strings.Contains(want, sidecar.CodeUnexplained) {
		return got
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(got, sidecar.CodeUnexplained, "")), " ")
}

func TestTextsCostWhatTheyAre(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	if got := check(t, limits.Policy{}, "config.json", deep); !strings.Contains(got, "depth") {
		t.Errorf("200 lists in each other: %q", got)
	}
	long := `{"chat_template": "` + strings.Repeat("a", 5<<20) + `"}`
	if got := check(t, limits.Policy{}, "config.json", long); !strings.Contains(got, "more than 4194304") {
		t.Errorf("a template of 5 MiB: %q", got)
	}
	other := `{"vocab": "` + strings.Repeat("a", 5<<20) + `"}`
	if got := check(t, limits.Policy{MaxTotalBytes: 64 << 10}, "config.json", other); got != "" {
		t.Errorf("another string of 5 MiB: %q", got)
	}
}
