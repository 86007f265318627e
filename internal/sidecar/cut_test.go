package sidecar_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// Only the beginning and the end of a long text are kept, and a long line of YAML is read in
// pieces: the deciding part may come after them, between them, or on the next line.
func TestLongTextsAreJudgedWhereverTheMemberIs(t *testing.T) {
	var (
		dirs   = strings.Repeat("dd/", 256)
		chain  = strings.Repeat("os.path.", 128)
		spaces = strings.Repeat(" ", 2*bufSize)
		words  = strings.Repeat("a ", bufSize)
		letter = strings.Repeat("a", 2*bufSize)
	)
	for _, c := range []struct{ name, text, want string }{
		{"any.json", `{"lib": "` + dirs + `evil.so"}`, "sidecar.library"},
		{"any.json", `{"lib": "` + dirs + `evil.DLL"}`, "sidecar.library"},
		{"any.json", `{"lib": "` + dirs + `evil.dyl\u0069b"}`, "sidecar.library"},
		{"any.json", `{"lib": "` + letter + `/evil.pyd"}`, "sidecar.library"},
		{"any.json", `{"about": "It was so, ` + words + ` and so"}`, ""},
		{"any.json", `{"about": "` + words + ` see libx.so"}`, ""},
		{"any.json", `{"about": "` + dirs + ` ` + dirs + `libx.so"}`, ""},
		{"any.json", `{"base64": "` + letter + `"}`, ""},
		{"any.json", `{"name": "` + chain + `system"}`, "sidecar.import"},
		{"any.json", `{"target": "operator.` + strings.Repeat("itemgetter.", 60) + `attrgetter"}`, "sidecar.target"},
		{"any.json", `{"class_path": "` + strings.Repeat("a.", 1000) + `os.system"}`, "sidecar.target"},
		{"config.json", `{"tokenizer_class": "` + letter + `.X"}`, "sidecar.import"},
		{"config.json", `{"activation_function": "` + letter + `.X"}`, "sidecar.import"},
		{"config.json", `{"attn_implementation": "` + letter + `/x"}`, "sidecar.import"},
		{"router_config.json", `{"types": {"a": "` + letter + `.X"}}`, "sidecar.import"},
		{"type.txt", spaces + "evil.Predictor", "sidecar.import"},
		{"type.txt", chain + "system\n", "sidecar.import"},
		{"type.txt", "The types of the labels. " + words + "\n", ""},
		{"x/config.pbtxt", `model_operations { op_library_filename: "evil.so" }`, "sidecar.import"},
		{"x/config.pbtxt", "backend: \"fil\"\nruntime: \"evil.so\"\n", "sidecar.import"},

		{"m.yaml", "name: " + chain + "system\n", "sidecar.import"},
		{"m.yaml", "target: " + strings.Repeat("a.", 1000) + "os.system\n", "sidecar.target"},
		{"m.yaml", "target: " + strings.Repeat("a.", 2*bufSize) + "os.system\n", "sidecar.target"},
		{"m.yaml", "target: &" + letter + " operator.attrgetter\n", "sidecar.target"},
		{"m.yaml", "target:" + spaces + "operator.attrgetter\n", "sidecar.target"},
		{"m.yaml", "class_path:" + spaces + "operator.attrgetter\n", "sidecar.import"},
		{"m.yaml", "class_path:\n  operator.attrgetter\n", "sidecar.import"},
		{"m.yaml", "class_path: >-\n  operator.attrgetter\n", "sidecar.import"},
		{"m.yaml", "\"class\\x5fpath\": operator.attrgetter\n", "sidecar.import"},
		{"m.yaml", "x: '$" + words + "+ f(1)'\n", "sidecar.expression"},
		{"m.yaml", "x: '$a +\nf(1)'\n", "sidecar.expression"},
		{"m.yaml", "x: $a\n  - f(1)\n", "sidecar.expression"},
		{"m.yaml", "x: >\n  $(a\n   + f(1))\n", "sidecar.expression"},
		{"m.yaml", "x: ${a}\nb: nn.ReLU(x)\n", ""},
		{"m.yaml", "- ${a}\n- f(x) is a function\n", ""},
		{"m.yaml", "a: '${a}'\nb: f(x)\n", ""},
		{"m.yaml", "labels: ['$', 'a',\n 'f (x)']\n", ""},
		{"m.yaml", "{activation_x: 1, activation: \"[f()]\"}\n", "sidecar.expression"},
		{"m.yaml", "activation:\n  f()\n", "sidecar.expression"},
		{"m.yaml", "activation: >-\n  f()\n", "sidecar.expression"},
		{"m.yaml", "\"activati\\x6fn\": f()\n", "sidecar.expression"},
		{"m.yaml", "activation: \"[a,\n f()]\"\n", "sidecar.expression"},
		{"m.yaml", "activation: \"" + words + "f()\"\n", "sidecar.expression"},
		{"m.yaml", "activation: gelu\nabout: f(x)\n", ""},
		{"m.yaml", "activation:\n  name: relu\n  about: f (x)\n", ""},
		{"m.yaml", "backbone:\n  - - -1\n    - 1\n    - \"__import__('os').abort()\"\n    - []\nhead: []\n", "sidecar.expression"},
		{"m.yaml", "x: &r\n  - - -1\n    - f()\n\"back\\\nbone\": *r\n\"h\\x65ad\": []\n", "sidecar.expression"},
		{"m.yaml", "backbone: x\nabout:\n  - f() is called\n", ""},
		{"m.yaml", "rows: &r\n  - - f()\n\"b\\x61ckbone\": *r\nhead: *r\n", "sidecar.expression"},
		{"m.yaml", "backbone:\n  - [-1, 1, \"a +\n f()\", []]\nhead: []\n", "sidecar.expression"},
		{"m.yaml", "backbone:\n  - [-1, 1, nn.Upsample, [None, 2]]\nhead: []\nactivation: nn.LeakyReLU(0.1)\n", ""},
		{"m.yaml", "steps:\n  - Run f() first\n", ""},
		{"m.yaml", "download: \"a =\n f()\"\n", "sidecar.expression"},
		{"m.yaml", "download: \"http=1;import os\"\n", "sidecar.expression"},
		{"m.yaml", "download: \"http:1\\nimport os\"\n", "sidecar.expression"},
		{"m.yaml", "download: \"a=1;" + words + "f()\"\n", "sidecar.expression"},
		{"m.yaml", "download: a = b\n", "sidecar.expression"},
		{"m.yaml", "{download_x: 1, download: \"f()\"}\n", "sidecar.expression"},
		{"m.yaml", "\"downl\\x6fad\": \"f()\"\n", "sidecar.expression"},
		{"m.yaml", "download: https://example.org/a%20(1).zip\n", ""},
		{"m.yaml", "download: False # f()\n", ""},
	} {
		if got := but(check(t, limits.Policy{}, c.name, c.text), c.want); got != c.want {
			t.Errorf("%s %.80s: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
