package attest_test

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/gate/attest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

var files = []attest.File{{Name: "sub/b.gguf", Sum: sha256.Sum256([]byte("b"))}, {Name: "sub.txt", Sum: sha256.Sum256([]byte("t"))}, {Name: "a", Sum: sha256.Sum256([]byte("a"))}}

func statement(t testing.TB) []byte {
	t.Helper()
	text, err := attest.Result{
		Name: "model", Files: files, Policy: strings.Repeat("0", 64), Version: "1.2.3",
		Time: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Properties: []string{attest.Accepted},
	}.Statement()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// keys makes a pair of each kind, as PEM.
func keys(t testing.TB) map[string][2][]byte {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]crypto.Signer{"ed25519": ed}
	for name, curve := range map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384(), "p521": elliptic.P521()} {
		if made[name], err = ecdsa.GenerateKey(curve, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string][2][]byte{}
	for name, k := range made {
		private, err := x509.MarshalPKCS8PrivateKey(k)
		public, err2 := x509.MarshalPKIXPublicKey(k.Public())
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		out[name] = [2][]byte{pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}
	}
	return out
}

func pair(t testing.TB, texts [2][]byte) (crypto.Signer, crypto.PublicKey) {
	t.Helper()
	private, err := attest.PrivateKey(texts[0])
	public, err2 := attest.PublicKey(texts[1])
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return private, public
}

