package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/api"
	"github.com/anamnesis-go/anamnesis/hub/hooks"
	"github.com/anamnesis-go/anamnesis/hub/internal/pgtest"
	"github.com/anamnesis-go/anamnesis/hub/rollout"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
)

// everywhere runs a test with a fleet whose policies change, on both databases.
func everywhere(t *testing.T, change func(*api.Options), test func(*testing.T, *fleet)) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			where := filepath.Join(t.TempDir(), "hub.db")
			if name == "postgres" {
				where = pgtest.Start(t).Address()
			}
			f := newFleet(t, nil)
			db, err := store.Open(t.Context(), where, store.Options{Backoff: 10 * time.Millisecond, Poll: 5 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			f.db, f.o.Store = db, db
			if f.o.Policies, err = rollout.New(db, f.g, "", nil); err != nil {
				t.Fatal(err)
			}
			if _, err := f.o.Policies.Fresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			for who, roles := range map[string][]api.Role{"promoter": {api.Promote, api.Read}, "excepter": {api.Except, api.Read}} {
				f.o.Tokens[sum(token(who))] = api.Token{SHA256: sum(token(who)), Tenant: "alice", Roles: roles}
			}
			if change != nil {
				change(&f.o)
			}
			s, err := api.New(f.o)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			f.url = server.URL
			w := &worker.Worker{Store: db, Policies: f.o.Policies, Blobs: f.blobs, Gate: f.g, Budget: f.o.Budget}
			if err := db.Start(t.Context(), 2, w.Work); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					db.Admit(ctx, 8)
					time.Sleep(5 * time.Millisecond)
				}
			}()
			t.Cleanup(func() { stop(); <-done })
			test(t, f)
		})
	}
}

// submit sends a revision and returns its answer.
func (f *fleet) submit(who, repo string, files map[string]string) answer {
	f.t.Helper()
	for _, text := range files {
		if a := f.put(who, text); a.status != http.StatusCreated {
			f.t.Fatalf("%d %v", a.status, a.body)
		}
	}
	return f.ask(who, "POST", "/v1/repos", manifestOf(repo, "v1", files))
}

// until asks again while a revision waits.
func (f *fleet) until(who, path string) (a answer) {
	f.t.Helper()
	for range 1000 {
		if a = f.ask(who, "GET", path, ""); a.status != http.StatusServiceUnavailable {
			return a
		}
		time.Sleep(10 * time.Millisecond)
	}
	return a
}

