package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/remote"
)

const (
	demo = "../testdata/demo/"
	sha  = "0123456789abcdef0123456789abcdef01234567"
)

// A hub answers as the hub's endpoints do: a listing with sizes, and files at a commit.
type hub struct {
	*httptest.Server

	mu       sync.Mutex
	requests []*http.Request
	etag     func(n int) string
	before   func(w http.ResponseWriter, r *http.Request, n int) bool
	any      bool // it has every repository, with the same files
}

var aRepository = regexp.MustCompile(`^(/api/models)?/[^/]+/[^/]+/(revision|resolve)/`)

func newHub(t *testing.T, dir string) *hub {
	h := &hub{etag: func(int) string { return `"one"` }}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.requests = append(h.requests, r)
		n, before, everything := len(h.requests), h.before, h.any
		h.mu.Unlock()
		if before != nil && before(w, r, n) {
			return
		}
		if everything {
			r.URL.Path = aRepository.ReplaceAllString(r.URL.Path, "$1/me/model/$2/")
		}
		if strings.HasPrefix(r.URL.Path, "/api/models/me/model/revision/") {
			fmt.Fprintf(w, `{"sha":%q,"siblings":[`, sha)
			entries, _ := os.ReadDir(dir)
			comma := ""
			for _, e := range entries {
				if info, _ := e.Info(); info.Mode().IsRegular() {
					fmt.Fprintf(w, `%s{"rfilename":%q,"size":%d}`, comma, e.Name(), info.Size())
					comma = ","
				}
			}
			io.WriteString(w, "]}")
			return
		}
		name, ok := strings.CutPrefix(r.URL.Path, "/me/model/resolve/"+sha+"/")
		if !ok {
			name = strings.TrimPrefix(r.URL.Path, "/")
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", h.etag(n))
		serve(w, r, data)
	}))
	t.Cleanup(h.Close)
	return h
}

func serve(w http.ResponseWriter, r *http.Request, data []byte) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.requests)
}

func open(t *testing.T, address string, o remote.Options) (tensor.Model, error) {
	t.Helper()
	return openUnder(t, limits.Policy{}, address, o)
}

func openUnder(t *testing.T, p limits.Policy, address string, o remote.Options) (tensor.Model, error) {
	t.Helper()
	b := p.Budget(context.Background())
	t.Cleanup(b.Close)
	m, err := remote.Open(b, address, o)
	if err == nil {
		t.Cleanup(func() { m.Close() })
	}
	return m, err
}

func TestModelsOfTheHub(t *testing.T) {
	for _, c := range []struct {
		name, dir, path  string
		tensors, fetches int
	}{
		{"a file of a repository", demo, "/tiny.gguf", 4, 1},
		{"a file of a repository, its scheme in capitals", demo, "/tiny.gguf", 4, 1},
		{"a checkpoint, whose directory is at its end", demo, "/checkpoint.pt", 24, 1},
		{"a repository that is one model, with its config", demo + "llama-fp8", "", 35, 2},
		{"shards with an index", demo + "sharded", "", 24, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t, c.dir)
			scheme := "hf://"
			if strings.Contains(c.name, "capitals") {
				scheme = "HF://"
			}
			m, err := open(t, scheme+"me/model"+c.path, remote.Options{AllowPrivate: true, Hub: h.URL})
			if err != nil {
				t.Fatal(err)
			}
			if m.Len() != c.tensors {
				t.Errorf("%d tensors, want %d", m.Len(), c.tensors)
			}
			if got := h.count() - 1; got > c.fetches {
				t.Errorf("%d requests after the listing, want at most %d", got, c.fetches)
			}
			for i := range m.Tensors() { // bodies are those of the file
				r, err := m.Body(limits.Policy{}.Budget(context.Background()), i)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, r); err != nil || n != i.Span.Len {
					t.Errorf("%s: %d bytes, %v", i.Name, n, err)
				}
				r.Close()
			}
		})
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	h := newHub(t, demo)
	port := h.Listener.Addr().(*net.TCPAddr).Port
	for _, address := range []string{
		h.URL + "/tiny.gguf", "http://example.com/a", "ftp://example.com/a", "file:///etc/passwd",
		fmt.Sprintf("https://127.0.0.1:%d/a", port), fmt.Sprintf("https://[::1]:%d/a", port), fmt.Sprintf("https://[::ffff:127.0.0.1]:%d/a", port),
		fmt.Sprintf("https://localhost:%d/a", port), "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/a", "https://0.0.0.0/a",
		"https://192.168.1.1/a", "https://100.64.0.1/a", "https://[fe80::1]/a", "https://[fc00::1]/a", "https://[64:ff9b::7f00:1]/a", "https://2130706433/a",
		"https://user:secret@example.com/a", "hf://me", "hf:///x", "hf://../..", "hf://me/model/../../x",
	} {
		_, err := openUnder(t, limits.Policy{MaxRequests: 1}, address, remote.Options{})
		if err == nil {
			t.Errorf("%s is opened", address)
			continue
		}
		if !errors.Is(err, remote.ErrForbidden) && !strings.Contains(address, "2130706433") && !strings.Contains(address, "file:") {
			t.Errorf("%s: %v", address, err)
		}
		if class := parser.ClassOf(err); errors.Is(err, remote.ErrForbidden) && class != parser.Forbidden {
			t.Errorf("%s: of class %s", address, class)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is printed: %v", err)
		}
	}
	if n := h.count(); n != 0 {
		t.Errorf("%d requests reached loopback", n)
	}
}

