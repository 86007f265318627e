package hooks_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/hooks"
	"github.com/anamnesis-go/anamnesis/hub/internal/pgtest"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/limits"
)

const secret = "a secret of thirty-two bytes or so"

// The example of the Standard Webhooks specification: a signature that was not made here.
func TestTheSpecificationsExample(t *testing.T) {
	h := http.Header{}
	h.Set("Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	h.Set("Webhook-Timestamp", "1614265330")
	h.Set("Webhook-Signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	key := hooks.Key{Secret: secret}
	if id, err := key.Verify(h, time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)); err != nil || id != "msg_p5jXN8AQM9LWM0D4loKWxJek" {
		t.Errorf("%q, %v", id, err)
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now, body := time.Unix(1_790_000_000, 0), []byte(`{"a":1}`)
	for name, c := range map[string]struct{ sign, check hooks.Key }{
		"secret":  {hooks.Key{Secret: []byte(secret)}, hooks.Key{Secret: []byte(secret)}},
		"ed25519": {hooks.Key{Private: private}, hooks.Key{Public: public}},
		"both":    {hooks.Key{Secret: []byte(secret), Private: private}, hooks.Key{Public: public}},
	} {
		sign := func() http.Header {
			h := http.Header{}
			c.sign.Sign(h, "17", now, body)
			return h
		}
		if id, err := c.check.Verify(sign(), now.Add(time.Minute), body); id != "17" || err != nil {
			t.Errorf("%s: %q, %v", name, id, err)
		}
		for what, change := range map[string]func(http.Header, *time.Time, *[]byte){
			"another body":   func(_ http.Header, _ *time.Time, b *[]byte) { *b = []byte(`{"a":2}`) },
			"another number": func(h http.Header, _ *time.Time, _ *[]byte) { h.Set("Webhook-Id", "18") },
			"another time":   func(h http.Header, _ *time.Time, _ *[]byte) { h.Set("Webhook-Timestamp", "1790000001") },
			"no number":      func(h http.Header, _ *time.Time, _ *[]byte) { h.Del("Webhook-Id") },
			"two numbers":    func(h http.Header, _ *time.Time, _ *[]byte) { h.Add("Webhook-Id", "17") },
			"no signature":   func(h http.Header, _ *time.Time, _ *[]byte) { h.Del("Webhook-Signature") },
			"an empty one":   func(h http.Header, _ *time.Time, _ *[]byte) { h.Set("Webhook-Signature", "v1, v1a,") },
			"another version": func(h http.Header, _ *time.Time, _ *[]byte) {
				h.Set("Webhook-Signature", strings.ReplaceAll(h.Get("Webhook-Signature"), "v1", "v2"))
			},
			"old":               func(_ http.Header, n *time.Time, _ *[]byte) { *n = now.Add(hooks.Skew + time.Second) },
			"from the future":   func(_ http.Header, n *time.Time, _ *[]byte) { *n = now.Add(-hooks.Skew - time.Second) },
			"a negative time":   func(h http.Header, _ *time.Time, _ *[]byte) { h.Set("Webhook-Timestamp", "-1") },
			"a point in the id": func(h http.Header, _ *time.Time, _ *[]byte) { h.Set("Webhook-Id", "1.7") },
		} {
			h, at, b := sign(), now, body
			change(h, &at, &b)
			if id, err := c.check.Verify(h, at, b); err == nil || id != "" {
				t.Errorf("%s, %s: %q, %v", name, what, id, err)
			}
		}
	}
	stranger := hooks.Key{Secret: []byte("another secret of as many bytes as")}
	h := http.Header{}
	stranger.Sign(h, "17", now, body)
	for _, check := range []hooks.Key{{Secret: []byte(secret)}, {Public: public}, {}} {
		if _, err := check.Verify(h, now, body); !errors.Is(err, hooks.ErrSignature) {
			t.Errorf("%v", err)
		}
	}
}

// The file of the document is one.
func TestTheDocumentsFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "operators.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(text), "```json\n")
	block, _, end := strings.Cut(block, "```")
	if !ok || !end {
		t.Fatal("there is no file in the document")
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	if out, in, err := hooks.Parse(b, []byte(block), func(string) string { return secret }); err != nil || len(out) != 2 || len(in) != 3 {
		t.Errorf("%d, %d, %v", len(out), len(in), err)
	}
}

// everywhere runs a test on both databases.
func everywhere(t *testing.T, test func(*testing.T, store.Engine)) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			where := filepath.Join(t.TempDir(), "hub.db")
			if name == "postgres" {
				where = pgtest.Start(t).Address()
			}
			e, err := store.Open(t.Context(), where, store.Options{Poll: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			test(t, e)
		})
	}
}

