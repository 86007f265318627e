package sidecar_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Members that libraries obey or follow, in every form that Python takes for true or for a
// place elsewhere.
func TestWhatIsObeyedAndFollowed(t *testing.T) {
	const trust, imports, leads, code, handler = "sidecar.trust-remote-code", "sidecar.import", "sidecar.index-path", "sidecar.code", "sidecar.handler"
	for _, c := range []struct{ name, text, want string }{
		{"config.json", `{"trust_remote_code": [1]}`, trust},
		{"config.json", `{"trust_remote_code": {"a": 1}}`, trust},
		{"config.json", `{"trust_remote_code": [[]]}`, trust},
		{"config.json", `{"trust_remote_code": [ ], "a": {"trust_remote_code": { }}, "b": {"trust_remote_code": ""}}`, ""},
		{"config.json", `{"trust_remote_code": 0e1, "b": {"trust_remote_code": -0.0}}`, ""},
		{"config.json", `{"trust_remote_code": NaN}`, trust},
		{"config.json", `{"trust_remote_code": 1e1}`, trust},
		{"configuration.json", `{"allow_remote": 1}`, imports},
		{"configuration.json", `{"allow_remote": "true"}`, imports},
		{"configuration.json", `{"allow_remote": [1]}`, imports},
		{"configuration.json", `{"allow_remote": {"a": []}}`, imports},
		{"configuration.json", `{"allow_remote": [], "a": {"allow_remote": 0}}`, ""},
		{"other.json", `{"allow_remote": true}`, ""},
		{"config.json", "--- {\"_target_\": \"os.system\"}\n", "sidecar.target sidecar.syntax"},
		{"model.json", "# x\n{\"_target_\": \"os.system\"}\n", "sidecar.target"},
		{"config.json", "a: 1\nmodel:\n  _target_: os.system\n", "sidecar.target sidecar.syntax"},
		{"ds_config.json", "// x\n{\"trust_remote_code\": true}\n", trust},
		{"tokenizer_config.json", `{"vocab_file": "/etc/passwd"}`, leads},
		{"tokenizer_config.json", `{"vocab_file": "\\\\host\\a b.txt"}`, leads},
		{"tokenizer_config.json", `{"merges_file": "../my dir/x"}`, leads},
		{"tokenizer_config.json", `{"vocab_file": "~/x"}`, leads},
		{"tokenizer_config.json", `{"vocab_file": "./vocab.txt", "merges_file": "a/..b"}`, ""},
		{"tokenizer_config.json", `{"tokenizer_file": "/root/.cache/x/tokenizer.json", "name_or_path": "a/b"}`, leads},
		{"tokenizer_config.json", `{"special_tokens_map_file": "/root/.cache/x/special_tokens_map.json", "name_or_path": "/content/model"}`, ""},
		{"tokenizer_config.json", `{"tokenizer": {"name_or_path": "/content/model"}}`, leads},
		{"special_tokens_map.json", `{"special_tokens_map_file": "/root/.cache/x"}`, leads},
		{"tokenizer_config.json", `{"tokenizer_file": "/root/x.json", "vocab_file": "/etc/passwd"}`, leads + " " + leads},
		{"config.json", `{"whatever_file": "../../my dir/x"}`, "sidecar.unexplained"},
		{"special_tokens_map.json", `{"word_shape_file": "/x", "pad_token": "/x/y"}`, leads},
		{"special_tokens_map.json", `{"word_shape_file": "shape.json", "pad_token": "/x/y"}`, ""},
		{"sentence_bert_config.json", `{"tokenizer_args": {"tokenizer_file": "..\\x y"}}`, leads},
		{"genai_config.json", `{"model": {"decoder": {"filename": "x y\\..\\z.onnx"}}}`, leads},
		{"genai_config.json", `{"model": {"decoder": {"filename": "model.onnx"}}}`, ""},
		{"config.json", `{"invented": "d:/my files/x"}`, "sidecar.unexplained"},
		{"config.json", `{"invented": "words .. and a: b, c..d"}`, ""},
		{"policy_postprocessor.json", `{"steps": [{"class": "lerobot.processor.X"}]}`, ""},
		{"policy_postprocessor.json", `{"steps": [{"class": "torch.distributed.run.run_script_path"}]}`, imports},
		{"config.yaml", "a: x/y\npipeline:\n  name: pip.main\n", "sidecar.unexplained " + imports},
		{"config.yaml", "name: token.bin\ntype: datetime.timedelta\n", "sidecar.unexplained"},
		{"MLmodel", "flavors:\n  transformers:\n    source_model_name: a/b\n", imports},
		{"MLmodel", "flavors:\n  transformers:\n    source_model_name: null\n    source_model_revision: main\n", ""},
		{"Modelfile", "FROM ./a.gguf\nADAPTER adapters/\nFROM llama3.2\n", code},
		{"Modelfile", "FROM\towner/name:latest\n", code + " " + handler},
		{"x.modelfile", "FROM https://example.org/x\n", code + " " + leads},
		{"README.md", "---\ndata_files: [\"a.csv\", \"../b.csv\"]\n---\n", leads},
		{"README.md", "---\ndata_files:\n- /etc/x\n---\n", leads},
		{"README.md", "---\ndata_files: a/*.csv\nlicense: ../x\n---\ndata_files: ../b\n", ""},
		{"README.md", "data_files: ../b\n", ""},
		{"README.md", "\ufeff \r\n---\rprior: ../x\r---\r", leads},
		{"README.md", "---\nprior: [evil/repo]\n---\n", "sidecar.unexplained"},
		{"README.md", "---\nprior:\n- evil/repo\n- /etc\n---\n", "sidecar.unexplained " + leads},
		{"README.md", "---\n{tags: [a], \"pri\\\nor\": [\n/etc/x]}\n---\n", leads},
		{"README.md", "---\n? prior\n: - ~/x\n---\n", leads},
		{"README.md", "---\ntags: &a [/etc/x]\nprior: *a\n---\n", leads},
		{"README.md", "---\n---x: 1\nprior: ./x\n---\n", leads},
		{"README.md", "---\nprior:\n- null\nbase_model: owner/name\nbase_model_relation: ../x\n---\n", ""},
		{"README.md", "---\nprior_x: ../x\nbase_model: [a/b]\n# prior: /x\ntext: a prior of /x\n---\nprior: /x\n", ""},
		{"README.md", "# x\n---\nprior: /x\n---\n", ""},
		{"pickle_module_info.txt", "mlflow.pytorch.pickle_module", ""},
		{"data/pickle_module_info.txt", "os", handler},
		{"keras_module.txt", "tf_keras", ""},
		{"MLmodel", "flavors:\n  tensorflow: {keras_module: keras, data: data}\n", ""},
		{"MLmodel", "flavors:\n  tensorflow: {keras_module: evil}\n", imports},
		{"settings.json", `{"llm": {"object_constructor": "llama_index.llms.openai.OpenAI"}}`, "sidecar.unexplained"},
		{"torch.py", "import os\n", handler},
		{"types.PYW", "import os\n", handler},
		{"json/__init__.py", "import os\n", handler},
		{"a.mar!random.py", "import os\n", handler},
		{"__init__.py", "import os\n", code},
		{"json/encoder.py", "import os\n", code},
		{"utils.py", "import os\n", code},
		{"config.py", "import os\n", code},
		{"tokenization_numpy.py", "import os\n", code},
		{"evaluate.py", "import os\n", code},
		{"test.py", "import os\n", code},
		{"m\u017fg/config.json. ", `{"invented": "some.module"}`, "sidecar.unexplained"},
		{"config.json", `{"auto_map": {"AutoConfig": "absent.X", "AutoModel": "a/b--c.D"}}`, "sidecar.auto-map"},
		{"config.toml", "[model]\n_target_ = \"os.system\"\n", "sidecar.target"},
		{"a.ini", "class = os.system\n", imports},
		{"config.toml", "trust_remote_code = true\n", trust},
		{"config.toml", "trust_remote_code = false\nn = 1.5\n", ""},
		{"settings.conf", "model:\n  _target_: os.system\n", "sidecar.target"},
		{"hyperparams", "--- !x\n# a\nmodel: {trust_remote_code: true}\n", trust},
		{"model.txt", "- a\n- _target_: os.system\n", "sidecar.target"},
		{"model.txt", "? _target_\n: os.system\n", "sidecar.target"},
		{"conf", "!!python/object/apply:os.system [id]\n", "sidecar.yaml-tag"},
		{"notes.txt", "To load it, pass trust_remote_code=True.\n_target_: os.system is no key here\n", ""},
		{"README", "Usage: pass trust_remote_code=True\n", ""},
		{"vocab.txt", "a: 1\nos.system\n", ""},
		{"config.yaml", "file_path_metas:\n  init_param: ../../model.pt\n  config: config.yaml\n", leads},
		{"config.yaml", "model: x\nfile_path_metas: {init_param: model.pt,\n    tokenizer_conf: {bpemodel: /etc/x}}\n", leads},
		{"config.yaml", "file_path_metas:\n  init_param: model.pt\n  tokenizer_conf:\n    bpemodel: a/b.model\nother: ../x\n", "sidecar.unexplained"},
		{"start", "#!/bin/sh\ntouch x\n", code},
		{"labels.txt", "#!/bin/sh\ntouch x\n", code},
		{"labels.txt", "# a\n#!b\n", ""},
		{"requirements.txt", "-i https://example.org/simple\ntorch\n", code + " " + handler},
		{"requirements.txt", "-f https://example.org/\n", code + " " + handler},
		{"requirements.txt", "--find packages\n", code + " " + handler},
		{"requirements.txt", "torch @ https://example.org/t.whl\n", code + " " + handler},
		{"requirements.txt", "git+ssh://example.org/t\n", code + " " + handler},
		{"requirements.txt", "--ind\\\nex packages\n", code + " " + handler},
		{"requirements.txt", "-r ../x.txt\n", code + " " + handler},
		{"requirements-dev.txt", "git+https://example.org/x\n", code + " " + handler},
		{"requirements/base.txt", "https://example.org/x.whl\n", code + " " + handler},
		{"conda.yaml", "dependencies:\n- pip:\n  - -i https://example.org\n", code + " " + handler},
		{"conda.yaml", "dependencies:\n- pip:\n  - a  @  https://example.org/a.whl\n", code + " " + handler},
		{"conda.yaml", "---\nname: a\nchannels:\n- conda-forge\ndependencies:\n- python=3.10\n- pip:\n  - torch==2.1\n", code},
		{"requirements.txt", "# https://example.org\n-r base.txt\n--pre\ntorch==2.1 \\\n  --hash=sha256:ab\nnumpy>=1.2,<2\n", code},
	} {
		if got := check(t, limits.Policy{}, c.name, c.text); got != c.want {
			t.Errorf("%s %.80s: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

// However many warnings come first, and of the same code, a danger is told.
func TestWarningsHideNoDanger(t *testing.T) {
	many := `{"a": [` + strings.Repeat(`{"_target_": "torch.nn.Linear"}, `, 100) + `{"_target_": "os.system"}]}`
	got := check(t, limits.Policy{}, "a.json", many)
	if n := strings.Count(got, "sidecar.target"); n != 65 {
		t.Errorf("%d findings, want 64 warnings and a danger", n)
	}
}