// policy is the JSON of a profile.
func policy(t *testing.T, name string, change func(*gate.Policy)) string {
	t.Helper()
	p, ok := gate.Profile(name)
	if !ok {
		t.Fatal(name)
	}
	if change != nil {
		change(&p)
	}
	text, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var noGGUF = func(p *gate.Policy) { p.Formats = []string{"gguf"} }

// A promoted version is in force at once, for one tenant, and so is what it replaced after a
// rollback. In report mode nothing is signed, and a refusal stays a refusal.
func TestPoliciesAreLive(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, f *fleet) {
		files := map[string]string{"model.safetensors": honest("12345678")}
		for _, who := range []string{"alice", "bob"} {
			if a := f.submit(who, "o/m", files); a.status != 200 || a.body["mode"] != "enforce" || a.body["enforced"] != true || a.body["receipt"] == nil {
				t.Fatalf("%d %v", a.status, a.body)
			}
		}
		a := f.ask("promoter", "POST", "/v1/policies?note=only+gguf", policy(t, "upload", noGGUF))
		if a.status != http.StatusCreated {
			t.Fatalf("%d %v", a.status, a.body)
		}
		version := int64(a.body["version"].(float64))
		if a := f.ask("alice", "GET", "/v1/repos/o/m@v1", ""); a.status != 200 {
			t.Errorf("a version that is not promoted is in force: %d", a.status)
		}
		promote := func(mode string) {
			t.Helper()
			if a := f.ask("promoter", "POST", "/v1/promotions", fmt.Sprintf(`{"version":%d,"mode":%q,"reason":"to try"}`, version, mode)); a.status != http.StatusCreated {
				t.Fatalf("%d %v", a.status, a.body)
			}
		}
		promote("report")
		if a := f.until("alice", "/v1/repos/o/m@v1"); a.status != http.StatusForbidden || a.body["mode"] != "report" || a.body["enforced"] != false || a.body["receipt"] != nil || !strings.Contains(a.body["detail"].(string), "only reports") {
			t.Errorf("%d %v", a.status, a.body)
		}
		promote("enforce")
		if a := f.until("alice", "/v1/repos/o/m@v1"); a.status != http.StatusForbidden || a.body["mode"] != "enforce" || a.body["receipt"] == nil {
			t.Errorf("%d %v", a.status, a.body)
		}
		if a := f.ask("alice", "GET", "/v1/verdicts/"+sum(files["model.safetensors"]), ""); a.status != http.StatusForbidden || a.body["mode"] != "enforce" {
			t.Errorf("%d %v", a.status, a.body)
		}
		if a := f.until("bob", "/v1/repos/o/m@v1"); a.status != 200 {
			t.Errorf("another tenant: %d %v", a.status, a.body)
		}
		for _, want := range []struct {
			status int
			mode   string
		}{{403, "report"}, {200, "enforce"}} {
			if a := f.ask("promoter", "POST", "/v1/rollbacks", `{"reason":"it was wrong"}`); a.status != http.StatusCreated {
				t.Fatalf("%d %v", a.status, a.body)
			}
			if a := f.until("alice", "/v1/repos/o/m@v1"); a.status != want.status || a.body["mode"] != want.mode {
				t.Errorf("%d %v", a.status, a.body)
			}
		}
		// An acceptance by a policy that only reports is marked, and nobody signs for it.
		a = f.ask("operator", "POST", "/v1/policies?tenant=*", policy(t, "server", nil))
		if a.status != http.StatusCreated {
			t.Fatal(a.status, a.body)
		}
		if a := f.ask("operator", "POST", "/v1/promotions", fmt.Sprintf(`{"tenant":"*","version":%v,"mode":"report","reason":"r"}`, a.body["version"])); a.status != http.StatusCreated {
			t.Fatal(a.status, a.body)
		}
		for _, who := range []string{"alice", "bob"} {
			if a := f.until(who, "/v1/repos/o/m@v1"); a.status != 200 || a.body["mode"] != "report" || a.body["enforced"] != false || a.body["receipt"] != nil {
				t.Errorf("%s: %d %v", who, a.status, a.body)
			}
		}
	})
}

// Who may do what, and what is said to those who may not.
func TestRolesOfPolicies(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, f *fleet) {
		strict := policy(t, "strict", nil)
		own := f.ask("promoter", "POST", "/v1/policies", strict)
		if own.status != http.StatusCreated {
			t.Fatal(own.status, own.body)
		}
		version := int64(own.body["version"].(float64))
		body := func(tenant string, version int64) string {
			return fmt.Sprintf(`{"tenant":%q,"version":%d,"mode":"enforce","reason":"r"}`, tenant, version)
		}
		for name, c := range map[string]struct {
			who, method, path, body string
			status                  int
		}{
			"no role":             {"alice", "POST", "/v1/promotions", body("", version), 403},
			"no role, to put":     {"alice", "POST", "/v1/policies", strict, 403},
			"no role, to read":    {"alice", "GET", "/v1/policies", "", 403},
			"no role, to except":  {"alice", "POST", "/v1/exceptions", `{}`, 403},
			"for another tenant":  {"promoter", "POST", "/v1/promotions", body("bob", version), 404},
			"for all":             {"promoter", "POST", "/v1/promotions", body("*", version), 404},
			"back, of another":    {"promoter", "POST", "/v1/rollbacks", `{"tenant":"bob","reason":"r"}`, 404},
			"put for another":     {"promoter", "POST", "/v1/policies?tenant=bob", strict, 404},
			"of another":          {"operator", "POST", "/v1/promotions", body("bob", version), 404},
			"of nobody":           {"promoter", "POST", "/v1/promotions", body("", 999), 404},
			"nothing to go back":  {"promoter", "POST", "/v1/rollbacks", `{"reason":"r"}`, 404},
			"no reason":           {"promoter", "POST", "/v1/rollbacks", `{}`, 422},
			"no mode":             {"promoter", "POST", "/v1/promotions", `{"version":1,"reason":"r"}`, 422},
			"an unknown member":   {"promoter", "POST", "/v1/promotions", `{"version":1,"mode":"enforce","reason":"r","x":"y"}`, 422},
			"a member twice":      {"promoter", "POST", "/v1/promotions", `{"version":1,"mode":"enforce","mode":"report","reason":"r"}`, 422},
			"no policy":           {"promoter", "POST", "/v1/policies", `{"version":99}`, 422},
			"a policy of nothing": {"promoter", "POST", "/v1/policies", ``, 422},
			"an unknown policy":   {"promoter", "POST", "/v1/policies", `{"surprise":true}`, 422},
		} {
			if a := f.ask(c.who, c.method, c.path, c.body); a.status != c.status {
				t.Errorf("%s: %d %v, want %d", name, a.status, a.body, c.status)
			}
		}
		if list, err := f.db.Promotions(t.Context(), "*"); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if list, err := f.db.PolicyVersions(t.Context(), "*"); err != nil || len(list) != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		// A version of another tenant is not listed, and its digest is not told by a number.
		f.ask("operator", "POST", "/v1/policies?tenant=bob", strict)
		if a := f.ask("promoter", "GET", "/v1/policies", ""); len(a.body["versions"].([]any)) != 1 {
			t.Errorf("%v", a.body)
		}
	})
}