// happen makes n events.
func happen(t *testing.T, e store.Engine, n int) {
	t.Helper()
	for i := range n {
		if _, err := e.PutPolicy(t.Context(), store.PolicyVersion{Digest: fmt.Sprint(time.Now().UnixNano(), i), Note: fmt.Sprint("event ", i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// A receiver that fails is told again until it takes a message, every event, and each under one number.
func TestAReceiverIsToldUntilItTakesIt(t *testing.T) {
	everywhere(t, func(t *testing.T, e store.Engine) {
		key := hooks.Key{Secret: []byte(secret)}
		var mu sync.Mutex
		tries, taken := map[string]int{}, map[string]string{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			id, err := key.Verify(r.Header, time.Now(), body)
			if err != nil {
				t.Errorf("%v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			switch tries[id]++; tries[id] {
			case 1:
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			case 2:
				w.WriteHeader(500)
			default:
				var ev struct{ Text string }
				if err := json.Unmarshal(body, &ev); err != nil {
					t.Error(err)
				}
				taken[id] = ev.Text
			}
		}))
		defer server.Close()
		if err := e.SetHooks(t.Context(), []store.Hook{{Name: "one"}}); err != nil {
			t.Fatal(err)
		}
		happen(t, e, 20)
		s := hooks.Sender{Store: e, Out: []hooks.Out{{Name: "one", URL: server.URL, Key: key}}, First: time.Millisecond, Poll: 5 * time.Millisecond}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		go s.Run(ctx) // another process
		for range 2000 {
			owed, err := e.Owed(t.Context())
			if err == nil && len(owed) == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		stop()
		<-done
		mu.Lock()
		defer mu.Unlock()
		texts := map[string]bool{}
		for id, text := range taken {
			texts[text] = true
			if tries[id] != 3 {
				t.Errorf("%s was told %d times", id, tries[id])
			}
		}
		if len(taken) != 20 || len(texts) != 20 {
			t.Errorf("%d taken, %d texts", len(taken), len(texts))
		}
	})
}

// A receiver that never takes a message is given up, and so is one that is gone.
func TestAReceiverIsGivenUp(t *testing.T) {
	everywhere(t, func(t *testing.T, e store.Engine) {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			if r.URL.Path == "/gone" {
				w.WriteHeader(http.StatusGone)
				return
			}
			w.WriteHeader(503)
		}))
		defer server.Close()
		for path, want := range map[string]int{"/gone": 1, "/never": 3} {
			if err := e.SetHooks(t.Context(), []store.Hook{{Name: "one"}}); err != nil {
				t.Fatal(err)
			}
			happen(t, e, 1)
			asked = 0
			s := hooks.Sender{Store: e, First: 1, Attempts: 3}
			for range 200 {
				if _, err := s.Send(t.Context(), hooks.Out{Name: "one", URL: server.URL + path, Key: hooks.Key{Secret: []byte(secret)}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
			owed, err := e.Owed(t.Context())
			if err != nil || asked != want || owed[[2]string{"one", "failed"}] != 1 || len(owed) != 1 {
				t.Errorf("%s: asked %d times, %v, %v", path, asked, owed, err)
			}
			if err := e.SetHooks(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAFileHasALineForEachEvent(t *testing.T) {
	everywhere(t, func(t *testing.T, e store.Engine) {
		if err := e.SetHooks(t.Context(), []store.Hook{{Name: "file", Kinds: []string{"policy"}}}); err != nil {
			t.Fatal(err)
		}
		happen(t, e, 7)
		path := filepath.Join(t.TempDir(), "events.jsonl")
		s := hooks.Sender{Store: e}
		for range 4 {
			if _, err := s.Send(t.Context(), hooks.Out{Name: "file", File: path}); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		if err != nil || len(lines) != 7 {
			t.Fatalf("%d lines, %v", len(lines), err)
		}
		for i, line := range lines {
			var ev struct {
				Schema, Kind, Text string
				Delivery           int64
			}
			if err := json.Unmarshal([]byte(line), &ev); err != nil || ev.Schema != "amn.event/1" || ev.Kind != "policy" || ev.Delivery == 0 || !strings.Contains(ev.Text, fmt.Sprint("event ", i)) {
				t.Errorf("%s: %v", line, err)
			}
		}
	})
}

func TestFilesOfHooks(t *testing.T) {
	dir := t.TempDir()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.ToSlash(filepath.Join(dir, name))
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	privateFile := write("private.pem", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(public)
	publicFile := write("public.pem", "PUBLIC KEY", der, err)
	getenv := func(name string) string { return map[string]string{"SECRET": secret, "SHORT": "short"}[name] }
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	good := `{"out":[{"name":"one","url":"https://example.org/x","events":["quarantine"],"tenant":"a","secret_env":"SECRET"},{"name":"two","url":"http://127.0.0.1:1/","private_key_file":"` + privateFile + `"},{"name":"three","file":"x.jsonl"}],
		"in":[{"name":"one","kind":"huggingface","tenant":"a","source":"hf://a/*","secret_env":"SECRET"},{"name":"two","kind":"standard","tenant":"a","source":"/srv","public_key_file":"` + publicFile + `"}]}`
	out, in, err := hooks.Parse(b, []byte(good), getenv)
	if err != nil || len(out) != 3 || len(in) != 2 || string(out[0].Key.Secret) != secret || out[1].Key.Private == nil || in[1].Key.Public == nil {
		t.Fatalf("%+v %+v %v", out, in, err)
	}
	for name, text := range map[string]string{
		"no object":           `[]`,
		"an unknown member":   `{"out":[],"x":1}`,
		"no name":             `{"out":[{"url":"https://example.org/","secret_env":"SECRET"}]}`,
		"no place":            `{"out":[{"name":"a","secret_env":"SECRET"}]}`,
		"two places":          `{"out":[{"name":"a","url":"https://example.org/","file":"x","secret_env":"SECRET"}]}`,
		"no secret":           `{"out":[{"name":"a","url":"https://example.org/"}]}`,
		"a short secret":      `{"out":[{"name":"a","url":"https://example.org/","secret_env":"SHORT"}]}`,
		"an absent secret":    `{"out":[{"name":"a","url":"https://example.org/","secret_env":"ABSENT"}]}`,
		"two secrets":         `{"out":[{"name":"a","url":"https://example.org/","secret_env":"SECRET","secret_file":"x"}]}`,
		"http":                `{"out":[{"name":"a","url":"http://example.org/","secret_env":"SECRET"}]}`,
		"a password":          `{"out":[{"name":"a","url":"https://u:p@example.org/","secret_env":"SECRET"}]}`,
		"an unknown event":    `{"out":[{"name":"a","url":"https://example.org/","secret_env":"SECRET","events":["x"]}]}`,
		"one name twice":      `{"out":[{"name":"a","file":"x"},{"name":"a","file":"y"}]}`,
		"in: no kind":         `{"in":[{"name":"a","tenant":"a","source":"s","secret_env":"SECRET"}]}`,
		"in: no tenant":       `{"in":[{"name":"a","kind":"s3","source":"s","secret_env":"SECRET"}]}`,
		"in: no source":       `{"in":[{"name":"a","kind":"s3","tenant":"a","secret_env":"SECRET"}]}`,
		"in: no secret":       `{"in":[{"name":"a","kind":"s3","tenant":"a","source":"s","public_key_file":"` + publicFile + `"}]}`,
		"in: no key":          `{"in":[{"name":"a","kind":"standard","tenant":"a","source":"s"}]}`,
		"in: a url":           `{"in":[{"name":"a","kind":"s3","tenant":"a","source":"s","secret_env":"SECRET","url":"https://example.org/"}]}`,
		"in: a private key":   `{"in":[{"name":"a","kind":"standard","tenant":"a","source":"s","public_key_file":"` + privateFile + `"}]}`,
		"a secret written in": `{"out":[{"name":"a","url":"https://example.org/","secret":"` + secret + `"}]}`,
	} {
		if out, in, err := hooks.Parse(b, []byte(text), getenv); err == nil {
			t.Errorf("%s: %+v %+v", name, out, in)
		}
	}
}
