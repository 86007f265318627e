package gate_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A verdict that comes from another process says what the one here does.
func TestARemoteVerdictSaysTheSame(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for name, data := range map[string]string{
		"m.safetensors": "\x02\x00\x00\x00\x00\x00\x00\x00{}", "a.pkl": "cos\nsystem\n(S'id'\ntR.", "cut.safetensors": "\x02\x00", "no.gguf": "none", "README": "a text\n",
	} {
		v, err := gate.Check(b, strings.NewReader(data), int64(len(data)), gate.Hint{Name: name, Beside: true})
		if err != nil {
			t.Fatal(err)
		}
		text, err := v.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		r, err := gate.Remote(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.MarshalJSON()
		if err != nil || !bytes.Equal(again, text) || r.Class() != v.Class() || r.Accepted() != v.Accepted() || r.Size != v.Size || r.Format != v.Format || r.Harmless != v.Harmless || r.Unlooked != v.Unlooked {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
		if diff := cmp.Diff(v.Refusals(), r.Refusals()); diff != "" {
			t.Errorf("%s: here -, there +:\n%s", name, diff)
		}
		v.Close()
		r.Close()
		for _, change := range []map[string]any{{"schema": "amn.verdict/9"}, {"class": "internals"}, {"class": "differs"}, {"accepted": !v.Accepted()}, {"refusals": map[bool]any{true: []any{map[string]string{}}, false: []any{}}[v.Accepted()]}} {
			var doc map[string]any
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			for k, x := range change {
				doc[k] = x
			}
			forged, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := gate.Remote(forged); err == nil || wire.ClassOf(err) != wire.Internal {
				t.Errorf("%s with %v: %+v, %v", name, change, r, err)
			}
		}
	}
	if _, err := gate.Remote([]byte("panic: ...")); err == nil {
		t.Error("what is not a verdict is one")
	}
}
