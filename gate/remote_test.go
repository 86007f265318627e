package gate_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
		g, sum := gate.Gate{Digest: true, Version: "7"}, sha256.Sum256([]byte(data))
		h, size := gate.Hint{Name: name, Beside: true, SHA256: hex.EncodeToString(sum[:])}, int64(len(data))
		v, err := g.Check(b, strings.NewReader(data), size, gate.Hint{Name: name, Beside: true})
		if err != nil {
			t.Fatal(err)
		}
		text, err := v.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		r, err := g.Remote(text, size, h)
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
		here, ok := r.Acceptance()
		if ok != v.Accepted() || here.Of(sum, size) != ok || here.OK() != ok {
			t.Errorf("%s: accepted %v, with %v", name, v.Accepted(), here)
		}
		another := strings.Repeat("0", 64)
		for _, change := range []map[string]any{{"name": "other"}, {"size": size + 1}, {"sha256": another}, {"policy": another}, {"rules_digest": another}, {"version": "8"}, {"promised": "gguf"}, {"excluded": true}, {"schema": "amn.verdict/9"}, {"class": "internals"}, {"class": "differs"}, {"accepted": !v.Accepted()}, {"refusals": map[bool]any{true: []any{map[string]string{}}, false: []any{}}[v.Accepted()]}} {
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
			if r, err := g.Remote(forged, size, h); err == nil || wire.ClassOf(err) != wire.Internal {
				t.Errorf("%s with %v: %+v, %v", name, change, r, err)
			}
		}
	}
	var g gate.Gate
	if _, err := g.Remote([]byte("panic: ..."), 0, gate.Hint{}); err == nil {
		t.Error("what is not a verdict is one")
	}
}

// A child writes its members twice, and one that it may not write: the parent writes its own.
func TestARemoteVerdictIsWrittenByTheParent(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	const data = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	sum := sha256.Sum256([]byte(data))
	g, h := gate.Gate{Digest: true}, gate.Hint{Name: "m.safetensors", SHA256: hex.EncodeToString(sum[:])}
	v, err := g.Check(b, strings.NewReader(data), int64(len(data)), h)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	forged := append([]byte(`{"accepted":false,"sha256":"no","receipt":{},`), text[1:]...)
	r, err := g.Remote(forged, int64(len(data)), h)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(r); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%v: %s, not %s", err, again, text)
	}
}
