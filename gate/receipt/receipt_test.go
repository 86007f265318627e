package receipt

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	model = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	evil  = "cos\nsystem\n(S'id'\ntR."
	nonce = "a-nonce-of-the-caller"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// signer returns a signer at noon, and its public key.
func signer(t *testing.T, seed byte) (*Signer, ed25519.PublicKey) {
	t.Helper()
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), time.Minute, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	pub, err := PublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	if err != nil {
		t.Fatal(err)
	}
	return s, pub
}

// verdict judges a file.
func verdict(t *testing.T, g gate.Gate, name, data string) *gate.Verdict {
	t.Helper()
	return asked(t, g, gate.Hint{Name: name}, data)
}

// asked judges a file by what is stated of it.
func asked(t *testing.T, g gate.Gate, h gate.Hint, data string) *gate.Verdict {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	v, err := g.Check(b, strings.NewReader(data), int64(len(data)), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// A receipt is the answer to one question: about these bytes, by this policy, asked with
// this nonce, signed with this key, now. Every other is refused, and so is a refusal.
func TestAReceiptAnswersOneQuestion(t *testing.T) {
	g := gate.Gate{Digest: true, Version: "7"}
	policy, err := g.Policy.Digest()
	if err != nil {
		t.Fatal(err)
	}
	s, key := signer(t, 1)
	sign := func(v *gate.Verdict, nonce string) []byte {
		text, err := s.Sign(v, nonce)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := sign(verdict(t, g, "m.safetensors", model), nonce)
	want := Want{Name: "m.safetensors", SHA256: sha256.Sum256([]byte(model)), Size: 10, Nonce: nonce, Policy: policy, Rules: gate.RulesDigest("7"), Now: noon}
	r, err := Check(good, key, want)
	if err != nil || !r.Accepted || r.Name != "m.safetensors" || r.Class != "ok" || r.Version != "7" || r.Issued != noon || r.Expires != noon.Add(time.Minute) {
		t.Fatalf("%v: %+v", err, r)
	}
	anyRules := want
	anyRules.Rules = ""
	if _, err := Check(good, key, anyRules); err != nil {
		t.Error(err)
	}
	other, otherKey := signer(t, 2)
	refused := sign(verdict(t, g, "m.pkl", evil), nonce)
	ofAnother, err := attest.Result{Name: "m", Files: []attest.File{{Name: ".", Sum: sha256.Sum256([]byte(model))}}, Policy: policy, Time: noon}.Statement()
	if err != nil {
		t.Fatal(err)
	}
	attested, err := attest.Sign(ofAnother, s.key)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(good), base64.StdEncoding.EncodeToString([]byte("7"))[:1], "A", 1)
	strict := gate.Gate{Digest: true, Version: "7", Policy: gate.Policy{FailOn: gate.FailOnNote}}
	for name, tc := range map[string]struct {
		text []byte
		key  ed25519.PublicKey
		edit func(*Want)
	}{
		"nothing":                   {nil, key, nil},
		"no envelope":               {[]byte("{}"), key, nil},
		"no key":                    {good, nil, nil},
		"another key":               {good, otherKey, nil},
		"signed by another":         {mustSign(t, other, verdict(t, g, "m.safetensors", model)), key, nil},
		"edited":                    {[]byte(edited), key, nil},
		"another statement":         {attested, key, nil},
		"a refusal":                 {refused, key, func(w *Want) { w.Name, w.SHA256, w.Size = "m.pkl", sha256.Sum256([]byte(evil)), int64(len(evil)) }},
		"a refusal for these bytes": {refused, key, nil},
		"another file":              {good, key, func(w *Want) { w.SHA256 = sha256.Sum256([]byte(evil)) }},
		"another size":              {good, key, func(w *Want) { w.Size++ }},
		"an old policy":             {sign(verdict(t, strict, "m.safetensors", model), nonce), key, nil},
		"other rules":               {good, key, func(w *Want) { w.Rules = gate.RulesDigest("8") }},
		"another nonce":             {good, key, func(w *Want) { w.Nonce = nonce + "2" }},
		"no nonce in the answer":    {sign(verdict(t, g, "m.safetensors", model), ""), key, nil},
		"too old":                   {good, key, func(w *Want) { w.Now = noon.Add(time.Minute) }},
		"from the future":           {good, key, func(w *Want) { w.Now = noon.Add(-2 * time.Minute) }},
		"the zero question":         {good, key, func(w *Want) { *w = Want{} }},
		"no digest":                 {good, key, func(w *Want) { w.SHA256 = [32]byte{} }},
		"no name":                   {good, key, func(w *Want) { w.Name = "" }},
		"another name":              {good, key, func(w *Want) { w.Name = "handler.py" }},
		"a promise":                 {good, key, func(w *Want) { w.Promised = "safetensors" }},
		"beside others":             {good, key, func(w *Want) { w.Beside = true }},
		"by another name":           {sign(verdict(t, g, "n.safetensors", model), nonce), key, nil},
		"by a promise":              {sign(asked(t, g, gate.Hint{Name: "m.safetensors", Promised: "safetensors"}, model), nonce), key, nil},
		"as a file beside others":   {sign(asked(t, g, gate.Hint{Name: "m.safetensors", Beside: true}, model), nonce), key, nil},
		"no policy":                 {good, key, func(w *Want) { w.Policy = "" }},
		"no time":                   {good, key, func(w *Want) { w.Now = time.Time{} }},
		"an empty nonce":            {sign(verdict(t, g, "m.safetensors", model), ""), key, func(w *Want) { w.Nonce = "" }},
		"too long":                  {append(good, strings.Repeat(" ", MaxBytes)...), key, nil},
	} {
		w := want
		if tc.edit != nil {
			tc.edit(&w)
		}
		if r, err := Check(tc.text, tc.key, w); err == nil || r.Accepted {
			t.Errorf("%s: taken: %+v", name, r)
		}
	}
	if text, err := s.Sign(asked(t, g, gate.Hint{Name: "m.safetensors", Beside: true, Field: true}, model), nonce); err == nil {
		t.Errorf("a receipt for the value of a field: %s", text)
	}
	if r, err := Open(refused, key); err != nil || r.Accepted || r.Class != "forbidden" || r.SHA256 == "" {
		t.Errorf("what a refusal says: %v, %+v", err, r)
	}
}

func mustSign(t *testing.T, s *Signer, v *gate.Verdict) []byte {
	t.Helper()
	text, err := s.Sign(v, nonce)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A signer says accepted of nothing that no judgement accepted.
func TestASignerSignsOnlyVerdicts(t *testing.T) {
	s, key := signer(t, 1)
	for name, v := range map[string]*gate.Verdict{"zero": {}, "without a digest": verdict(t, gate.Gate{}, "m.safetensors", model)} {
		if text, err := s.Sign(v, nonce); err == nil {
			t.Errorf("%s: signed: %s", name, text)
		}
	}
	for _, bad := range []string{"short", "has spaces in it", strings.Repeat("a", MaxNonce+1), "nul\x00nul\x00"} {
		if _, err := s.Sign(verdict(t, gate.Gate{Digest: true}, "m.safetensors", model), bad); wire.ClassOf(err) != wire.Usage {
			t.Errorf("the nonce %q: %v", bad, err)
		}
	}
	// A statement that contradicts itself, or has a duplicate or unknown member, is refused.
	for _, predicate := range []string{`{"accepted":true,"class":"forbidden"}`, `{"accepted":false,"class":"ok"}`, `{"accepted":true,"class":"ok","verdict":1}`, `{"accepted":true,"class":"ok"}`, `{"accepted":false,"class":"forbidden","promised":1}`} {
		text, err := attest.Sign(fmt.Appendf(nil, `{"_type":%q,"subject":[],"predicateType":%q,"predicate":%s}`, statementType, predicateType, predicate), s.key)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Open(text, key); err == nil {
			t.Errorf("%s: %+v", predicate, r)
		}
	}
	if n := NewNonce(); !IsNonce(n) || n == NewNonce() {
		t.Errorf("a nonce: %q", n)
	}
	var e struct{ Signatures []struct{ KeyID string } }
	if err := json.Unmarshal(mustSign(t, s, verdict(t, gate.Gate{Digest: true}, "m.safetensors", model)), &e); err != nil || len(e.Signatures) != 1 || len(e.Signatures[0].KeyID) != 64 {
		t.Errorf("%v: %+v", err, e)
	}
}

// Only an Ed25519 key signs.
func TestKeysThatCannotSignReceiptsAreRefused(t *testing.T) {
	for _, text := range []string{"", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := NewSigner([]byte(text), time.Minute, time.Now); err == nil {
			t.Errorf("%q signs", text)
		}
		if _, err := PublicKey([]byte(text)); err == nil {
			t.Errorf("%q checks", text)
		}
	}
	s, _ := signer(t, 1)
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), time.Minute, nil); wire.ClassOf(err) != wire.Usage {
		t.Errorf("a signer without a clock: %v", err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(other.Public())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), time.Minute, time.Now); wire.ClassOf(err) != wire.Usage {
		t.Errorf("a key of P-256 signs: %v", err)
	}
	if _, err := PublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})); wire.ClassOf(err) != wire.Usage {
		t.Errorf("a key of P-256 checks: %v", err)
	}
	for _, none := range []*Signer{nil, {}} {
		if _, err := none.Sign(&gate.Verdict{}, ""); wire.ClassOf(err) != wire.Internal {
			t.Errorf("no key signs: %v", err)
		}
	}
	for _, window := range []time.Duration{0, -time.Second} {
		if _, err := NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), window, time.Now); err == nil {
			t.Errorf("a window of %v", window)
		}
	}
}

