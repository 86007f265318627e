package remote_test

import (
	"context"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anamnesis-go/anamnesis/remote"
)

// secure is a hub behind TLS, whose certificate is for example.com and 127.0.0.1, and the file
// with that certificate.
func secure(t *testing.T) (h *hub, trusted string) {
	h = newHub(t, demo)
	tls := httptest.NewTLSServer(h.Config.Handler)
	t.Cleanup(tls.Close)
	h.Server = tls
	trusted = filepath.Join(t.TempDir(), "ca.pem")
	write(t, trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw}))
	return h, trusted
}

// A tunnel is a proxy that connects every host to one server.
type tunnel struct {
	*httptest.Server

	to     string
	refuse atomic.Bool

	mu    sync.Mutex
	asked []*http.Request
}

func newTunnel(t *testing.T, to string) *tunnel {
	p := &tunnel{to: to}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r)
		p.mu.Unlock()
		if p.refuse.Load() || r.Method != http.MethodConnect {
			http.Error(w, "", http.StatusForbidden)
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			http.Error(w, "", http.StatusBadGateway)
			return
		}
		defer out.Close()
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer in.Close()
		io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() {
			io.Copy(out, in)
			out.Close()
		}()
		io.Copy(in, out)
	}))
	t.Cleanup(p.Close)
	return p
}

// The program itself, against servers with TLS, directly and through a proxy: certificates, hosts
// that it contacts, and messages.
func TestTheProgramOverTLSAndThroughAProxy(t *testing.T) {
	bin := program(t)
	_, trusted := secure(t) // all servers of httptest have one certificate
	elsewhere := newHub(t, demo)
	const address = "hf://me/model/tiny.gguf"
	for name, c := range map[string]struct {
		args         []string               // @ is the address of the hub
		proxy        func(p *tunnel) string // the environment's HTTPS_PROXY; nil for none
		before, env  string
		code         int
		says         string
		asks, served bool // the proxy, the hub
	}{
		"a certificate that is trusted": {args: []string{"--allow-private", "inspect", "@/tiny.gguf"}, env: "SSL_CERT_FILE=" + trusted, served: true},
		"a certificate of a stranger":   {args: []string{"--allow-private", "inspect", "@/tiny.gguf"}, env: "SSL_CERT_FILE=/dev/null", code: 1, says: "certificate"},
		"a certificate of another host": {args: []string{"--allow-private", "inspect", "@localhost/tiny.gguf"}, env: "SSL_CERT_FILE=" + trusted, code: 1, says: "certificate"},
		"http to a server of https":     {args: []string{"--allow-private", "inspect", "@http/tiny.gguf"}, env: "SSL_CERT_FILE=" + trusted, code: 1},
		"a private address":             {args: []string{"inspect", "@/tiny.gguf"}, env: "SSL_CERT_FILE=" + trusted, code: 7, says: "not a public address"},
		"through a proxy":               {args: []string{"inspect", address}, proxy: func(p *tunnel) string { return p.URL }, env: "SSL_CERT_FILE=" + trusted, asks: true, served: true},
		"a scan through a proxy":        {args: []string{"scan", address}, proxy: func(p *tunnel) string { return p.URL }, env: "SSL_CERT_FILE=" + trusted, asks: true, served: true},
		"a proxy with a password":       {args: []string{"inspect", address}, proxy: func(p *tunnel) string { return strings.Replace(p.URL, "://", "://me:secret@", 1) }, env: "SSL_CERT_FILE=" + trusted, asks: true, served: true},
		"a stranger behind a proxy":     {args: []string{"inspect", address}, proxy: func(p *tunnel) string { return p.URL }, env: "SSL_CERT_FILE=/dev/null", code: 1, says: "certificate", asks: true},
		"a private address by a proxy":  {args: []string{"inspect", "https://127.0.0.1/tiny.gguf"}, proxy: func(p *tunnel) string { return p.URL }, env: "SSL_CERT_FILE=" + trusted, code: 7, says: "not a public address"},
		"a proxy that refuses":          {args: []string{"--max-requests", "1", "inspect", address}, proxy: func(p *tunnel) string { p.refuse.Store(true); return p.URL }, env: "SSL_CERT_FILE=" + trusted, code: 6, asks: true},
		"led to a private address":      {args: []string{"inspect", address}, before: "https://127.0.0.1/x", proxy: func(p *tunnel) string { return p.URL }, env: "SSL_CERT_FILE=" + trusted, code: 7, asks: true, served: true},
		"led to a stranger":             {args: []string{"inspect", address}, before: "https://stranger.example/x", proxy: func(p *tunnel) string { return p.URL }, env: "SSL_CERT_FILE=" + trusted, code: 7, asks: true, served: true},
		"led to http":                   {args: []string{"--allow-private", "inspect", address}, before: elsewhere.URL + "/tiny.gguf", proxy: func(p *tunnel) string { return p.URL }, env: "SSL_CERT_FILE=" + trusted, code: 7, asks: true, served: true},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := secure(t)
			if c.before != "" {
				h.mu.Lock()
				h.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
					if strings.Contains(r.URL.Path, "/resolve/") {
						http.Redirect(w, r, c.before, http.StatusFound)
					}
					return strings.Contains(r.URL.Path, "/resolve/")
				}
				h.mu.Unlock()
			}
			at, _ := url.Parse(h.URL)
			p := newTunnel(t, at.Host)
			spellings := strings.NewReplacer("@localhost", strings.Replace(h.URL, "127.0.0.1", "localhost", 1), "@http", strings.Replace(h.URL, "https", "http", 1), "@", h.URL)
			var args []string
			for _, a := range c.args {
				args = append(args, spellings.Replace(a))
			}
			cmd := exec.CommandContext(t.Context(), bin, args...)
			cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.Contains(strings.ToUpper(e), "_PROXY=") }), c.env, "SSL_CERT_DIR=/nowhere", "HF_ENDPOINT=https://example.com", "HF_TOKEN=hf_secret")
			if c.proxy != nil {
				cmd.Env = append(cmd.Env, "HTTPS_PROXY="+c.proxy(p))
			}
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("exit %d, want %d: %v: %s", code, c.code, err, out)
			}
			if strings.Contains(string(out), "secret") {
				t.Errorf("a secret is printed: %s", out)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if (len(p.asked) > 0) != c.asks || (h.count() > 0) != c.served || elsewhere.count() > 0 {
				t.Errorf("%d requests to the proxy, %d to the hub, %d to others", len(p.asked), h.count(), elsewhere.count())
			}
			for _, r := range p.asked {
				if r.Method != http.MethodConnect || r.Host != "example.com:443" || r.Header.Get("Authorization") != "" || (name == "a proxy with a password") != (r.Header.Get("Proxy-Authorization") != "") {
					t.Errorf("the proxy was asked %s %s %v", r.Method, r.Host, r.Header)
				}
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, r := range h.requests {
				if r.Header.Get("Proxy-Authorization") != "" {
					t.Error("the hub got the password of the proxy")
				}
			}
		})
	}
}

