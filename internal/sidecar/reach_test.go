package sidecar_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// What libraries import, call or evaluate because a text says so, and texts that
// only look so.
func TestTextsThatLeadToCode(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"config.yaml", "pipeline:\n  name: pyannote.audio.pipelines.SpeakerDiarization\n", ""},
		{"config.yaml", "pipeline:\n  name: \"os\\x2esystem\"\n", "sidecar.import"},
		{"config.yaml", "pipeline:\n  name: >-\n    psutil.Popen\n", "sidecar.import"},
		{"config.yaml", "pipeline: {name: &a 'torch.hub.load', params: {}}\n", "sidecar.import"},
		{"config.yaml", "# name: os.system\nfile: joblib.pkl\nabout: os.system runs a program\nb: see os.path\n", ""},
		{"config.yaml", "target: torch.nn.Identity\n", ""},
		{"config.yaml", "target: torch.optim.lr_scheduler.LambdaLR\ndtype: torch.float16\n", ""},
		{"config.yaml", "target: torch.utils.data.DataLoader\n", ""},
		{"config.yaml", "target: transformers.pipeline\n", "sidecar.target"},
		{"config.yaml", "target: transformers.AutoModel.from_pretrained\n", "sidecar.target"},
		{"config.yaml", "target: sgm.models._private.X\n", "sidecar.target"},
		{"config.yaml", "target: operator.attrgetter\n", "sidecar.target"},
		{"config.yaml", "class_path: lightning.pytorch.cli.LightningCLI\n", "sidecar.import"},
		{"config.yaml", "target:\n\n  operator.attrgetter\n", "sidecar.target"},
		{"config.yaml", "target: >-\n  operator.attrgetter\n", "sidecar.target"},
		{"config.yaml", "? target\n: operator.attrgetter\n", "sidecar.target"},
		{"config.yaml", "\"targe\\x74\": \"operator\\x2eattrgetter\"\n", "sidecar.target"},
		{"config.yaml", "target: !!str &a operator.attrgetter\n", "sidecar.target"},
		{"config.yaml", "a: &a operator.attrgetter\ntarget: *a\n", "sidecar.target"},
		{"config.yaml", "target:\n  x: 1\n  y: [1.5, 2]\n", ""},
		{"config.json", `{"_experts_implementation": "evil/x"}`, "sidecar.import"},
		{"config.yaml", "class_path: datetime.timedelta\n", ""},
		{"config.yaml", "class_path: lightning.pytorch.callbacks.ModelCheckpoint\n", ""},
		{"hydra.yaml", "_target_: lightning.pytorch.core.saving._load_state\n", "sidecar.target"},
		{"config.json", `{"target": "torch.hub.load", "n": "os.py"}`, "sidecar.target"},
		{"config.json", `{"a": {"anything": "builtins.eval"}}`, "sidecar.import"},
		{"a.json", `{"ruleId": "pickle.align", "text": "profile.title"}`, ""},
		{"a.json", `{"a": "pickle.loads"}`, "sidecar.import"},
		{"a.json", `{"a": "pickle.sys.modules"}`, "sidecar.import"},
		{"a.json", `{"a": "profile.run"}`, "sidecar.import"},
		{"tokenizer.json", `{"added_tokens": [{"content": "os.system"}], "vocab": [["os.path", -3.5], ["$(a).b(c)", -4]], "merges": ["os .path"]}`, ""},
		{"configs/inference.json", `{"imports": ["$import os"]}`, "sidecar.expression"},
		{"configs/inference.json", `{"x": "$@network.a + 1", "y": "$5 (or more)", "z": "$HOME/$(x)"}`, ""},
		{"configs/inference.yaml", "x: '$f(1)'\n", "sidecar.expression"},
		{"configs/inference.yaml", "- $\\\n from os import abort\n", "sidecar.expression"},
		{"configs/inference.yaml", "a: ${model.dim}\nb: ${oc.env:HOME}\nc: costs $5 (or more)\n", ""},
		{"yolo.yaml", "activation: nn.LeakyReLU(0.1)\nbackbone:\n  - [-1, 1, Conv, [64, 3, 2]]\n", ""},
		{"yolo.yaml", "activation: \"torch.nn.SiLU()\"\n", ""},
		{"yolo.yaml", "activation: nn.SiLU(), f()\n", "sidecar.expression"},
		{"yolo.yaml", "  - [-1, 1, \"__import__('os').system('id')\", []]\n", "sidecar.expression"},
		{"data.yaml", "download: https://example.org/coco.zip\n", ""},
		{"data.yaml", "download: \"import os\\nos.abort()\"\n", "sidecar.expression"},
		{"data.yaml", "download:\n\n  a =\n  f()\n", "sidecar.expression"},
		{"data.yaml", "download:\n  url: x\nb:\n  c()\n", ""},
		{"data.yaml", "download: true\na: download (2 GB)\n", ""},
		{"data.yaml", "download: bash data/get.sh\n", "sidecar.expression"},
		{"rwkv_vocab_v1.txt", "1 'a' 1\n2 b'\\xff' 1\n3 \"'\" 1\n4 ' ' 1\n", ""},
		{"rwkv_vocab_v1.txt", "1 'a'+f('b') 1\n", "sidecar.expression"},
		{"labels.txt", "1 f() 1\n", ""},
		{"x/handler.py", "import os\n", "sidecar.handler"},
		{"m.tar.gz!code/inference.py", "import os\n", "sidecar.handler"},
		{"inference.py", "import os\n", ""},
		{"m/12/model.py", "", "sidecar.handler"},
		{"m/src/model.py", "", ""},
		{"custom_generate/generate.py", "", "sidecar.auto-map"},
		{"config.json", `{"custom_pipelines": {"a": {"impl": "code.Pipe", "pt": ["AutoModel"]}}}`, "sidecar.auto-map"},
		{"model.gin", "from __gin__ import dynamic_registration\nfrom t5x import models\nx.y = 1\n", "sidecar.target"},
		{"model.gin", "import subprocess\n", "sidecar.import"},
		{"model.gin", "x.y = @os.system()\n", "sidecar.import"},
		{"deploy.prototxt", "layer { type: \"ReLU\" }\n", ""},
		{"type.txt", "gluonts.torch.model.predictor.PyTorchPredictor\n", ""},
		{"type.txt", "evil.Predictor", "sidecar.import"},
		{"predictor.json", `{"__kind__": "instance", "class": "gluonts.torch.model.deepar.module.DeepARModel", "kwargs": {"x": {"__kind__": "type", "class": "numpy.dtype"}}}`, ""},
		{"config.json", `{"model": "vits", "characters": {"characters_class": "TTS.tts.models.vits.VitsCharacters"}}`, ""},
		{"model-settings.json", `{"implementation": "mlserver_sklearn.SKLearnModel"}`, ""},
		{"configuration.json", `{"framework": "pytorch", "task": "chat", "allow_remote": false}`, ""},
		{"configuration.json", `{"plugins": ["evil"]}`, "sidecar.import"},
		{"modular_model_index.json", `{"a": [null, null, {"repo": "x/y", "type_hint": ["diffusers", "UNet"]}], "b": [null, null, {"type_hint": {"evil": 1, "X": 2}}]}`, "sidecar.import"},
		{"genai_config.json", `{"backend_path": "QnnHtp.dll", "x": "it was so. And so"}`, ""},
		{"any.json", `{"lib": "evil.so"}`, "sidecar.library"},
	} {
		if got := check(t, limits.Policy{}, c.name, c.text); got != c.want {
			t.Errorf("%s %.80s: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
