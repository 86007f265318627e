package sidecar_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

const escape = `{{ ''.__class__ }}`

// bufSize is how much of a text is read at once.
const bufSize = 16 << 10

// What is found in a text, by its name and its content.
func TestTextsThatAskForMoreThanText(t *testing.T) {
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
		{"model.yaml", "encoder:\n  _target_: os.system\n  command: id\n", "sidecar.target"},
		{"model.yaml", "a: {'_target_': \"os.system\", b: 1}\n", "sidecar.target"},
		{"model.yaml", "\"\\x5ftarget_\": os.system\n", "sidecar.target"},
		{"model.yaml", "# _target_: os.system\na: 1\n", ""},
		{"model.yml", "a: !!python/object/apply:os.system [id]\n", "sidecar.yaml-tag"},
		{"model.yaml", "\"_t\\x61rget_\": os.system\n", "sidecar.target"},
		{"model.yaml", "\"_target\\U0000005F\": os.system\n", "sidecar.target"},
		{"model.yaml", "? _target_\n: os.system\n", "sidecar.target"},
		{"model.yaml", "? |-\n  _target_\n: os.system\n", "sidecar.target"},
		{"model.yaml", "? \"_tar\\\n  get_\"\n: os.system\n", "sidecar.target"},
		{"model.yaml", "? \"_t\\\n  ar\\\n\tget_\"\n: os.system\n", "sidecar.target"},
		{"model.yaml", "- &k _target_\n- {*k : os.system}\n", "sidecar.target"},
		{"model.yaml", "# a\r_target_: os.system\n", "sidecar.target"},
		{"model.yaml", "# a\u2028_target_: os.system\n", "sidecar.target"},
		{"model.yaml", "# a\u0085_target_: os.system\n", "sidecar.target"},
		{"model.yaml", "a: 1 # _target_ is a key of Hydra\n", ""},
		{"model.yaml", "num_target_classes: 3\nmy_target_: x\n", ""},
		{"model.yaml", "a: '[^\\x00-\\x7F]'\nb: \"\\u2581a\"\nc: \"x\\\n  y\"\n", ""},
		{"model.yaml", "{a: " + strings.Repeat("x", bufSize-514) + "#" + strings.Repeat("y", 507) + ", _target_: os.system}\n", "sidecar.target"},
		{"model.yaml", "#" + strings.Repeat(" x", bufSize) + "_target_: os.system\n", ""},
		{"model.yaml", "_target_: nemo.core.classes.common.os.system\n", "sidecar.target"},
		{"model.yaml", "target: subprocess.Popen\nparams: {}\n", "sidecar.target"},
		{"model.yaml", "target: ldm.models.diffusion.ddpm.LatentDiffusion\n", ""},
		{"model.yaml", "target: nemo.collections.asr.models.EncDecCTCModel\n", ""},
		{"model.yaml", "a: !!pyth%6fn/object/apply:os.system [id]\n", "sidecar.yaml-tag"},
		{"model.yaml", "a: !<tag:yaml.org,2002:pyth%6fn/name:os.system> x\n", "sidecar.yaml-tag"},
		{"model.yaml", "\ufeff%TAG !p! tag:yaml.org,2002:python/\n---\na: !p!name:os.system x\n", "sidecar.yaml-tag"},
		{"model.yaml", "a: 100%! of it, b!%c\n", ""},
		{"hydra.json", `{"_target_": "builtins.eval"}`, "sidecar.target"},
		{"config.json", `{"class_name": "Lambda", "config": {"function": {"class_name": "__lambda__", "config": {"code": "4wE="}}}}`, "sidecar.keras-code sidecar.keras-code"},
		{"config.json", `{"config": "eval", "module": "builtins", "class_name": "function", "registered_name": "function"}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras.layers", "class_name": "Dense", "config": {"units": 3}, "registered_name": null}`, ""},
		{"config.json", `{"module": "keras.src.models.functional", "class_name": "Functional", "config": {}}`, ""},
		{"config.json", `{"module": "keras.utils", "class_name": "function", "config": "get_file"}`, "sidecar.keras-module"},
		{"config.json", `{"module": "keras.layers", "module": "os", "class_name": "system", "config": {}}`, "sidecar.keras-module"},
		{"config.json", `{"module": "os", "module": "keras.layers", "class_name": "system", "config": {}}`, "sidecar.keras-module"},
		{"x.mar!MAR-INF/MANIFEST.json", `{"model": {"handler": "handler.py:handle"}}`, "sidecar.mar-handler"},
		{"x.mar!MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier"}}`, ""},
		{"x.mar!MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier", "modelFile": "m.py"}}`, "sidecar.mar-handler"},
		{"x.mar!MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier", "requirementsFile": "r.txt"}}`, "sidecar.mar-requirements"},
		{"flax_model.msgpack.index.json", `{"metadata": {}, "weight_map": {"a": "../../b", "c": "/d"}}`, "sidecar.index-path"},
		{"MODEL.SAFETENSORS.INDEX.JSON", `{"weight_map": {"a": "C:b"}}`, "sidecar.index-path"},
		{"tf_model.h5.index.json", `{"weight_map": {"a": "tf_model-00001-of-00002.h5", "b": "x..y"}, "c": "../b"}`, ""},
		{"config.json", `{"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": "/etc/passwd"}}`, "sidecar.keras-file"},
		{"config.json", `{"config": {"vocabulary": "gs://a/b"}, "module": "keras.layers", "class_name": "TextVectorization"}`, "sidecar.keras-file"},
		{"config.json", `{"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": ["a", "b"]}}`, ""},
		{"schema.json", `{"__class__": "LogisticRegression", "__module__": "sklearn.linear_model._logistic", "__loader__": "ObjectNode"}`, ""},
		{"schema.json", `{"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}`, "sidecar.skops-node"},
		{"schema.json", `{"__class__": "Popen", "__module__": "subprocess", "__loader__": "ObjectNode"}`, "sidecar.skops-type"},
		{"schema.json", `{"__class__": "eval", "__module__": "builtins", "__loader__": "TypeNode"}`, "sidecar.skops-type"},
	} {
		got := check(t, limits.Policy{}, c.name, c.text)
		if got != c.want {
			t.Errorf("%s %.80s: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

// check lists the codes that are found; a refusal is its text.
func check(t *testing.T, p limits.Policy, name, text string) string {
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