// The receipt of a folder answers for the folder, and for no file; that of a file for no folder.
func TestAReceiptOfAFolder(t *testing.T) {
	g := gate.Gate{Digest: true, Version: "7"}
	policy, err := g.Policy.Digest()
	if err != nil {
		t.Fatal(err)
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	var f gate.Folder
	var list []gate.File
	for name, data := range map[string]string{"config.json": "{}", "m.safetensors": model} {
		sum := sha256.Sum256([]byte(data))
		list = append(list, gate.File{Name: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])})
		if err := f.Add(list[len(list)-1], strings.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	v, err := g.CheckFolder(b, &f, gate.Hint{Name: "folder"})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	s, key := signer(t, 1)
	text := mustSign(t, s, v)
	want := Want{Name: "folder", DirHash: gate.DirHash(list), Size: 12, Nonce: nonce, Policy: policy, Now: noon}
	if r, err := Check(text, key, want); err != nil || r.DirHash != want.DirHash || r.SHA256 != "" || r.Name != "folder" {
		t.Fatalf("%v, %+v", err, r)
	}
	digest := [sha256.Size]byte{}
	if _, err := hex.Decode(digest[:], []byte(want.DirHash)); err != nil {
		t.Fatal(err)
	}
	file := mustSign(t, s, verdict(t, g, "m.safetensors", model))
	for what, tc := range map[string]struct {
		text []byte
		edit func(*Want)
	}{
		"as a file":         {text, func(w *Want) { w.SHA256, w.DirHash = digest, "" }},
		"as both":           {text, func(w *Want) { w.SHA256 = digest }},
		"as neither":        {text, func(w *Want) { w.DirHash = "" }},
		"another folder":    {text, func(w *Want) { w.DirHash = gate.DirHash(list[:1]) }},
		"another size":      {text, func(w *Want) { w.Size++ }},
		"that of a file":    {file, nil},
		"a file's as dir":   {file, func(w *Want) { w.DirHash, w.Size = list[0].SHA256, 10 }},
		"a file's as dir 2": {file, func(w *Want) { w.DirHash, w.Size = list[1].SHA256, 10 }},
	} {
		w := want
		if tc.edit != nil {
			tc.edit(&w)
		}
		if r, err := Check(tc.text, key, w); err == nil {
			t.Errorf("%s: taken: %+v", what, r)
		}
	}
}
