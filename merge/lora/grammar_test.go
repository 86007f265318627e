package lora_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
)

// Expressions that Python's re reads otherwise, or not at all, are not read.
func TestExpressionsOfOtherGrammars(t *testing.T) {
	for text, reads := range map[string]bool{
		"q_proj": true, `.*\\.layers\\.[0-9]+\\.(?:q|k)_proj`: true, `l{1,3}`: true, `(?P<a>l)`: true, `[^]a]+`: true, `l$`: true,
		`[[:alpha:]]+`: false, `l{,3}`: false, `x)|(l`: false, `(?i)L`: false, `\\Ql\\E`: false, `\\pL`: false, `l\\z`: false, `(?<a>l)`: false,
		`^*l`: false, `\\x{6c}`: false, `(?s:.)`: false, `[a`: false, `l\\`: false, `é`: false,
	} {
		a := folder{`{"peft_type":"LORA","r":2,"alpha_pattern":{"` + text + `":4}}`, pair("l", 2, 5, 4)}
		_, _, err := merge(t, folder{tensors: []fixtures.Tensor{fixtures.Whole("l.weight", "F32", 3, 5, 4)}}, a)
		if (err == nil) != reads {
			t.Errorf("%s: %v", text, err)
		}
	}
}