// names is a resolver that answers the n-th question for an address with addresses[n], and with the
// last ones from then on.
func names(t *testing.T, addresses ...[]string) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		n := 0
		for buf := make([]byte, 512); ; {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			q := buf[12:size]
			end := slices.Index(q, 0) + 5 // the name, type and class
			var ips []string
			if binary.BigEndian.Uint16(q[end-4:]) == 1 { // type A
				ips = addresses[min(n, len(addresses)-1)]
				n++
			}
			a := append([]byte{buf[0], buf[1], 0x81, 0x80, 0, 1, 0, byte(len(ips)), 0, 0, 0, 0}, q[:end]...)
			for _, ip := range ips {
				a = append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				a = append(a, netip.MustParseAddr(ip).AsSlice()...)
			}
			_, _ = conn.WriteTo(a, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// A name that leads to a public address when it is first looked up, and to this machine later: the
// address that is checked is the one that is dialled, at every connection.
func TestDNSRebindingIsRefused(t *testing.T) {
	const public = "93.184.216.34"
	for name, answers := range map[string][][]string{
		"later":          {{public}, {"127.0.0.1"}},
		"at once":        {{public, "127.0.0.1"}},
		"later metadata": {{public}, {"169.254.169.254"}, {"10.0.0.1"}},
		"at the end":     {{public}, {public}, {public}, {"127.0.0.1"}},
		"from the first": {{"127.0.0.1"}, {public}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, demo)
			at, _ := url.Parse(h.URL)
			var mu sync.Mutex
			var dialled []string
			remote.Dialled(t, names(t, answers...), func(address string) error {
				mu.Lock()
				defer mu.Unlock()
				dialled = append(dialled, address)
				return errors.New("no packet leaves this test")
			})
			_, err := open(t, fmt.Sprintf("https://rebind.example:%s/tiny.gguf", at.Port()), remote.Options{})
			if err == nil || h.count() > 0 {
				t.Errorf("%v, %d requests reached this machine", err, h.count())
			}
			if last := answers[len(answers)-1]; last[0] != public && !errors.Is(err, remote.ErrForbidden) {
				t.Errorf("%v, want an address that is forbidden", err)
			}
			for _, a := range dialled {
				if a != public+":"+at.Port() {
					t.Errorf("%s was about to be dialled", a)
				}
			}
			if name != "from the first" && len(dialled) == 0 {
				t.Error("the resolver was not asked")
			}
		})
	}
}
