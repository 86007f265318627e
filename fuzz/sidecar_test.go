package fuzz_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// FuzzSidecar tests that the findings of a text beside a model are the same twice and lie
// in the text, nothing stays charged, and a template that Go's JSON reader finds is judged
// as if it were a file of its own.
func FuzzSidecar(f *testing.F) {
	sidecarsEndAs(f)
	f.Add("{{ ''.__class__ }}", uint8(0))
	f.Add(`{"a": [NaN, {"chat_template": "{{ x.\u005f_class__ }}"}], "auto_map": {"A": "b.C"}}`, uint8(1))
	f.Add(`{"chat_template": "{{ ''.__class__ }}"}`, uint8(1))
	f.Add(`{"ChAt_templAte": "{#00000000"}`, uint8(1))
	f.Add(`{"class_name": "Lambda", "module": "os", "config": {}}`, uint8(1))
	f.Add("a:\n  _target_: os.system\n", uint8(2))
	f.Add("external_data { key: \"location\" value: '..' # a\n \"/b\" }", uint8(3))
	f.Add(`<float[2] e = ["loc\ation" : "../b"]>`, uint8(4))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		name := [...]string{"chat_template.jinja", "tokenizer_config.json", "m.yaml", "m.textproto", "m.onnxtxt"}[kind%5]
		look := func(name, text string) []tensor.Finding {
			b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			found, err := sidecar.Check(w, sidecar.Text{Name: name, R: strings.NewReader(text), Size: int64(len(text))})
			w.Close()
			limitstest.NoLeak(t, b)
			if c := wire.ClassOf(err); err != nil && (c == wire.Internal || c == wire.OK) {
				t.Fatalf("%v: %v", c, err)
			}
			for _, f := range found {
				if f.Off < 0 || f.Off > int64(len(text)) || !limits.IsFinding(f.Code) {
					t.Fatalf("%+v", f)
				}
			}
			return found
		}
		first := look(name, text)
		if again := look(name, text); !slices.Equal(first, again) {
			t.Fatalf("%v, then %v", first, again)
		}
		var config map[string]any // a struct would take names of other cases, as no reader of models does
		if name != "tokenizer_config.json" || json.Unmarshal([]byte(text), &config) != nil {
			return
		}
		if template, ok := config["chat_template"].(string); ok && len(look("x.jinja", template)) > 0 && len(first) == 0 {
			t.Errorf("%q holds what is found in %q alone", text, template)
		}
	})
}

// sidecarsEndAs fails a target that does not find, or refuse, what is wrong with a text.
func sidecarsEndAs(f *testing.F) {
	f.Helper()
	long := strings.Repeat("x", 4<<20+1)
	for _, c := range []struct{ name, text, want string }{
		{"tokenizer_config.json", `{"chat_template": "a", "b": [1, -2.5e3, true, null, {}], "c": "\u00e9\n"}`, ""},
		{"tokenizer_config.json", `{"chat_template": "a"} x`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"chat_template": "a"}{}`, "sidecar.syntax"},
		{"tokenizer_config.json", `{chat_template: "a"}`, "sidecar.syntax"},
		{"tokenizer_config.json", `{'chat_template": "a"}`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"chat_template" "a"}`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"a": ?}`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"a": 1 "b": 2}`, "sidecar.syntax"},
		{"tokenizer_config.json", `["a",]`, "sidecar.syntax"},
		{"tokenizer_config.json", `["a"}`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"a": "\q"}`, "sidecar.unexplainedsidecar.syntax"},
		{"tokenizer_config.json", `{"a": "\u12g4"}`, "sidecar.unexplainedsidecar.syntax"},
		{"tokenizer_config.json", `{"a": "b`, "sidecar.syntax"},
		{"tokenizer_config.json", `{"chat_template": "` + long + `"}`, "sidecar.template-size"},
		{"tokenizer_config.json", `{"chat_template": "` + long[1:] + `"}`, "template.size"}, // a finding of what judges it
		{"x.jinja", long, "sidecar.template-size"},
		{"x.jinja", long[1:], "template.size"},
	} {
		b := limits.Policy{Timeout: limits.NoTimeout}.Budget(f.Context())
		found, err := sidecar.Check(b, sidecar.Text{Name: c.name, R: strings.NewReader(c.text), Size: int64(len(c.text))})
		b.Close()
		codes := wire.RuleOf(err)
		for _, f := range found {
			codes += f.Code
		}
		if codes != c.want {
			f.Errorf("%s %.80q: %q (%v), not %q", c.name, c.text, codes, err, c.want)
		}
	}
}
