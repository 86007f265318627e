package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/remote"
)

type answerer = func(w http.ResponseWriter, r *http.Request, n int) bool

// Other clients decode a Content-Encoding, so they would load other bytes than are read here.
func TestAnEncodedAnswerIsRefused(t *testing.T) {
	for _, coding := range []string{"gzip", "br", "identity, gzip", "zstd"} {
		h := newHub(t, demo)
		h.before = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Content-Encoding", coding)
			return false
		}
		for _, address := range []string{h.URL + "/tiny.gguf", "hf://me/model/tiny.gguf"} {
			if _, err := open(t, address, remote.Options{AllowPrivate: true, Hub: h.URL}); err == nil || !strings.Contains(err.Error(), "Content-Encoding") {
				t.Errorf("%s, %s: %v", coding, address, err)
			}
		}
	}
}

// Data that the account does not see is bounded too: headers, and endless bodies.
func TestAnswersWithoutEnd(t *testing.T) {
	endless := func(w http.ResponseWriter) {
		for block := make([]byte, 64<<10); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		before answerer
		says   string
	}{
		"headers": {func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			for i := range 64 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 4<<10))
			}
			return false
		}, "headers exceeded"},
		"a listing": {func(w http.ResponseWriter, _ *http.Request, _ int) bool { endless(w); return true }, "single"},
		"a status":  {func(w http.ResponseWriter, _ *http.Request, _ int) bool { w.WriteHeader(404); endless(w); return true }, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, demo)
			h.before = c.before
			if _, err := open(t, "hf://me/model/tiny.gguf", remote.Options{AllowPrivate: true, Hub: h.URL}); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	h := newHub(t, demo)
	h.before = func(w http.ResponseWriter, _ *http.Request, n int) bool {
		if n == 1 {
			return false
		}
		w.Header().Set("Content-Range", "bytes 0-131071/9223372036854775807")
		w.WriteHeader(http.StatusPartialContent)
		endless(w)
		return true
	}
	if _, err := openUnder(t, limits.Policy{MaxFetched: 1 << 20}, "hf://me/model/tiny.gguf", remote.Options{AllowPrivate: true, Hub: h.URL}); err == nil {
		t.Error("a file of 2^63 bytes is opened")
	}
}

// A server that sends a byte now and then ends with the account's time.
func TestASlowServerEndsAtTheDeadline(t *testing.T) {
	h := newHub(t, demo)
	h.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		w.Header().Set("Content-Range", "bytes 0-131071/1000000")
		w.Header().Set("Content-Length", "131072")
		w.WriteHeader(http.StatusPartialContent)
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte("x")); err != nil || http.NewResponseController(w).Flush() != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return true
	}
	_, err := openUnder(t, limits.Policy{Timeout: 300 * time.Millisecond}, h.URL+"/tiny.gguf", remote.Options{AllowPrivate: true})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// The query of an address may be a signature: no message contains it, and no other host gets it as
