package tokenizer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Assertions of an expression are charged like the characters that it reads, and so is each
// comparison with an added token: both took seconds for a million steps.
func TestWorkBetweenCharactersIsCharged(t *testing.T) {
	const model = `"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}`
	long := `"normalizer": {"type": "Prepend", "prepend": "` + strings.Repeat("a", 1000) + `"}`
	longer := strings.Replace(long, "aaa", strings.Repeat("a", 3000), 1)
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id": %d, "content": "%sb%d`, 3+i, strings.Repeat("a", 3000), i) + `", "special": false, "normalized": true, "lstrip": false, "rstrip": false, "single_word": false}`
	}
	for name, file := range map[string]string{
		"a look ahead": `{` + long + `, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?:.(?![` + strings.Repeat("z", 4000) + `]))*z"}, "behavior": "Isolated"}, ` + model + `}`,
		"added tokens": `{` + longer + `, "added_tokens": [` + strings.Join(many, ",") + `], ` + model + `}`,
	} {
		b := account(t, limits.Policy{MaxSteps: 20_000_000})
		j, err := ParseJSON(b, FileName, file)
		if err == nil {
			_, err = j.Digest(b)
		}
		if wire.ClassOf(err) != wire.Limit {
			t.Errorf("%s: %v", name, err)
		}
	}
}