// A signature verifies only with the public key of its signer, and not if one bit has changed.
func TestASignatureVerifiesOnlyWithItsKey(t *testing.T) {
	all := keys(t)
	for name, texts := range all {
		private, public := pair(t, texts)
		envelope, err := attest.Sign(statement(t), private)
		if err != nil {
			t.Fatal(err)
		}
		text, err := attest.Open(envelope, public)
		if err != nil || !bytes.Equal(text, statement(t)) {
			t.Errorf("%s: %v, %s", name, err, text)
		}
		for other, texts := range all {
			_, public := pair(t, texts)
			if _, err := attest.Open(envelope, public); (err == nil) != (other == name) || err != nil && !errors.Is(err, attest.ErrSignature) {
				t.Errorf("%s opened by %s: %v", name, other, err)
			}
		}
		for i := 0; i < len(envelope) && (name == "ed25519" || name == "p256"); i++ {
			changed := bytes.Clone(envelope)
			changed[i] ^= 1 << (i % 8)
			if text, err := attest.Open(changed, public); err == nil && !bytes.Equal(text, statement(t)) {
				t.Fatalf("%s: byte %d: another statement is signed: %s", name, i, text)
			}
		}
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(weak)
	if err != nil {
		t.Fatal(err)
	}
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der224, err := x509.MarshalPKIXPublicKey(p224.Public())
	if err != nil {
		t.Fatal(err)
	}
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der256, err := x509.MarshalPKIXPublicKey(p256.Public())
	if err != nil {
		t.Fatal(err)
	}
	good := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der256})
	for what, text := range map[string][]byte{
		"two keys": append(slices.Clone(good), good...),
		"RSA":      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), "P-224": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der224}),
		"nothing": nil, "no PEM": []byte("key"), "a password": pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der}),
		"rubbish": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}), "rubbish that signs": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("x")}),
	} {
		if _, err := attest.PrivateKey(text); wire.ClassOf(err) != wire.Usage {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := attest.PublicKey(text); wire.ClassOf(err) != wire.Usage {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A key that agrees on secrets signs nothing, and neither does one that is cut or not there.
func TestKeysThatSignNothing(t *testing.T) {
	secret, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := attest.PrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); wire.ClassOf(err) != wire.Usage {
		t.Errorf("X25519: %v", err)
	}
	for what, key := range map[string]crypto.Signer{"none": nil, "a cut one": ed25519.PrivateKey("short"), "a nil one": (*ecdsa.PrivateKey)(nil), "one without a number": &ecdsa.PrivateKey{}} {
		if _, err := attest.Sign(statement(t), key); wire.ClassOf(err) != wire.Usage {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A statement is written only of files, under names that JSON can hold, and an envelope is opened only
// if it is one.
func TestStatementsAndEnvelopesThatAreRefused(t *testing.T) {
	good := attest.File{Name: "a", Sum: digest.Sum{1}}
	for what, r := range map[string]attest.Result{
		"no files":         {Name: "m", Policy: strings.Repeat("0", 64)},
		"a name of a file": {Name: "m", Policy: strings.Repeat("0", 64), Files: []attest.File{{Name: "\xff"}}},
		"a name of a link": {Name: "m", Policy: strings.Repeat("0", 64), Files: []attest.File{good}, Links: []attest.Link{{Name: "\xff", To: "a"}}},
		"an end of a link": {Name: "m", Policy: strings.Repeat("0", 64), Files: []attest.File{good}, Links: []attest.Link{{Name: "b", To: "\xff"}}},
	} {
		if _, err := r.Statement(); wire.ClassOf(err) != wire.Unsupported {
			t.Errorf("%s: %v", what, err)
		}
	}
	one := `{"sig": ""}`
	signatures := func(n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	const begin = `{"payloadType": "application/vnd.in-toto+json", "payload": "", "signatures": [`
	_, public := pair(t, keys(t)["ed25519"])
	for what, c := range map[string]struct {
		text  string
		class wire.Class
	}{
		"more signatures than are read": {begin + signatures(65) + `]}`, wire.Unsupported},
		"an envelope and a bundle":      {begin + signatures(1) + `], "dsseEnvelope": ` + begin + signatures(1) + `]}}`, wire.Malformed},
		"a text beyond the bound":       {strings.Repeat(" ", attest.MaxBytes+1), wire.Unsupported},
	} {
		if _, err := attest.Open([]byte(c.text), public); wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAResultIsReadBackExactly(t *testing.T) {
	c, err := attest.Parse(statement(t))
	if err != nil || c.Name != "model" || c.Time != "2026-11-23T12:00:00Z" || len(c.Properties) != 1 || c.Policy != strings.Repeat("0", 64) {
		t.Fatalf("%+v, %v", c, err)
	}
	for what, list := range map[string][]attest.File{
		"another file":              append([]attest.File{{Name: "x"}}, files...),
		"one file less":             files[1:],
		"another content":           {files[0], files[1], {Name: "a"}},
		"contents switched":         {{"sub/b.gguf", files[1].Sum}, {"sub.txt", files[0].Sum}, files[2]},
		"another name in its place": {files[0], {"sub.py", files[1].Sum}, files[2]},
		"another case":              {files[0], files[1], {"A", files[2].Sum}},
	} {
		if err := c.Check(list); !errors.Is(err, attest.ErrDiffers) || wire.ClassOf(err) != wire.Differs {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := c.Check([]attest.File{files[2], files[0], files[1]}); err != nil {
		t.Error(err)
	}
}

// Files of git are covered separately, by name: their changes are distinguished from changes of the
// model, and all of them may be removed.
func TestFilesOfGitAreCoveredSeparately(t *testing.T) {
	git := attest.File{Name: ".git/config", Sum: sha256.Sum256([]byte("c"))}
	all := append([]attest.File{git, {Name: ".gitignore"}}, files...)
	links := []attest.Link{{Name: "unet", To: "sub"}, {Name: ".git/x", To: "sub"}}
	many := slices.Clone(all)
	for i := range 2_200 {
		many = append(many, attest.File{Name: fmt.Sprintf("many/%04000d", i)})
	}
	for _, attested := range [][]attest.File{all, many} { // names of more than 8 MiB are not listed
		text, err := attest.Result{Name: "m", Files: attested, Links: links, Time: time.Now(), Properties: []string{attest.Accepted}}.Statement()
		if err != nil {
			t.Fatal(err)
		}
		c, err := attest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		own := attested[2:]
		if c.Root != attest.Root(own) {
			t.Error("the subject is not that of Model Signing")
		}
		with := func(beside ...attest.File) []attest.File { return append(beside, own...) }
		for what, k := range map[string]struct {
			files     []attest.File
			links     []attest.Link
			ok, model bool
			says      string
			absent    string
		}{
			"as it was":            {with(all[:2]...), links, true, false, "", ""},
			"without .git":         {with(all[1]), links[:1], true, false, "", ".git"},
			"without both":         {own, links[:1], true, false, "", ".git .gitignore"},
			"another content":      {with(attest.File{Name: ".git/config"}, all[1]), links, false, false, `".git/config" has another content`, ""},
			"another name":         {with(attest.File{Name: ".git/CONFIG", Sum: git.Sum}, all[1]), links, false, false, `".git/CONFIG" was added, ".git/config" is missing`, ""},
			"one more":             {with(git, attest.File{Name: ".git/evil"}, all[1]), links, false, false, `".git/evil" was added`, ""},
			"one that was not":     {with(git, attest.File{Name: ".github/x"}, all[1]), links, false, false, `".github/x" was added`, ""},
			"a link that is gone":  {with(all[:2]...), links[:1], false, false, `".git/x" is missing`, ""},
			"a link elsewhere":     {with(all[:2]...), []attest.Link{links[0], {Name: ".git/x", To: "many"}}, false, false, `".git/x" has another content`, ""},
			"a link of the model":  {with(all[:2]...), links[1:], false, true, `"unet" is missing`, ""},
			"a file and git's too": {append([]attest.File{{Name: ".git/config"}, all[1], {Name: "new"}}, own...), links, false, true, `"new" was added, ".git/config" has another content`, ""},
		} {
			err := c.Check(k.files, k.links...)
			if (err == nil) != k.ok || errors.Is(err, attest.ErrGitDiffers) == (k.ok || k.model) || !k.ok && !errors.Is(err, attest.ErrDiffers) {
				t.Errorf("%s of %d: %v", what, len(attested), err)
			}
			if err != nil && len(attested) < 100 && !strings.Contains(err.Error(), k.says) {
				t.Errorf("%s: %v", what, err)
			}
			if absent := strings.Join(c.Absent(k.files), " "); absent != k.absent {
				t.Errorf("%s: absent %s", what, absent)
			}
		}
	}
	text, err := attest.Result{Name: "m", Files: all, Time: time.Now(), Properties: []string{attest.Accepted}}.Statement()
	if err != nil {
		t.Fatal(err)
	}
	for what, broken := range map[string][2]string{
		"nothing about git":    {`"besideFilesDigests"`, `"besides"`},
		"of no git":            {`"besideFilesDigests":{".git"`, `"besideFilesDigests":{"sub"`},
		"another list":         {`"name":"a"`, `"name":"b"`},
		"a name twice":         {`"name":"a"`, `"name":"sub.txt"`},
		"a file that is both":  {`"name":"a",`, `"name":"a","folder":"x",`},
		"a file without a sum": {`"name":"a","sha256"`, `"name":"a","sha1"`},
	} {
		if !bytes.Contains(text, []byte(broken[0])) {
			t.Fatalf("%s: %s is not in %s", what, broken[0], text)
		}
		if c, err := attest.Parse(bytes.Replace(text, []byte(broken[0]), []byte(broken[1]), 1)); err == nil || wire.ClassOf(err) == wire.Internal {
			t.Errorf("%s: %+v, %v", what, c, err)
		}
	}
}

// signature is what Model Signing states of files, in their order there.
func signature(root string, edit func(string) string) []byte {
	var list []string
	for _, i := range []int{2, 0, 1} {
		list = append(list, fmt.Sprintf(`{"name":%q,"algorithm":"sha256","digest":%q}`, files[i].Name, files[i].Sum))
	}
	return []byte(edit(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"m","digest":{"sha256":"` + root + `"}}],"predicateType":"https://model_signing/signature/v1.0",` +
		`"predicate":{"serialization":{"method":"files","hash_type":"sha256","allow_symlinks":false,"ignore_paths":["model.sig"]},"resources":[` + strings.Join(list, ",") + `]}}`))
}

func TestASignatureOfModelSigning(t *testing.T) {
	same := func(s string) string { return s }
	root := attest.Root(files).String()
	c, err := attest.Parse(signature(root, same))
	if err != nil || len(c.Files) != 3 || c.FollowsLinks || len(c.Ignores) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := c.Check(files); err != nil {
		t.Error(err)
	}
	for what, list := range map[string][]attest.File{
		"a file that was not signed": append([]attest.File{{Name: "x"}}, files...), "a file that is missing": files[1:],
		"contents switched": {{"sub/b.gguf", files[1].Sum}, {"sub.txt", files[0].Sum}, files[2]},
	} {
		if err := c.Check(list); !errors.Is(err, attest.ErrDiffers) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, text := range map[string][]byte{
		"another root":        signature(digest.Sum{}.String(), same),
		"shards":              signature(root, func(s string) string { return strings.Replace(s, `"files"`, `"shards"`, 1) }),
		"another hash":        signature(root, func(s string) string { return strings.Replace(s, `"hash_type":"sha256"`, `"hash_type":"blake3"`, 1) }),
		"a name twice":        signature(root, func(s string) string { return strings.Replace(s, `"sub.txt"`, `"a"`, 1) }),
		"another predicate":   signature(root, func(s string) string { return strings.Replace(s, "v1.0", "v2.0", 1) }),
		"another statement":   signature(root, func(s string) string { return strings.Replace(s, "Statement/v1", "Statement/v0.1", 1) }),
		"two subjects":        signature(root, func(s string) string { return strings.Replace(s, `[{"name":"m"`, `[{"name":"n"},{"name":"m"`, 1) }),
		"another verifier":    bytes.Replace(statement(t), []byte("gate/v1"), []byte("gate/v9"), 1),
		"not accepted":        bytes.Replace(statement(t), []byte(attest.Accepted), []byte("AMN_REFUSED"), 1),
		"no time":             bytes.Replace(statement(t), []byte("2026-11-23T"), []byte("today "), 1),
		"no names":            bytes.Replace(statement(t), []byte("namedFilesDigest"), []byte("namedFiles"), 1),
		"no digest of sha256": bytes.Replace(statement(t), []byte(`"digest":{"sha256"`), []byte(`"digest":{"sha1"`), 1),
		"no JSON":             []byte("x"),
	} {
		if c, err := attest.Parse(text); err == nil || wire.ClassOf(err) == wire.Internal {
			t.Errorf("%s: %+v, %v", what, c, err)
		}
	}
}

// A bundle of Sigstore holds the same envelope.
func TestABundleIsOpened(t *testing.T) {
	private, public := pair(t, keys(t)["p256"])
	envelope, err := attest.Sign(statement(t), private)
	if err != nil {
		t.Fatal(err)
	}
	bundle := append(append([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{},"dsseEnvelope":`), bytes.TrimSpace(envelope)...), '}')
	if text, err := attest.Open(bundle, public); err != nil || !bytes.Equal(text, statement(t)) {
		t.Errorf("%v", err)
	}
	var e map[string]any
	if err := json.Unmarshal(envelope, &e); err != nil {
		t.Fatal(err)
	}
	e["payloadType"] = "text/plain"
	if other, err := json.Marshal(e); err != nil {
		t.Fatal(err)
	} else if _, err := attest.Open(other, public); wire.ClassOf(err) != wire.Unsupported {
		t.Error(err)
	}
	for _, text := range []string{"", "{}", "[]", `{"payload":1}`, base64.StdEncoding.EncodeToString(envelope)} {
		if _, err := attest.Open([]byte(text), public); err == nil || wire.ClassOf(err) == wire.Internal {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func Example() {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	model := []attest.File{{Name: "model.safetensors", Sum: sha256.Sum256([]byte("its bytes"))}}
	text, err := attest.Result{Name: "model", Files: model, Time: time.Now(), Properties: []string{attest.Accepted}}.Statement()
	if err != nil {
		fmt.Println(err)
		return
	}
	envelope, err := attest.Sign(text, private)
	if err != nil {
		fmt.Println(err)
		return
	}

	text, err = attest.Open(envelope, public)
	if err != nil {
		fmt.Println(err)
		return
	}
	claim, err := attest.Parse(text)
	fmt.Println(claim.Properties, err, claim.Check(model))
	model[0].Sum = sha256.Sum256([]byte("other bytes"))
	fmt.Println(errors.Is(claim.Check(model), attest.ErrDiffers))
	// Output:
	// [AMN_ACCEPTED] <nil> <nil>
	// true
}