func TestPublicAddressesAreRecognized(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "2606:4700:4700::1111": true, "127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "169.254.1.1": false, "0.0.0.0": false,
		"255.255.255.255": false, "224.0.0.1": false, "::1": false, "::": false, "fe80::1": false, "fd00::1": false, "ff02::1": false, "2002:7f00:1::": false,
		"::127.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:0:7f00:1": false, "64:ff9b::10.0.0.1": false, "2001::7f00:1": false, "3fff::1": false,
		"4000::1": false, "5f00::1": false, "192.88.99.1": false, "168.63.129.16": false, "fd00:ec2::254": false, "2a00:1450:4001::1": true, "::ffff:1.1.1.1": true,
	} {
		if got := remote.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestAFileThatChangesIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.npy"), npy(1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	h := newHub(t, dir)
	h.etag = func(n int) string { return fmt.Sprintf(`"%d"`, n) }
	m, err := open(t, h.URL+"/a.npy", remote.Options{AllowPrivate: true})
	if err == nil {
		for i := range m.Tensors() {
			var r io.ReadCloser
			if r, err = m.Body(limits.Policy{}.Budget(context.Background()), i); err == nil {
				_, err = io.Copy(io.Discard, r)
			}
		}
	}
	if !errors.Is(err, remote.ErrChanged) {
		t.Errorf("%v", err)
	}
}

// npy is an array of n bytes.
func npy(n int) []byte {
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", n)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return append([]byte("\x93NUMPY\x01\x00"+string(rune(len(head)))+"\x00"+head), make([]byte, n)...)
}

func TestServersThatFailAndLie(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(w http.ResponseWriter, r *http.Request, n int) bool
		ok     bool
		says   string
	}{
		{"busy twice", func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n <= 2 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return n <= 2
		}, true, ""},
		{"cuts its answer once", func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n == 1 {
				w.Header().Set("Content-Length", "100")
				w.Header().Set("Content-Range", "bytes 0-99/5312")
				w.WriteHeader(http.StatusPartialContent)
				w.Write([]byte("GGUF"))
			}
			return n == 1
		}, true, ""},
		{"no ranges", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Write(make([]byte, 1000))
			return true
		}, false, "does not support ranges"},
		{"another range", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Content-Range", "bytes 5-9/5312")
			w.WriteHeader(http.StatusPartialContent)
			return true
		}, false, "another range"},
		{"a size that cannot be", func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Content-Range", "bytes 0-9/-1")
			w.WriteHeader(http.StatusPartialContent)
			return true
		}, false, "another range"},
		{"not there", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.NotFound(w, r)
			return true
		}, false, "404"},
		{"redirects to a stranger", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, "http://localhost:1/x", http.StatusFound)
			return true
		}, false, "a redirect to the host"},
		{"redirects for ever", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		}, false, "redirects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t, demo)
			h.before = c.before
			_, err := open(t, h.URL+"/tiny.gguf", remote.Options{AllowPrivate: true})
			if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestATokenIsSentOnlyToTheHub(t *testing.T) {
	cdn := newHub(t, demo)
	h := newHub(t, demo)
	h.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if strings.Contains(r.URL.Path, "/resolve/") {
			http.Redirect(w, r, cdn.URL+"/tiny.gguf", http.StatusFound)
			return true
		}
		return false
	}
	u, _ := url.Parse(cdn.URL)
	if _, err := open(t, "hf://me/model/tiny.gguf", remote.Options{AllowPrivate: true, Hub: h.URL, Token: "hf_secret", Redirects: []string{u.Hostname()}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range h.requests {
		if r.Header.Get("Authorization") != "Bearer hf_secret" {
			t.Errorf("%s: no token", r.URL)
		}
	}
	for _, r := range cdn.requests {
		if r.Header.Get("Authorization") != "" {
			t.Error("another host got the token")
		}
	}
	if _, err := open(t, cdn.URL+"/tiny.gguf", remote.Options{AllowPrivate: true, Hub: h.URL, Token: "hf_secret"}); err != nil {
		t.Fatal(err)
	}
	if last := cdn.requests[len(cdn.requests)-1]; last.Header.Get("Authorization") != "" {
		t.Error("a host that is not the hub got the token")
	}
}

func TestBoundsOfWhatIsFetched(t *testing.T) {
	h := newHub(t, demo)
	for _, p := range []limits.Policy{{MaxRequests: 1}, {MaxFetched: 1000}} {
		_, err := openUnder(t, p, "hf://me/model/tiny.gguf", remote.Options{AllowPrivate: true, Hub: h.URL})
		if !errors.Is(err, limits.ErrLimit) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// The program reads addresses as it reads files.
func TestTheProgramReadsAddresses(t *testing.T) {
	h := newHub(t, demo)
	var out, errs bytes.Buffer
	stdio := cli.Stdio{Out: &out, Err: &errs, Remote: func(_ context.Context, b *limits.Budget, address string) (tensor.Model, error) {
		return remote.Open(b, address, remote.Options{AllowPrivate: true, Hub: h.URL})
	}}
	target := filepath.Join(t.TempDir(), "tiny.safetensors")
	for _, args := range [][]string{{"inspect", "hf://me/model/tiny.gguf"}, {"parse", "--json", "hf://me/model/tiny.gguf"}, {"remember", "-o", target, "hf://me/model/tiny.gguf"}} {
		if code := cli.Main(t.Context(), args, stdio); code != 0 {
			t.Errorf("%v: exit %d: %s", args, code, &errs)
		}
	}
	if !strings.Contains(out.String(), "Format:      GGUF v3") {
		t.Error(out.String())
	}
	if _, err := os.Stat(target); err != nil {
		t.Error(err)
	}
}
