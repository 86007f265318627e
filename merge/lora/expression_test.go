package lora

import (
	"errors"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// Which names expressions fit, as Python 3.11's re.fullmatch says: the first are those
// that Unsloth and ms-swift write for models that also see.
func TestExpressionsFitAsPythonSays(t *testing.T) {
	for _, c := range []struct{ text, fits, others string }{
		{`(?:.*?(?:language|text).*?(?:self_attn|attention|attn|mlp|feed_forward|ffn|dense).*?\.(?:q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj|qkv|proj))|(?:\bmodel\.layers\.[\d]{1,}(?!.*\.experts\.\d)\..*?(?:self_attn|attention|attn|mlp|feed_forward|ffn|dense).*?\.(?:(?:q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj|qkv|proj)))`, "model.language_model.layers.0.self_attn.q_proj model.layers.3.mlp.shared_expert.up_proj", "model.layers.3.mlp.experts.7.up_proj model.visual.blocks.0.attn.qkv xmodel.layers.0.mlp.up_proj"},
		{`(?!(?:model\.layers\.0\.mlp\.gate_proj|lm_head)$)(?:(?:.*?(?:language|text).*?(?:self_attn|attention|attn|mlp|feed_forward|ffn|dense).*?\.(?:q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj|qkv|proj))|(?:\bmodel\.layers\.[\d]{1,}(?!.*\.experts\.\d)\..*?(?:self_attn|attention|attn|mlp|feed_forward|ffn|dense).*?\.(?:(?:q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj|qkv|proj))))`, "model.layers.1.mlp.gate_proj", "model.layers.0.mlp.gate_proj lm_head"},
		{`(?!x)x`, "", "x y"},
		{`^((?!(model\.visual\.merger))model\.visual(?=\.).*\.(qkv|proj|linear_fc1)|model\.language_model(?=\.).*\.(q_proj|down_proj))$`, "model.visual.blocks.3.attn.qkv model.language_model.layers.0.mlp.down_proj", "model.visual.merger.linear_fc1 model.visuals.qkv model.language_model.layers.0.mlp.up_proj"},
		{`^(?!.*(?:visual|vision)).*(?:q_proj|v_proj)$`, "model.layers.0.q_proj", "model.visual.q_proj model.layers.0.q_proj.x"},
		{`.*(?<!\.experts)\.\d+\.(?:w1|w2)`, "a.layers.1.w1", "a.experts.1.w1"},
		{`model\.layers\.(?:1[0-9]|[5-9])\..*\.[qv]_proj`, "model.layers.7.self_attn.q_proj model.layers.19.a.v_proj", "model.layers.4.self_attn.q_proj"},
		{`a{2,3}?b{,2}c{1}`, "aabbc aaac", "aab aabbbc"},
		{`[^]a-c\d-]+|\bx\B.`, "def xy x.", "dae d-"},
		{`(?:a|b|)*c{x}`, "abbac{x} c{x}", "cx"},
	} {
		ledger.Charges(t)
		b := limits.Policy{}.Budget(t.Context())
		w := b.Probe()
		e, err := readExpression(w, c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		steps := w.Steps()
		for i, list := range [...]string{c.others, c.fits} {
			for name := range strings.FieldsSeq(list) {
				if fits, err := e.fits(&steps, name); err != nil || fits != (i == 1) {
					t.Errorf("%s and %s: %t, %v", c.text, name, fits, err)
				}
			}
		}
		w.Close()
		limitstest.NoLeak(t, b)
		b.Close()
	}
}

// Expressions that Python refuses, and those that are not read here.
func TestExpressionsThatAreNotRead(t *testing.T) {
	for _, text := range []string{
		"(", "a)", "*a", "a**", "a{2}{3}", "^*", `\b+`, "a{3,2}", "[b-a]", `[a-\d]`, `[\d-a]`, "(?<=a*)b", "(?<=a|bc)d", "(?P<n>a)(?P<n>b)", "(?P<1>a)", "[a", `\`, `\q`, "(?", "(?<a)",
		"(?i)a", "a{99999}", "a{3,99999999999}", "a{30000,20000}", `(a)\1`, "(?P<n>a)(?P=n)", "(?>a)", "a++", "(a)?(?(1)b)", "(?#a)b", "[[a]", "[a||b]", `\x41`, `[\b]`, "\u00e9", "a\n",
	} {
		ledger.Charges(t)
		b := limits.Policy{}.Budget(t.Context())
		if _, err := readExpression(b, text); !errors.Is(err, errExpression) {
			t.Errorf("%q: %v", text, err)
		}
		b.Close()
	}
}

// Matching a name costs steps.
func TestExpressionsThatCostMuchAreALimit(t *testing.T) {
	name := strings.Repeat("a", maxName)
	for _, text := range []string{
		"(((((((((((.|a.)*)*b?)*)*c?)*)*)*)*)*)*)*x",
		strings.Repeat("(?:.|..){1000}", 500) + "x",
		strings.Repeat("(?=(?:a|.)*", 60) + strings.Repeat(")", 60) + "x",
		strings.Repeat("(", 200) + strings.Repeat(")", 200),
	} {
		b := limits.Policy{MaxSteps: 1 << 14}.Budget(t.Context())
		e, err := readExpression(b, text)
		if err == nil {
			steps := b.Steps()
			_, err = e.fits(&steps, name)
		}
		if wire.ClassOf(err) != wire.Limit {
			t.Errorf("%.40s: %v", text, err)
		}
		b.Close()
	}
}
