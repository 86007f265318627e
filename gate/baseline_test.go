package gate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A baseline does not keep refusals that no exception may ignore.
func TestABaselineKeepsOnlyWhatAnExceptionMayIgnore(t *testing.T) {
	for _, c := range []struct {
		what, name, data string
		digest, keeps    bool
	}{
		{"a refusal", "a.pkl", "cos\nsystem\n(S'id'\ntR.", true, true},
		{"a refusal without a digest", "a.pkl", "cos\nsystem\n(S'id'\ntR.", false, false},
		{"what is accepted", "m.safetensors", "\x02\x00\x00\x00\x00\x00\x00\x00{}", true, false},
		{"what is over a limit", "m.safetensors", "\x31\x00\x00\x00\x00\x00\x00\x00" + `{"__metadata__":{"a":"1","b":"2","c":"3","d":""}}`, true, false},
	} {
		policy := limits.Policy{}
		if strings.Contains(c.what, "limit") {
			policy.MaxItems = 2
		}
		b := policy.Budget(t.Context())
		g := gate.Gate{Policy: gate.Policy{Limits: *b.Policy()}, Digest: c.digest}
		v, err := g.Check(b, strings.NewReader(c.data), int64(len(c.data)), gate.Hint{Name: c.name})
		if err != nil {
			t.Fatal(err)
		}
		k, keeps := v.Known()
		if keeps != c.keeps {
			t.Errorf("%s: %+v, %v, %v", c.what, k, keeps, v.Err)
		}
		if keeps {
			text, err := json.Marshal(map[string]any{"schema": gate.BaselineSchema, "files": []gate.Known{k}})
			if err != nil {
				t.Fatal(err)
			}
			list, err := gate.ReadBaseline(strings.NewReader(string(text)))
			if err != nil || len(list) != 2 || list[0].SHA256 != v.SHA256 {
				t.Errorf("%s: %v, %v", c.what, list, err)
			}
		}
		v.Close()
		b.Close()
	}
}
