package sidecar

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

func TestExpressionsThatTakeTooLong(t *testing.T) {
	for text, slow := range map[string]bool{
		`(a+)+`: true, `(([a-z.0-9_])+)+X`: true, `(([a-z.0-9_])+)+$X`: true, `(a|a)*b`: true, `(.*)*`: true, `(a|ab)(a|ab)*x`: false,
		`(?:a|b)*`: false, `(a*)*`: true, `(a?)*`: true, `([a-z]+)*X`: true, `(.*\.)*X`: true, `(x.*y)*Z`: true, `(a|a?)+$`: true,
		`(?=(a+)+b)`: true, `(?:a{1,9}){2,9}`: true, `(a|[a-c])+`: true, `(?i:A|a)+`: true, `(\d|\w)*x`: true, `(\w+\s?)*x`: true,
		`x{2000}`: true, `(\x61|a)*`: true, `([^b]|a)*c`: true, `((?:a+)?)*`: true, `(a+)(\1)*(a+)+`: true, `a{1000}{1000}`: false,
		`.*.*.*.*.*.*.*.*x`: true, `(a?){30}a`: true, `a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?aaaaaaaaaaaaaaaaaaaa`: true,
		// Patterns that users of PEFT and of quantizers write.
		`.*\.(q|v)_proj$`: false, `^(?!.*lm_head).*`: false, `.*lm_head`: false, `lm_head`: false, `.*layers\.\d+\.(self_attn|mlp)\.(q_proj|k_proj|up_proj)`: false,
		`(?:.*?(?:language|text).*?(?:self_attn|attention|attn|mlp|feed_forward|ffn|dense).*?(?:k_proj|v_proj|q_proj|out_proj|fc1|fc2).*?)|(?:\bmodel\.layers\.[\d]{1,}\.(?:self_attn|attention|attn|mlp|feed_forward|ffn|dense)\.(?:(?:k_proj|v_proj)))`: false,
		`(\w+\.)*weight`: false, `(?:\.\w+)*_proj`: false, `model\.layers\.([0-9]|1[0-9]|2[0-7])\..*`: false, `*.mlp.*`: false, `model.**.gate`: false,
		`(?:(?!lm_head).)*`: false, `.*\.(?!.*(lora|visual)).*(query|key|value)`: false, `(a+)++(`: false,
	} {
		b := limits.Policy{}.Budget(t.Context())
		if why, err := slowRegex(b, text, false); err != nil || why != "" != slow {
			t.Errorf("%s: %q, %v; slow is %v", text, why, err, slow)
		}
	}
}

// The expressions of tokenizers, as published: GPT-2, Llama 3, Qwen 2, DeepSeek, o200k.
func TestExpressionsOfTokenizersAreNotSlow(t *testing.T) {
	for _, text := range []string{
		`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
		`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
		`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" + `{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
		` {2,}`, `\d{1,3}(?=(?:\d{3})*\b)`,
	} {
		b := limits.Policy{}.Budget(t.Context())
		if why, err := slowRegex(b, text, true); err != nil || why != "" {
			t.Errorf("%s: %q, %v", text, why, err)
		}
	}
	b := limits.Policy{}.Budget(t.Context())
	if why, err := slowRegex(b, `(?:\p{L}+)*x`, true); err != nil || why == "" {
		t.Errorf("a repetition in a repetition is accepted: %v", err)
	}
}
