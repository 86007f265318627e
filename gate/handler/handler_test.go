package handler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/handler"
	"github.com/anamnesis-go/anamnesis/gate/host"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// honest is a safetensors file with n bytes of one tensor.
func honest(n int) string {
	header := fmt.Sprintf(`{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, n, n)
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	return string([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}) + header + strings.Repeat("x", n)
}

const evil = "\x80\x02cos\nsystem\nq\x00X\x02\x00\x00\x00idq\x01\x85q\x02Rq\x03."

// serve starts a gate before a handler that answers with what it got.
func serve(t *testing.T, o handler.Options) (*httptest.Server, *handler.Handler, string) {
	t.Helper()
	o.Dir = t.TempDir()
	h, err := handler.New(http.HandlerFunc(echo), o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		h.Close()
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
			t.Errorf("left in the spool: %v, %v", left, err)
		}
	})
	return s, h, o.Dir
}

func echo(w http.ResponseWriter, r *http.Request) {
	for _, u := range handler.Uploads(r.Context()) {
		for _, f := range u.Files() {
			n, err := io.Copy(io.Discard, f.Reader())
			fmt.Fprintf(w, "%s %d %v\n", f.Name, n, err)
		}
		n, err := io.Copy(io.Discard, u.Reader())
		fmt.Fprintf(w, "%s %d %v %v\n", u.Name, n, err, u.Verdict.Format)
	}
	for name, list := range r.PostForm {
		fmt.Fprintf(w, "%s=%s\n", name, list)
	}
	text, err := io.ReadAll(r.Body)
	fmt.Fprintf(w, "body %d of %d, %v", len(text), r.ContentLength, err)
}

func ask(t *testing.T, method, url, kind string, body io.Reader) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// unknown hides how long a body is, so that it comes in chunks.
func unknown(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }

func TestAnswersToUploads(t *testing.T) {
	var metrics handler.Metrics
	var log bytes.Buffer
	o := handler.Options{Options: host.Options{MaxFile: 1 << 20}, Observe: metrics.Observe, Log: slog.New(slog.NewTextHandler(&log, nil))}
	o.PromisedOf = func(r *http.Request) string { return r.URL.Query().Get("promised") }
	s, h, _ := serve(t, o)
	metrics.Load = h.Host().Load
	for _, tc := range []struct {
		what, method, path, kind string
		body                     io.Reader
		status                   int
		has                      []string
	}{
		{"small", "PUT", "/m.safetensors", "", strings.NewReader(honest(100)), 200, []string{"m.safetensors 172 <nil> safetensors", "body 172 of 172, <nil>"}},
		{"of unknown length", "POST", "/m.safetensors", "", unknown(honest(100)), 200, []string{"body 172 of 172"}},
		{"larger than memory keeps", "PUT", "/m.safetensors", "application/octet-stream", strings.NewReader(honest(700_000)), 200, []string{"body 700072 of 700072"}},
		{"a pickle", "PUT", "/m.pkl", "", strings.NewReader(evil), 403, []string{`"rules":["pickle.global"`, `"class":"forbidden"`, `"schema":"amn.verdict/1"`}},
		{"a pickle by another name", "PUT", "/m.safetensors", "", strings.NewReader(evil), 403, []string{`"status":403`}},
		{"not what was promised", "PUT", "/m.npy?promised=gguf", "", strings.NewReader(honest(10)), 403, []string{`gate.promise`}},
		{"cut", "PUT", "/m.safetensors", "", strings.NewReader(honest(100)[:120]), 422, []string{`safetensors.truncated`}},
		{"rubbish", "PUT", "/m", "", strings.NewReader("hello, world of models"), 415, []string{"detect.unsupported"}},
		{"declared too large", "PUT", "/m.safetensors", "", strings.NewReader(honest(2 << 20)), 413, []string{"more than 1MiB"}},
		{"too large", "PUT", "/m.safetensors", "", unknown(honest(2 << 20)), 413, []string{"more than 1MiB"}},
		{"another method", "DELETE", "/m", "", nil, 405, []string{"PUT or POST"}},
		{"no type", "PUT", "/m", "a/b/c;;", strings.NewReader("x"), 400, []string{"Content-Type"}},
		{"another multipart", "POST", "/m", "multipart/mixed; boundary=x", strings.NewReader("x"), 415, []string{"form-data"}},
	} {
		res, text := ask(t, tc.method, s.URL+tc.path, tc.kind, tc.body)
		if res.StatusCode != tc.status {
			t.Errorf("%s: status %d, not %d: %s", tc.what, res.StatusCode, tc.status, text)
		}
		for _, want := range tc.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", tc.what, want, text)
			}
		}
		if kind := res.Header.Get("Content-Type"); res.StatusCode >= 400 && (kind != "application/problem+json" || !json.Valid([]byte(text))) {
			t.Errorf("%s: a refusal of type %q: %s", tc.what, kind, text)
		}
	}
	counted(t, &metrics)
	for _, want := range []string{`level=WARN msg=refused name=m.pkl`, `rules="[pickle.global pickle.call]"`, `level=INFO msg=accepted`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, &log)
		}
	}
}

func counted(t *testing.T, m *handler.Metrics) {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`anamnesis_uploads_total{status="200"} 3`, `anamnesis_uploads_total{status="403"} 3`, `anamnesis_refusals_total{rule="pickle.global"} 2`,
		"anamnesis_judge_seconds_count 8", "anamnesis_uploads 0", "anamnesis_spooled_bytes 0", "anamnesis_memory_bytes 0",
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("no %q in\n%s", want, w.Body)
		}
	}
	if !json.Valid([]byte(m.String())) {
		t.Errorf("expvar: %s", m)
	}
}

// A tenant that uses up its share gets "busy"; another tenant does not.
func TestATenantUsesOnlyItsOwnShare(t *testing.T) {
	o := handler.Options{Options: host.Options{MaxUploads: 3, PerTenant: 2, RetryAfter: 1500 * time.Millisecond}}
	o.TenantOf = func(r *http.Request) string { return r.Header.Get("Tenant") }
	s, h, _ := serve(t, o)
	var open []*host.Upload
	for range 2 {
		u, err := h.Host().Begin("a")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, u)
	}
	put := func(tenant string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL+"/m.safetensors", strings.NewReader(honest(10)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Tenant", tenant)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	if res := put("a"); res.StatusCode != 429 || res.Header.Get("Retry-After") != "2" {
		t.Errorf("a third upload of a tenant: %d, %v", res.StatusCode, res.Header)
	}
	if res := put("b"); res.StatusCode != 200 {
		t.Errorf("another tenant's upload: %d", res.StatusCode)
	}
	u, err := h.Host().Begin("c")
	if err != nil {
		t.Fatal(err)
	}
	if res := put("b"); res.StatusCode != 503 {
		t.Errorf("an upload that the host has no room for: %d", res.StatusCode)
	}
	for _, u := range append(open, u) {
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
	if res := put("a"); res.StatusCode != 200 {
		t.Errorf("after the others ended: %d", res.StatusCode)
	}
}

// Memory held by one tenant's judgements does not decide about another tenant's file.
func TestMemoryHeldByOthersIsAnsweredWithBusy(t *testing.T) {
	o := handler.Options{Options: host.Options{Memory: 300 << 10, TenantMemory: 300 << 10, Gate: gate.Gate{Policy: gate.Policy{Limits: limits.Policy{MaxTotalBytes: 200 << 10}}}}}
	s, h, _ := serve(t, o)
	big, err := h.Host().Begin("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Spool(strings.NewReader(honest(230<<10)), int64(len(honest(230<<10)))); err != nil {
		t.Fatal(err)
	}
	if res, text := ask(t, "PUT", s.URL+"/m.safetensors", "", strings.NewReader(honest(100<<10))); res.StatusCode != 503 {
		t.Errorf("%d, %s", res.StatusCode, text)
	}
	if err := big.Close(); err != nil {
		t.Error(err)
	}
	if res, text := ask(t, "PUT", s.URL+"/m.safetensors", "", strings.NewReader(honest(100<<10))); res.StatusCode != 200 {
		t.Errorf("%d, %s", res.StatusCode, text)
	}
}

// A client that stops sending, or leaves, is disconnected.
func TestSlowAndLostClients(t *testing.T) {
	events := make(chan host.Event, 2)
	s, h, _ := serve(t, handler.Options{IdleTimeout: 50 * time.Millisecond, Observe: func(e host.Event) { events <- e }})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT /m.safetensors HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
	if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 408 ") {
		t.Errorf("a slow client was answered %q, %v", text, err)
	}
	if e := <-events; e.Status != http.StatusRequestTimeout || e.Class != wire.OK {
		t.Errorf("a slow client is %+v", e)
	}
	// A connection of our own: net/http's client waits for the body's reader when it leaves.
	lost, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(lost, "PUT /m HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
	if err := lost.Close(); err != nil {
		t.Error(err)
	}
	if e := <-events; e.Status == http.StatusOK {
		t.Errorf("a client that left is %+v", e)
	}
	for l := h.Host().Load(); l.Uploads > 0; l = h.Host().Load() {
		time.Sleep(time.Millisecond)
	}
}