// a referrer.
func TestQueriesOfAddressesAreNotPassedOn(t *testing.T) {
	for name, before := range map[string]answerer{
		"busy": func(w http.ResponseWriter, _ *http.Request, _ int) bool { w.WriteHeader(500); return true },
		"gone": func(w http.ResponseWriter, _ *http.Request, _ int) bool { w.WriteHeader(404); return true },
		"cut":  func(http.ResponseWriter, *http.Request, int) bool { panic(http.ErrAbortHandler) },
		"led to nowhere": func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, "http://127.0.0.1:1/x?sig=secret", http.StatusFound)
			return true
		},
		"led to a stranger": func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, "http://stranger.invalid/x?sig=secret", http.StatusFound)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, demo)
			h.before = before
			_, err := open(t, h.URL+"/tiny.gguf?sig=secret", remote.Options{AllowPrivate: true, Redirects: []string{"127.0.0.1"}})
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
	cdn, h := newHub(t, demo), newHub(t, demo)
	h.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		http.Redirect(w, r, cdn.URL+"/tiny.gguf", http.StatusFound)
		return true
	}
	if _, err := open(t, h.URL+"/tiny.gguf?sig=secret", remote.Options{AllowPrivate: true, Redirects: []string{"127.0.0.1"}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range cdn.requests {
		if r.Referer() != "" {
			t.Errorf("another host got %q", r.Referer())
		}
	}
}

// A redirect from https to http is refused, also where private addresses are allowed: the data
// would travel unencrypted.
func TestNothingLeadsFromHTTPSToHTTP(t *testing.T) {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	for to, want := range map[string]bool{"http://a.example/x": false, "https://a.example/x": true} {
		from := &http.Request{URL: &url.URL{Scheme: "https", Host: "a.example"}, Header: http.Header{}}
		at, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		next := &http.Request{URL: at, Header: http.Header{"Authorization": {"Bearer x"}}}
		if err := remote.Redirect(b, remote.Options{AllowPrivate: true}, next, []*http.Request{from}); (err == nil) != want {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// A server without ETags still says when a file was written.
func TestAFileThatChangesWithoutAnETag(t *testing.T) {
	for name, header := range map[string]string{"Last-Modified": "Tue, 01 Dec 2026 00:00:%02d GMT", "ETag": `W/"%d"`} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.npy"), npy(1<<20))
		h := newHub(t, dir)
		h.etag = func(int) string { return "" }
		h.before = func(w http.ResponseWriter, r *http.Request, n int) bool {
			data, _ := os.ReadFile(filepath.Join(dir, "a.npy"))
			w.Header().Set(name, fmt.Sprintf(header, n))
			serve(w, r, data)
			return true
		}
		m, err := open(t, h.URL+"/a.npy", remote.Options{AllowPrivate: true})
		if err == nil {
			err = readAll(m)
		}
		if !errors.Is(err, remote.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func readAll(m tensor.Model) error {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	for i := range m.Tensors() {
		r, err := m.Body(b, i)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			r.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Names of files come from whoever made the list. A name that is not a separate place in a folder
// is refused, not skipped: a skipped file would not have been judged.
func TestNamesThatCannotBeFilesBesideEachOther(t *testing.T) {
	for name, c := range map[string]struct{ a, b, says string }{
		"out of the folder":   {"tiny.gguf", "../x.pt", "is not a name of a file"},
		"from the root":       {"tiny.gguf", "/etc/x.pt", "is not a name of a file"},
		"nothing between":     {"tiny.gguf", "a//x.pt", "is not a name of a file"},
		"given twice":         {"tiny.gguf", "tiny.gguf", "twice"},
		"a file and a folder": {"tiny.gguf", "tiny.gguf/x.pt", "a file and a folder"},
		"a folder and a file": {"tiny.gguf/a/b", "tiny.gguf/a", "a file and a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			names := []string{c.a, c.b}
			a := newRegistry(t, "team/llama", func(_ string, l *layer) {
				titled(names[0], l)
				names = names[1:]
			}, "tiny.gguf", "checkpoint.pt")
			if _, err := open(t, "oci://"+a.host()+"/team/llama#"+c.a, a.options()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// The same blob twice under one name is one file.
func TestABlobThatIsListedTwice(t *testing.T) {
	a := newRegistry(t, "team/llama", titled, "tiny.gguf", "tiny.gguf")
	if m, err := open(t, "oci://"+a.host()+"/team/llama", a.options()); err != nil || m.Len() != 4 {
		t.Error(err)
	}
}

// A digest of another kind is not one that is held against the manifest.
func TestDigestsOfOtherKindsAreNotChecked(t *testing.T) {
	a := newRegistry(t, "team/llama", titled, "tiny.gguf")
	for _, at := range []string{"sha512:" + strings.Repeat("0", 128), "SHA256:" + strings.Repeat("0", 64), "sha256:00"} {
		a.manifests[at] = a.manifests["latest"]
		if _, err := open(t, "oci://"+a.host()+"/team/llama@"+at, a.options()); !errors.Is(err, remote.ErrForbidden) {
			t.Errorf("%s: %v", at, err)
		}
		a.manifests["list"] = fmt.Appendf(nil, `{"manifests":[{"digest":%q}]}`, at)
		if _, err := open(t, "oci://"+a.host()+"/team/llama:list", a.options()); !errors.Is(err, remote.ErrForbidden) {
			t.Errorf("a list with %s: %v", at, err)
		}
	}
}

// A password goes to a service of tokens over https, if the registry is at https.
func TestAPasswordIsSentOnlyOverTLS(t *testing.T) {
	for _, c := range []struct {
		registry, realm string
		want            bool
	}{
		{"https://ghcr.io", "https://ghcr.io/token", true},
		{"https://ghcr.io", "http://ghcr.io/token", false},
		{"https://registry.team.example", "https://team.example/token", true},
		{"https://registry.team.example", "https://example.org/token", false},
		{"http://127.0.0.1:5000", "http://127.0.0.1:5000/token", true},
		{"http://127.0.0.1:5000", "http://127.0.0.1:5001/token", false},
		{"https://registry.team.example", "https://registry.team.example:8443/token", false},
		{"https://registry.team.example:5050", "https://team.example/token", false},
		{"https://registry.team.example:443", "https://registry.team.example/token", true},
	} {
		registry, _ := url.Parse(c.registry)
		realm, _ := url.Parse(c.realm)
		if got := remote.OwnRealm(registry, realm); got != c.want {
			t.Errorf("%s, %s: %v", c.registry, c.realm, got)
		}
	}
}

// A proxy is named with or without a scheme; one that is misspelt is not passed by.
func TestProxiesOfTheEnvironment(t *testing.T) {
	t.Setenv("NO_PROXY", "")
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	u, _ := url.Parse("https://team.example/x")
	for value, want := range map[string]string{
		"http://proxy.example:3128": "http://proxy.example:3128", "proxy.example:3128": "http://proxy.example:3128", "socks5://proxy.example": "socks5://proxy.example",
		"http://": "", "gopher://127.0.0.1:1": "", "http://a b": "",
	} {
		t.Setenv("HTTPS_PROXY", value)
		p, err := remote.Through(b, remote.FromEnv(), u)
		if want == "" && !errors.Is(err, remote.ErrForbidden) || want != "" && (err != nil || p.String() != want) {
			t.Errorf("%q: %v, %v", value, p, err)
		}
	}
	for _, c := range []struct {
		list, url string
		want      bool
	}{
		{"team.example", "https://team.example/x", true}, {"team.example", "https://a.team.example/x", true}, {"team.example", "https://ateam.example/x", false},
		{".team.example", "https://team.example/x", false}, {".team.example", "https://a.team.example/x", true}, {"*.team.example", "https://a.team.example/x", true},
		{".", "https://team.example/x", false}, {"*.", "https://team.example/x", false}, {",", "https://team.example/x", false}, {"*", "https://team.example/x", true},
		{"a.example, 10.0.0.0/8", "https://10.1.2.3/x", true}, {"10.1.2.3", "https://10.1.2.3/x", true}, {"10.1.2.3:443", "https://10.1.2.3/x", true},
		{"10.1.2.3:1", "https://10.1.2.3/x", false}, {"11.0.0.0/8", "https://10.1.2.3/x", false}, {".2.3", "https://10.1.2.3/x", false}, {"[fd00::1]:443", "https://[fd00::1]/x", true},
	} {
		u, _ := url.Parse(c.url)
		if got := remote.Direct(c.list, u); got != c.want {
			t.Errorf("NO_PROXY=%s for %s: %v", c.list, c.url, got)
		}
	}
}

// Requests that bypass a proxy are checked for private addresses as usual.
func TestRequestsPastAProxyAreCheckedForPrivateAddresses(t *testing.T) {
	h := newHub(t, demo)
	proxy := &url.URL{Scheme: "http", Host: "proxy.invalid:3128"}
	_, err := open(t, strings.Replace(h.URL, "http://127.0.0.1", "https://localhost", 1)+"/tiny.gguf", remote.Options{Proxy: proxy, NoProxy: "localhost"})
	if !errors.Is(err, remote.ErrForbidden) || h.count() != 0 {
		t.Errorf("%v, %d requests", err, h.count())
	}
}