// A policy that this program cannot read is none, and no other takes its place.
func TestAPolicyThatCannotBeReadJudgesNothing(t *testing.T) {
	everywhere(t, func(o *api.Options) { o.Wait = 50 * time.Millisecond }, func(t *testing.T, f *fleet) {
		files := map[string]string{"model.safetensors": honest("12345678")}
		v, err := f.db.PutPolicy(t.Context(), store.PolicyVersion{Digest: sum("x"), Body: []byte(`{"version":99}`)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.db.Promote(t.Context(), store.Promotion{Tenant: "alice", Version: v.Number, Mode: store.Enforce}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.o.Policies.Fresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if a := f.submit("alice", "o/m", files); a.status < 400 || a.body["accepted"] != nil {
				t.Errorf("%d %v", a.status, a.body)
			}
		}
		for range 500 {
			if p, err := f.db.Parked(t.Context()); err == nil && len(p) == 1 && strings.Contains(p[0].Reason, "cannot be read by this program") {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("it is not parked")
	})
}

// An appeal changes nothing until it is granted, and a grant changes it for one tenant, until its last day.
func TestAnAppealIsGranted(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, f *fleet) {
		text := "\x00\x01 nobody knows"
		files := map[string]string{"model.bin": text}
		for _, who := range []string{"alice", "bob"} {
			if a := f.submit(who, "o/m", files); a.status < 400 {
				t.Fatal(a.status, a.body)
			}
		}
		ask := fmt.Sprintf(`{"repo":"o/m","rule":"detect.unknown","sha256":%q,"reason":"we wrote it"}`, sum(text))
		a := f.ask("alice", "POST", "/v1/appeals", ask)
		if a.status != http.StatusCreated || a.body["state"] != "asked" {
			t.Fatal(a.status, a.body)
		}
		id := int64(a.body["id"].(float64))
		if a := f.until("alice", "/v1/repos/o/m@v1"); a.status < 400 {
			t.Errorf("an appeal is in force: %d", a.status)
		}
		day := time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly)
		grant := fmt.Sprintf(`{"state":"granted","expires":%q,"answer":"read it"}`, day)
		path := fmt.Sprintf("/v1/exceptions/%d", id)
		for name, c := range map[string]struct {
			who, path, body string
			status          int
		}{
			"who asked":     {"alice", path, grant, 403},
			"nobody's":      {"excepter", "/v1/exceptions/999", grant, 404},
			"no number":     {"excepter", "/v1/exceptions/x", grant, 404},
			"no day":        {"excepter", path, `{"state":"granted","answer":"a"}`, 422},
			"a past day":    {"excepter", path, `{"state":"granted","expires":"2020-01-01","answer":"a"}`, 422},
			"for ever":      {"excepter", path, `{"state":"granted","expires":"9999-01-01","answer":"a"}`, 422},
			"another state": {"excepter", path, `{"state":"asked","answer":"a"}`, 422},
			"no such rule":  {"alice", "/v1/appeals", strings.Replace(ask, "detect.unknown", "detect.nothing", 1), 422},
			"a pattern":     {"alice", "/v1/appeals", strings.Replace(ask, "detect.unknown", "*", 1), 422},
			"no content":    {"alice", "/v1/appeals", `{"rule":"detect.unknown","reason":"r"}`, 422},
			"no reason":     {"alice", "/v1/appeals", strings.Replace(ask, "we wrote it", " ", 1), 422},
		} {
			if a := f.ask(c.who, "POST", c.path, c.body); a.status != c.status {
				t.Errorf("%s: %d %v, want %d", name, a.status, a.body, c.status)
			}
		}
		if a := f.ask("excepter", "POST", path, grant); a.status != http.StatusCreated {
			t.Fatal(a.status, a.body)
		}
		if a := f.until("alice", "/v1/repos/o/m@v1"); a.status != 200 || a.body["accepted"] != true {
			t.Errorf("after the grant: %d %v", a.status, a.body)
		}
		if a := f.until("bob", "/v1/repos/o/m@v1"); a.status < 400 {
			t.Errorf("for another tenant: %d", a.status)
		}
		if v, ok, err := f.db.Revision(t.Context(), "alice", "o/m", ""); !ok || err != nil || v.Until != day {
			t.Errorf("good until %q, %v", v.Until, err)
		}
		if a := f.ask("bob", "GET", "/v1/exceptions", ""); a.body["exceptions"] != nil {
			t.Errorf("another tenant sees %v", a.body)
		}
		if a := f.ask("excepter", "POST", path, `{"state":"revoked","answer":"it was wrong"}`); a.status != http.StatusCreated {
			t.Fatal(a.status, a.body)
		}
		if a := f.until("alice", "/v1/repos/o/m@v1"); a.status < 400 {
			t.Errorf("after it was revoked: %d", a.status)
		}
		// Who asked, who decided, in which request a revision came.
		kinds := map[string]int{}
		if err := f.db.Events(t.Context(), 0, func(e store.Event) error {
			kinds[e.Kind]++
			if e.Kind == "judged" && (!strings.HasPrefix(e.Caller, "token ") || len(e.Request) != 16 || e.Policy == "" || e.Rules == "" || e.Mode != "enforce" || e.DirHash == "") {
				t.Errorf("%+v", e)
			}
			if e.Kind == "exception" && !strings.HasPrefix(e.Caller, "token ") {
				t.Errorf("%+v", e)
			}
			return nil
		}); err != nil || kinds["exception"] != 3 || kinds["judged"] < 4 || kinds["release"] != 1 || kinds["quarantine"] < 3 {
			t.Errorf("%v, %v", kinds, err)
		}
	})
}

// What a message says of a source is that it is to be looked at; who cannot show that it sent
// the message is told nothing, and a message counts once.
func TestMessagesThatComeIn(t *testing.T) {
	const secret = "a secret of some thirty letters"
	key := hooks.Key{Secret: []byte(secret)}
	var kinds []api.Incoming
	for _, kind := range hooks.InKinds {
		kinds = append(kinds, api.Incoming{Name: kind, Kind: kind, Tenant: "alice", Source: "hf://of/" + kind, Key: key})
	}
	bodies := map[string]string{
		"huggingface": `{"event":{"action":"update","scope":"repo.content"},"repo":{"type":"model","name":"of/m","headSha":"1"},"webhook":{"id":"1","version":3}}`,
		"s3":          `{"EventName":"s3:ObjectCreated:Put","Key":"b/k","Records":[{"eventName":"s3:ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k","sequencer":"1"}}}]}`,
		"registry":    `{"events":[{"id":"1","action":"push","target":{"repository":"a","tag":"b"}}]}`,
		"standard":    `{"any":"thing"}`,
	}
	everywhere(t, func(o *api.Options) { o.Incoming = kinds }, func(t *testing.T, f *fleet) {
		send := func(name, body string, sign func(http.Header)) int {
			t.Helper()
			r, err := http.NewRequest("POST", f.url+"/v1/incoming/"+name, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			sign(r.Header)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		good := func(kind, body string) func(http.Header) {
			return func(h http.Header) {
				switch kind {
				case "huggingface":
					h.Set("X-Webhook-Secret", secret)
				case "standard":
					key.Sign(h, sum(body), time.Now(), []byte(body))
				default:
					h.Set("Authorization", "Bearer "+secret)
				}
			}
		}
		looks := func() int {
			list, err := f.db.Looks(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		for i, kind := range hooks.InKinds {
			body := bodies[kind]
			for name, sign := range map[string]func(http.Header){
				"nothing":         func(http.Header) {},
				"another secret":  func(h http.Header) { h.Set("X-Webhook-Secret", "x"); h.Set("Authorization", "Bearer x") },
				"an empty secret": func(h http.Header) { h.Set("X-Webhook-Secret", ""); h.Set("Authorization", "Bearer ") },
				"two secrets": func(h http.Header) {
					good(kind, body)(h)
					for _, name := range []string{"X-Webhook-Secret", "Authorization", "Webhook-Id"} {
						h.Add(name, h.Get(name))
					}
				},
				"of another body": good("standard", "other"),
				"a token":         func(h http.Header) { h.Set("Authorization", "Bearer "+token("operator")) },
			} {
				if status := send(kind, body, sign); status != http.StatusUnauthorized {
					t.Errorf("%s, %s: %d", kind, name, status)
				}
			}
			if kind == "standard" {
				if status := send(kind, body, func(h http.Header) { key.Sign(h, "old", time.Now().Add(-time.Hour), []byte(body)) }); status != http.StatusConflict {
					t.Errorf("an old one: %d", status)
				}
			} else if status := send(kind, `{"x":1}`, good(kind, "")); status != http.StatusUnprocessableEntity {
				t.Errorf("%s, another form: %d", kind, status)
			}
			if n := looks(); n != i {
				t.Errorf("%s: %d sources are to be looked at", kind, n)
			}
			if status := send(kind, body, good(kind, body)); status != http.StatusAccepted {
				t.Errorf("%s: %d", kind, status)
			}
			if status := send(kind, body, good(kind, body)); status != http.StatusConflict {
				t.Errorf("%s, again: %d", kind, status)
			}
			if n := looks(); n != i+1 {
				t.Errorf("%s: %d sources are to be looked at", kind, n)
			}
		}
		if status := send("nobody", "{}", good("s3", "")); status != http.StatusUnauthorized {
			t.Errorf("nobody's: %d", status)
		}
		if list, err := f.db.Looks(t.Context()); err != nil || !slices.ContainsFunc(list, func(l store.Look) bool { return l.Tenant == "alice" && l.Source == "hf://of/s3" }) {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// page asks for a page as a browser does.
func (f *fleet) page(who, path string) (status int, header http.Header, text string) {
	f.t.Helper()
	r, err := http.NewRequest("GET", f.url+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if who != "" {
		r.SetBasicAuth("anybody", token(who))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

// Names of files and tenants are text on a page, and one tenant sees nothing of another.
func TestPages(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, f *fleet) {
		dir, name := t.TempDir(), `o/"evil" <script>alert(1)`
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Skip("the system lacks such names: ", err)
		}
		for file, text := range map[string]string{"<script>.pkl": "cos\nsystem\n(S'id'\ntR.", "a\u202egnp.bin": "x"} {
			if err := os.WriteFile(filepath.Join(at, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var found []store.Work
		if err := source.Folder(t.Context(), "alice", dir, func(w store.Work) error { found = append(found, w); return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := f.db.Add(t.Context(), found); err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		repo := "/repo?" + url.Values{"tenant": {"alice"}, "name": {name}, "revision": {found[0].Revision}}.Encode()
		for range 1000 {
			if status, _, _ := f.page("alice", repo); status == 200 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		for _, path := range []string{"/", "/repos", "/repos?q=evil", repo, "/exceptions"} {
			status, h, text := f.page("alice", path)
			if status != 200 || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %v", path, status, h)
			}
			if strings.Contains(text, "<script") || strings.Contains(text, "\u202e") || strings.Contains(text, "style=") || strings.Contains(text, "://") {
				t.Errorf("%s:\n%s", path, text)
			}
		}
		_, _, text := f.page("alice", repo)
		for _, want := range []string{"&lt;script&gt;", `\u{202e}`, "pickle.global", "refused: forbidden", sum("x")} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %s in\n%s", want, text)
			}
		}
		if _, _, text := f.page("alice", `/repos?q=%22%3E%3Cscript%3E`); strings.Contains(text, "<script") {
			t.Errorf("%s", text)
		}
		for _, path := range []string{"/", "/repos", "/exceptions"} {
			if _, _, text := f.page("bob", path); strings.Contains(text, "alice") || strings.Contains(text, "evil") {
				t.Errorf("bob sees on %s:\n%s", path, text)
			}
		}
		if _, _, text := f.page("operator", "/"); !strings.Contains(text, "alice") {
			t.Errorf("the operator sees\n%s", text)
		}
		nobody := "/repo?tenant=alice&name=o%2Fnobody"
		for _, path := range []string{repo, nobody, "/repo?tenant=%00", "/repos?q=%00"} {
			if status, _, text := f.page("bob", path); status != 404 || !strings.Contains(text, "nothing is known") {
				t.Errorf("bob, %s: %d", path, status)
			}
		}
		if status, h, _ := f.page("", "/"); status != 401 || !strings.HasPrefix(h.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("without a token: %d %v", status, h)
		}
	})
}

// A form counts from a page of this server, and from no other one.
func TestForms(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, f *fleet) {
		send := func(who, path string, form url.Values, headers ...string) int {
			t.Helper()
			r, err := http.NewRequest("POST", f.url+path, strings.NewReader(form.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.SetBasicAuth("x", token(who))
			for i := 0; i+1 < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		appeal := url.Values{"repo": {"o/m"}, "rule": {"detect.unknown"}, "sha256": {sum("x")}, "reason": {"we wrote it"}}
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
			if status := send("alice", "/appeal", appeal, headers...); status != 403 {
				t.Errorf("%v: %d", headers, status)
			}
		}
		if status := send("reader", "/appeal", appeal, "Sec-Fetch-Site", "same-origin"); status != 403 {
			t.Errorf("a reader: %d", status)
		}
		if status := send("alice", "/appeal", appeal, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther {
			t.Errorf("%d", status)
		}
		decision := url.Values{"id": {"1"}, "state": {"granted"}, "answer": {"read it"}, "expires": {time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly)}}
		if status := send("alice", "/exception", decision, "Sec-Fetch-Site", "same-origin"); status != 403 {
			t.Errorf("who asked decides: %d", status)
		}
		if status := send("excepter", "/exception", decision, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther {
			t.Errorf("%d", status)
		}
		if list, err := f.db.Exceptions(t.Context(), "alice"); err != nil || len(list) != 1 || list[0].State != store.Granted {
			t.Errorf("%+v, %v", list, err)
		}
		// A password in the way of browsers is no token for the interface of programs.
		if a := f.ask("", "GET", "/v1/exceptions", ""); a.status != 401 {
			t.Errorf("%d", a.status)
		}
	})
}

// Without tokens this machine alone may ask, under its own names, and no page of another server.
func TestWithoutTokens(t *testing.T) {
	f := newFleet(t, func(o *api.Options) { o.Tokens = nil })
	for _, c := range []struct {
		host, site, method, path string
		status                   int
	}{
		{"127.0.0.1:80", "", "GET", "/", 200},
		{"localhost", "", "GET", "/v1/standing", 200},
		{"[::1]:80", "", "GET", "/v1/standing", 200},
		{"evil.example", "", "GET", "/v1/standing", 403},
		{"evil.example:80", "", "GET", "/", 403},
		{"127.0.0.1", "cross-site", "POST", "/v1/rollbacks", 403},
		{"127.0.0.1", "cross-site", "POST", "/exception", 403},
	} {
		r, err := http.NewRequest(c.method, f.url+c.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%+v: %d", c, resp.StatusCode)
		}
	}
}

func TestMetricsAndEvents(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, f *fleet) {
		f.submit("alice", "o/good", map[string]string{"model.safetensors": honest("12345678")})
		f.submit("bob", "o/evil", map[string]string{"model.pkl": "cos\nsystem\n(S'id'\ntR."})
		get := func(who, path string) (int, string) {
			r, _ := http.NewRequest("GET", f.url+path, nil)
			r.Header.Set("Authorization", "Bearer "+token(who))
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, string(text)
		}
		if status, _ := get("alice", "/metrics"); status != 403 {
			t.Errorf("a tenant reads the numbers of all: %d", status)
		}
		status, text := get("operator", "/metrics")
		if status != 200 {
			t.Fatal(status, text)
		}
		for _, want := range []string{
			`amn_hub_verdicts{tenant="alice",accepted="true"} 1`, `amn_hub_verdicts{tenant="bob",accepted="false"} 1`, `amn_hub_revisions{tenant="alice",state="judged"} 1`,
			`amn_hub_events_last_hour{kind="judged",class="ok"} 1`, `amn_hub_request_seconds_count{route="POST /v1/repos",status="200"} 1`, `amn_hub_request_seconds_count{route="POST /v1/repos",status="403"} 1`,
			"# TYPE amn_hub_request_seconds histogram",
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("there is no %s in\n%s", want, text)
			}
		}
		for who, want := range map[string][]string{"alice": {"o/good"}, "bob": {"o/evil", "o/evil"}, "operator": {"o/good", "o/evil", "o/evil"}, "reader": nil} {
			status, text := get(who, "/v1/events")
			var got []string
			for line := range strings.Lines(text) {
				var e store.Event
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Errorf("%s: %v", line, err)
				}
				got = append(got, e.Repo)
			}
			if status != 200 || !slices.Equal(got, want) {
				t.Errorf("%s: %d %v, want %v", who, status, got, want)
			}
		}
		if status, text := get("operator", "/v1/events?after=999999"); status != 200 || text != "" {
			t.Errorf("%d %s", status, text)
		}
		if status, _ := get("operator", "/v1/events?after=x"); status != 400 {
			t.Errorf("%d", status)
		}
	})
}

// parts notes how an answer is written.
type parts struct {
	*httptest.ResponseRecorder

	largest int
}

func (p *parts) Write(b []byte) (int, error) {
	p.largest = max(p.largest, len(b))
	return p.ResponseRecorder.Write(b)
}

// A verdict of mebibytes is written in parts, and is the JSON that was stored.
func TestALargeVerdictStreams(t *testing.T) {
	f := newFleet(t, nil).work()
	files := map[string]string{"config.json": `{"model_type":"llama"}`}
	for i := range 8000 {
		files[fmt.Sprintf("%0200d.pkl", i)] = "cos\nsystem\n(S'id'\ntR."
	}
	a := f.submit("alice", "o/large", files)
	if a.status != 403 {
		a = f.until("alice", "/v1/repos/o/large@v1")
	}
	v, ok, err := f.db.Revision(t.Context(), "alice", "o/large", "v1")
	if err != nil || !ok || len(v.Detail) < 4<<20 {
		t.Fatalf("%d bytes, %v, %v", len(v.Detail), ok, err)
	}
	s, err := api.New(f.o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/v1/repos/o/large@v1", nil)
	r.Header.Set("Authorization", "Bearer "+token("alice"))
	w := &parts{ResponseRecorder: httptest.NewRecorder()}
	s.ServeHTTP(w, r)
	var out struct {
		Accepted *bool
		Status   int
		Verdict  json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 403 || out.Status != 403 || out.Accepted == nil || *out.Accepted {
		t.Fatalf("%d, %v, %.300s", w.Code, err, w.Body)
	}
	if w.largest > 32<<10 || w.Header().Get("Content-Length") != "" {
		t.Errorf("%d bytes at once", w.largest)
	}
	var one, two bytes.Buffer
	if json.Compact(&one, out.Verdict) != nil || json.Compact(&two, v.Detail) != nil || one.Len() < 4<<20 {
		t.Errorf("%d bytes of %d", one.Len(), two.Len())
	}
}
