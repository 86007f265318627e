//go:build unix

package cli_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate/receipt"
)

// writeKey writes a private key in PEM.
func writeKey(t *testing.T, path string, key any) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// Each verdict of a service with a key has a receipt, in every form of the answer: an
// acceptance that Check takes, a refusal that it does not.
func TestServeSignsWhatItAnswers(t *testing.T) {
	dir := t.TempDir()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	writeKey(t, filepath.Join(dir, "key.pem"), private)
	for _, by := range transports(t) {
		t.Run(by.name, func(t *testing.T) { signed(t, by, public, filepath.Join(dir, "key.pem")) })
	}
}

func signed(t *testing.T, by transport, public ed25519.PublicKey, key string) {
	address := serving(t, append(by.flags, "--receipt-key", key, "--receipt-for", "10m", "--ui")...)
	model := "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	nonce := receipt.NewNonce()
	for _, tc := range []struct{ query, data string }{
		{"name=m.safetensors", model},
		{"name=m.safetensors&format=modelscan", model},
		{"name=m.safetensors&format=page", model},
		{"name=m.pkl", runsCode},
		{"name=m.pkl&format=modelscan", runsCode},
		{"name=m.pkl&format=page", runsCode},
	} {
		status, text := by.put(t, address, "nonce="+nonce+"&"+tc.query, tc.data)
		var answer struct {
			Receipt  json.RawMessage
			Receipts []json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err, text)
		}
		envelope := answer.Receipt
		if len(answer.Receipts) == 1 {
			envelope = answer.Receipts[0]
		}
		r, err := receipt.Open(envelope, public)
		if err != nil {
			t.Errorf("%s: %v: %s", tc.query, err, text)
			continue
		}
		name := "m.pkl"
		if tc.data == model {
			name = "m.safetensors"
		}
		want := receipt.Want{Name: name, SHA256: sha256.Sum256([]byte(tc.data)), Size: int64(len(tc.data)), Nonce: nonce, Policy: r.Policy, Now: time.Now()}
		_, err = receipt.Check(envelope, public, want)
		if honest := tc.data == model; (err == nil) != honest || (status == http.StatusOK) != honest || r.Accepted != honest || r.Expires.Sub(r.Issued) != 10*time.Minute {
			t.Errorf("%s: %d, %v, %+v", tc.query, status, err, r)
		}
	}
	for _, query := range []string{"nonce=short", "nonce=" + strings.Repeat("a", 129), "nonce=" + nonce + "&nonce=" + nonce, "nonce=with%20a%20space"} {
		if status, text := by.put(t, address, query, model); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
}

// A proxy between a host and its gate changes the question, so that the gate accepts. The receipt
// is of these bytes, for this nonce, and answers another question.
func TestAReceiptIsOfTheQuestion(t *testing.T) {
	dir := t.TempDir()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	writeKey(t, filepath.Join(dir, "key.pem"), private)
	ways := transports(t)
	isolated := ways[1]
	isolated.flags = append(isolated.flags[:len(isolated.flags):len(isolated.flags)], "--isolate")
	ways = append(ways, isolated, transport{name: ways[0].name, scheme: "http", client: http.DefaultClient, flags: []string{"--isolate"}})
	for _, by := range ways {
		address := serving(t, append(by.flags, "--receipt-key", filepath.Join(dir, "key.pem"))...)
		const code, model = "import os\nos.system(\"id\")\n", "\x02\x00\x00\x00\x00\x00\x00\x00{}"
		for _, tc := range []struct {
			query, data string
			host        receipt.Want
			taken       bool
		}{
			{"name=README.md&beside=true", code, receipt.Want{Name: "handler.py"}, false},
			{"name=README.md&beside=true", code, receipt.Want{Name: "handler.py", Beside: true}, false},
			{"name=README.md&beside=true", code, receipt.Want{Name: "README.md"}, false},
			{"name=README.md&beside=true", code, receipt.Want{Name: "README.md", Beside: true}, true},
			{"name=x.txt&beside=true", "hello", receipt.Want{Name: "model.safetensors"}, false},
			{"name=model.safetensors", model, receipt.Want{Name: "model.safetensors", Promised: "gguf"}, false},
			{"name=model.safetensors&promised=safetensors", model, receipt.Want{Name: "model.safetensors"}, false},
			{"name=model.safetensors&promised=safetensors", model, receipt.Want{Name: "model.safetensors", Promised: "safetensors"}, true},
			{"name=model.safetensors&beside=false", model, receipt.Want{Name: "model.safetensors"}, true},
			{"beside=false", model, receipt.Want{}, false},
		} {
			nonce := receipt.NewNonce()
			status, text := by.put(t, address, "nonce="+nonce+"&"+tc.query, tc.data)
			var answer struct {
				Policy  string
				Receipt json.RawMessage
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK {
				t.Fatal(status, err, text)
			}
			want := tc.host
			want.SHA256, want.Size, want.Nonce, want.Policy, want.Now = sha256.Sum256([]byte(tc.data)), int64(len(tc.data)), nonce, answer.Policy, time.Now()
			if r, err := receipt.Check(answer.Receipt, public, want); (err == nil) != tc.taken {
				t.Errorf("%s %v: %s for %+v: %v, %+v", by.name, by.flags, tc.query, tc.host, err, r)
			}
		}
	}
}

// No upload is answered with a redirect.
func TestServeRedirectsNoUpload(t *testing.T) {
	address := serving(t, "--ui")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"//v1/check", "/v1//check", "/v1/./check", "/x/../v1/check", "/v1/check/", "/v1/check/..", "/v1/%2e/check", "//", ""} {
		for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodPatch} {
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path+"?name=e", strings.NewReader(runsCode))
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode < 400 || res.StatusCode > 499 {
				t.Errorf("%s %s: %d", method, path, res.StatusCode)
			}
		}
	}
}

// An invalid nonce is an error, and so is a key that cannot sign receipts.
func TestServeWithoutAKeySignsNothing(t *testing.T) {
	address := serving(t)
	if status, text := put(t, "http://"+address+"/v1/check?name=m.safetensors&nonce=0123456789", "\x02\x00\x00\x00\x00\x00\x00\x00{}"); status != http.StatusBadRequest || !strings.Contains(text, "no key") {
		t.Errorf("%d %s", status, text)
	}
	dir := t.TempDir()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	writeKey(t, filepath.Join(dir, "ecdsa.pem"), other)
	write(t, filepath.Join(dir, "none.pem"), "none")
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	writeKey(t, filepath.Join(dir, "key.pem"), private)
	for _, args := range [][]string{
		{"--listen", "localhost:0", "--receipt-key", filepath.Join(dir, "ecdsa.pem")},
		{"--listen", "localhost:0", "--receipt-key", filepath.Join(dir, "none.pem")},
		{"--listen", "localhost:0", "--receipt-key", filepath.Join(dir, "key.pem"), "--receipt-for", "0s"},
		{"--clamd", "localhost:0", "--receipt-key", filepath.Join(dir, "key.pem")},
	} {
		var errs bytes.Buffer
		if code := run(t, nil, io.Discard, &errs, append([]string{"serve"}, args...)...); code != 2 || !strings.Contains(errs.String(), "--receipt-key") {
			t.Errorf("%v: exit %d, %s", args, code, &errs)
		}
	}
}
