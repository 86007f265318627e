package worker_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
)

const commit = "cccccccccccccccccccccccccccccccccccccccc"

// A hubDouble serves repositories of one owner as the hub does: large files have a SHA-256 in
// the listing, others that of their git object.
type hubDouble struct {
	*httptest.Server

	repos map[string]map[string]string
	lies  map[string]string // the digest that is stated of a file
	cut   atomic.Bool       // connections are closed in place of an answer
}

func newHubDouble(t *testing.T, repos map[string]map[string]string) *hubDouble {
	h := &hubDouble{repos: repos, lies: map[string]string{}}
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.Close)
	return h
}

func (h *hubDouble) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/models" {
		var list []string
		for name := range h.repos {
			list = append(list, fmt.Sprintf(`{"id":"org/%s","sha":%q}`, name, commit))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(list, ","))
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/api/models/org/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		files, ok := h.repos[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		var list []string
		for file, text := range files {
			blob := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))
			entry := fmt.Sprintf(`{"rfilename":%q,"size":%d,"blobId":%q}`, file, len(text), hex.EncodeToString(blob[:]))
			if path.Ext(file) == ".safetensors" || path.Ext(file) == ".bin" {
				sum := digest(text)
				if lie := h.lies[file]; lie != "" {
					sum = lie
				}
				entry = fmt.Sprintf(`{"rfilename":%q,"size":%d,"blobId":%q,"lfs":{"sha256":%q,"size":%d}}`, file, len(text), hex.EncodeToString(blob[:]), sum, len(text))
			}
			list = append(list, entry)
		}
		fmt.Fprintf(w, `{"sha":%q,"siblings":[%s]}`, commit, strings.Join(list, ","))
		return
	}
	rest := strings.TrimPrefix(r.URL.Path, "/org/")
	name, rest, _ := strings.Cut(rest, "/")
	text, ok := h.repos[name][strings.TrimPrefix(rest, "resolve/"+commit+"/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if h.cut.Load() {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("ETag", `"`+digest(text)+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// A repository of the hub is judged by its headers: its weights are not fetched, and their
// digests are the hub's claim.
func TestAnAddressIsJudgedByItsHeaders(t *testing.T) {
	large := safetensors(strings.Repeat("12345678", 1<<20))
	h := newHubDouble(t, map[string]map[string]string{
		"good": {"model.safetensors": large, "config.json": `{"model_type":"llama"}`},
		"evil": {"model.safetensors": honest, "pytorch_model.bin": "cos\nsystem\n(S'id'\ntR."},
	})
	w, m := newWorker(t)
	w.Sources = source.Sources{Remote: source.Remote{AllowPrivate: true, Hub: h.URL}}
	var found []store.Work
	if err := w.Sources.Find(t.Context(), w.Budget, "acme", "hf://org/*", func(w store.Work) error { found = append(found, w); return nil }); err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	for i, f := range found {
		if f.Revision != commit || f.Address != "hf://"+f.Repo+"@"+commit || f.Tenant != "acme" {
			t.Errorf("%+v", f)
		}
		if err := w.Work(t.Context(), store.Job{ID: int64(i), Attempt: 1, Work: f}); err != nil {
			t.Fatal(err)
		}
	}
	good, evil := m.finished["org/good"], m.finished["org/evil"]
	if !good.Accepted || good.Claimed != 1 || good.Domain != "hf "+h.URL || good.DirHash == "" {
		t.Errorf("good: %+v", good)
	}
	if evil.Accepted || evil.Class != "forbidden" || evil.Claimed != 2 {
		t.Errorf("evil: %+v", evil)
	}
	if n := len(good.Evidence[digest(large)]); n == 0 || n > 4096 {
		t.Errorf("%d bytes of evidence: the weights were read", n)
	}
	// By other rules both are judged again without a request.
	h.Close()
	w.Gate.Version = "newer"
	for i, f := range found {
		v := m.finished[f.Repo]
		m.files, m.kept = v.Files, v.Evidence
		if err := w.Work(t.Context(), store.Job{ID: int64(i), Attempt: 1, Work: f}); err != nil {
			t.Fatal(err)
		}
		if again := m.finished[f.Repo]; again.Class != v.Class || again.Rules == v.Rules || again.Domain == "" || again.Claimed == 0 {
			t.Errorf("again: %+v", again)
		}
	}
}

// A source that lies about the digest of what is read whole is found out.
func TestALieAboutADigestIsFound(t *testing.T) {
	h := newHubDouble(t, map[string]map[string]string{"liar": {"pytorch_model.bin": "(lp0\n.", "config.json": `{}`}})
	h.lies["pytorch_model.bin"] = digest("something else")
	w, m := newWorker(t)
	w.Sources = source.Sources{Remote: source.Remote{AllowPrivate: true, Hub: h.URL}}
	var found []store.Work
	if err := w.Sources.Find(t.Context(), w.Budget, "acme", "hf://org/liar", func(w store.Work) error { found = append(found, w); return nil }); err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	err := w.Work(t.Context(), store.Job{ID: 1, Attempt: 1, Work: found[0]})
	if v, ok := m.finished["org/liar"]; err == nil && (!ok || v.Accepted) {
		t.Errorf("%+v, %v", v, err)
	}
}

// A claim stays a claim, whichever attempt comes to the end.
func TestAClaimStaysAClaim(t *testing.T) {
	h := newHubDouble(t, map[string]map[string]string{"m": {"model.safetensors": honest, "config.json": `{"model_type":"llama"}`}})
	h.lies["model.safetensors"] = digest("another content of the size")
	w, m := newWorker(t)
	w.Sources = source.Sources{Remote: source.Remote{AllowPrivate: true, Hub: h.URL}}
	w.Child = func(ctx context.Context, g *gate.Gate, work store.Work) ([]byte, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return worker.Process("/usr/bin/env", []string{"HUB_CHILD=judge", program}, "", w.Sources.Remote, 1<<30)(ctx, g, work)
	}
	for attempt := 1; attempt <= 2; attempt++ {
		j := store.Job{ID: 1, Attempt: attempt, Work: store.Work{Repo: "m", Address: "hf://org/m@" + commit, Revision: commit}}
		if err := w.Work(t.Context(), j); err != nil {
			t.Logf("attempt %d: %v", attempt, err) // it may be found out, since a small file is read whole
			continue
		}
		if v := m.finished["m"]; v.Computed || v.Claimed == 0 || v.Domain == "" {
			t.Errorf("attempt %d: computed %v, claimed %d, domain %q", attempt, v.Computed, v.Claimed, v.Domain)
		}
	}
}

// A connection that breaks is an attempt that failed, and nothing about the files.
func TestABrokenConnectionIsNoVerdict(t *testing.T) {
	h := newHubDouble(t, map[string]map[string]string{"m": {"model.safetensors": safetensors(strings.Repeat("x", 1<<20)), "config.json": `{"model_type":"llama"}`}})
	w, m := newWorker(t)
	w.Sources = source.Sources{Remote: source.Remote{AllowPrivate: true, Hub: h.URL}}
	h.cut.Store(true)
	j := store.Job{ID: 1, Attempt: 1, Work: store.Work{Repo: "m", Address: "hf://org/m@" + commit, Revision: commit}}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := w.Work(ctx, j); err == nil || len(m.finished) != 0 {
		t.Errorf("%v, %+v", err, m.finished)
	}
	h.cut.Store(false)
	if err := w.Work(t.Context(), j); err != nil || !m.finished["m"].Accepted {
		t.Errorf("%v, %+v", err, m.finished["m"])
	}
}

func TestBadSources(t *testing.T) {
	w, _ := newWorker(t)
	for _, where := range []string{"ftp://host/x", "hf://*", "hf://a/b/*", "hf://../*", "s3://bucket/*", "hf://org"} {
		err := w.Sources.Find(t.Context(), w.Budget, "t", where, func(store.Work) error { return nil })
		if err == nil {
			t.Errorf("%s: no error", where)
		}
	}
}

func safetensors(weights string) string {
	header := fmt.Sprintf(`{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, len(weights), len(weights))
	var b bytes.Buffer
	b.Write([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0})
	return b.String() + header + weights
}
