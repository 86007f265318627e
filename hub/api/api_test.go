package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/receipt"
	"github.com/anamnesis-go/anamnesis/hub/api"
	"github.com/anamnesis-go/anamnesis/hub/blob"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A fleet is a whole service: store, workers, and the server.
type fleet struct {
	t     *testing.T
	db    store.Engine
	url   string
	blobs *blob.Store
	key   ed25519.PublicKey
	g     gate.Gate
	o     api.Options
}

func newFleet(t *testing.T, change func(*api.Options)) *fleet {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), filepath.Join(dir, "hub.db"), store.Options{Backoff: 10 * time.Millisecond, Poll: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	policy, _ := gate.Profile("upload")
	b := limits.Policy{MaxTotalBytes: 2 << 30, Timeout: limits.NoTimeout}.Budget(context.Background())
	t.Cleanup(b.Close)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := receipt.NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), time.Minute, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, db: db, blobs: blobs, key: public, g: gate.Gate{Policy: policy, Version: "test", Digest: true}}
	f.o = api.Options{Store: db, Blobs: blobs, Gate: f.g, Budget: b, Receipts: signer, Tokens: map[string]api.Token{}, Wait: 20 * time.Second}
	for name, roles := range map[string][]api.Role{"alice": {api.Read, api.Submit}, "bob": {api.Read, api.Submit}, "reader": {api.Read}, "operator": {api.Operate}} {
		f.o.Tokens[sum(token(name))] = api.Token{SHA256: sum(token(name)), Tenant: name, Roles: roles}
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
	return f
}

// work starts workers, which judge what is submitted.
func (f *fleet) work() *fleet {
	w := &worker.Worker{Store: f.db, Blobs: f.blobs, Gate: f.g, Budget: f.o.Budget}
	if err := f.db.Start(f.t.Context(), 2, w.Work); err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			f.db.Admit(ctx, 8)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	f.t.Cleanup(func() { stop(); <-done })
	return f
}

func token(name string) string { return "token-of-" + name }

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// honest is a safetensors file.
func honest(weights string) string {
	header := fmt.Sprintf(`{"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, len(weights), len(weights))
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + weights
}

type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func (f *fleet) ask(who, method, path, body string) answer {
	f.t.Helper()
	r, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+token(who))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header}
	if err := json.Unmarshal(text, &a.body); err != nil && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		f.t.Fatalf("%s: %v", text, err)
	}
	return a
}

func manifestOf(repo, revision string, files map[string]string) string {
	type file struct {
		Path   string `json:"path"`
		Size   int    `json:"size"`
		SHA256 string `json:"sha256"`
	}
	m := map[string]any{"schema": "amn.repo/1", "repo": repo, "revision": revision, "nonce": "nonce-12345678"}
	var list []file
	for name, text := range files {
		list = append(list, file{name, len(text), sum(text)})
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
	m["files"] = list
	text, _ := json.Marshal(m)
	return string(text)
}

func (f *fleet) put(who, text string) answer {
	return f.ask(who, "PUT", "/v1/blobs/"+sum(text), text)
}

func TestARevisionIsJudged(t *testing.T) {
	f := newFleet(t, nil).work()
	files := map[string]string{"model.safetensors": honest("12345678"), "config.json": `{"model_type":"llama"}`}
	m := manifestOf("org/model", "v1", files)
	a := f.ask("alice", "POST", "/v1/repos", m)
	if a.status != http.StatusConflict || len(a.body["missing"].([]any)) != 2 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	for _, text := range files {
		if a := f.put("alice", text); a.status != http.StatusCreated || a.body["judged"] != false {
			t.Fatalf("%d %v", a.status, a.body)
		}
	}
	a = f.ask("alice", "POST", "/v1/repos", m)
	if a.status != http.StatusOK || a.body["accepted"] != true {
		t.Fatalf("%d %v", a.status, a.body)
	}
	envelope, _ := json.Marshal(a.body["receipt"])
	digest, err := f.g.Policy.Digest()
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, text := range files {
		size += int64(len(text))
	}
	want := receipt.Want{Name: worker.Name, Beside: true, DirHash: a.body["dir_hash"].(string), Size: size, Nonce: "nonce-12345678", Policy: digest, Now: time.Now()}
	if _, err := receipt.Check(envelope, f.key, want); err != nil {
		t.Error(err)
	}
	want.Beside = false
	if _, err := receipt.Check(envelope, f.key, want); err == nil {
		t.Error("a receipt of a folder that need not be a model is one of a model")
	}
	want.Beside = true
	want.Nonce = "another-nonce"
	if _, err := receipt.Check(envelope, f.key, want); err == nil {
		t.Error("a receipt answers another question")
	}
	for _, path := range []string{"/v1/repos/org/model@v1", "/v1/repos/org/model"} {
		if a := f.ask("alice", "GET", path, ""); a.status != http.StatusOK || a.body["accepted"] != true {
			t.Errorf("%s: %d %v", path, a.status, a.body)
		}
	}
	if a := f.ask("alice", "GET", "/v1/verdicts/"+sum(files["model.safetensors"]), ""); a.status != http.StatusOK || a.body["accepted"] != true {
		t.Errorf("%d %v", a.status, a.body)
	}
}

func TestARefusedRevisionIsNever200(t *testing.T) {
	f := newFleet(t, nil).work()
	evil := "cos\nsystem\n(S'id'\ntR."
	files := map[string]string{"model.safetensors": honest("12345678"), "extra.pkl": evil}
	for _, text := range files {
		f.put("alice", text)
	}
	a := f.ask("alice", "POST", "/v1/repos", manifestOf("org/evil", "v1", files))
	if a.status != http.StatusForbidden || a.body["accepted"] != false || a.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%d %v", a.status, a.body)
	}
	envelope, _ := json.Marshal(a.body["receipt"])
	if r, err := receipt.Open(envelope, f.key); err != nil || r.Accepted {
		t.Errorf("%+v, %v", r, err)
	}
	for _, path := range []string{"/v1/repos/org/evil@v1", "/v1/verdicts/" + sum(evil)} {
		if a := f.ask("alice", "GET", path, ""); a.status != http.StatusForbidden || a.body["accepted"] != false {
			t.Errorf("%s: %d %v", path, a.status, a.body)
		}
	}
}

// A tenant does not learn from any answer whether another one has a content or a repository.
func TestTenantsKnowNothingOfEachOther(t *testing.T) {
	f := newFleet(t, nil).work()
	files := map[string]string{"model.safetensors": honest("secret weights"), "config.json": `{"model_type":"llama"}`}
	for _, text := range files {
		f.put("alice", text)
	}
	m := manifestOf("org/secret", "v1", files)
	if a := f.ask("alice", "POST", "/v1/repos", m); a.status != http.StatusOK {
		t.Fatal(a.status, a.body)
	}
	stranger := manifestOf("org/secret", "v1", map[string]string{"model.safetensors": honest("nobody has it"), "config.json": `{"model_type":"nobody"}`})
	same := func(what string, known, unknown answer) {
		t.Helper()
		for _, one := range []answer{known, unknown} {
			one.header.Del("Date")
			one.header.Del("Amn-Request") // a random number of the request
		}
		if known.status != unknown.status || fmt.Sprint(known.header) != fmt.Sprint(unknown.header) || known.body["detail"] != unknown.body["detail"] {
			t.Errorf("%s: %d %v beside %d %v", what, known.status, known.body, unknown.status, unknown.body)
		}
	}
	same("POST", f.ask("bob", "POST", "/v1/repos", m), f.ask("bob", "POST", "/v1/repos", stranger))
	same("GET verdict", f.ask("bob", "GET", "/v1/verdicts/"+sum(files["model.safetensors"]), ""), f.ask("bob", "GET", "/v1/verdicts/"+sum("nobody"), ""))
	same("GET repo", f.ask("bob", "GET", "/v1/repos/org/secret@v1", ""), f.ask("bob", "GET", "/v1/repos/org/nobody@v1", ""))
	same("GET repo of tenant", f.ask("bob", "GET", "/v1/repos/org/secret@v1?tenant=alice", ""), f.ask("bob", "GET", "/v1/repos/org/secret@v1?tenant=nobody", ""))
	if a := f.ask("operator", "GET", "/v1/repos/org/secret@v1?tenant=alice", ""); a.status != http.StatusOK {
		t.Errorf("the operator: %d", a.status)
	}
	// Whoever has the bytes may ask about them, and is told what its own revisions were judged.
	f.put("bob", files["model.safetensors"])
	same("GET verdict of its own", f.ask("bob", "GET", "/v1/verdicts/"+sum(files["model.safetensors"]), ""), f.ask("bob", "GET", "/v1/verdicts/"+sum("nobody"), ""))
	if a := f.ask("bob", "POST", "/v1/repos", manifestOf("bobs/own", "v1", map[string]string{"model.safetensors": files["model.safetensors"]})); a.status != http.StatusOK {
		t.Fatal(a.status, a.body)
	}
	if a := f.ask("bob", "GET", "/v1/verdicts/"+sum(files["model.safetensors"]), ""); a.status != http.StatusOK {
		t.Errorf("after a revision: %d %v", a.status, a.body)
	}
}

// What another tenant calls a content changes nothing of what a tenant is told.
func TestATenantDoesNotChangeAnothersAnswer(t *testing.T) {
	f := newFleet(t, nil).work()
	code := "import sys\n"
	f.put("alice", code)
	if a := f.ask("alice", "POST", "/v1/repos", manifestOf("a/m", "v1", map[string]string{"model.safetensors": code})); a.status < 400 {
		t.Fatal(a.status, a.body)
	}
	before := f.ask("alice", "GET", "/v1/verdicts/"+sum(code), "")
	many := map[string]string{}
	for i := range 1100 {
		many[fmt.Sprintf("n%05d.txt", i)] = code
	}
	f.put("bob", code)
	f.ask("bob", "POST", "/v1/repos", manifestOf("b/m", "v1", many))
	after := f.ask("alice", "GET", "/v1/verdicts/"+sum(code), "")
	if before.status < 400 || after.status != before.status || fmt.Sprint(after.body) != fmt.Sprint(before.body) {
		t.Errorf("%d %v, then %d %v", before.status, before.body, after.status, after.body)
	}
}

// A verdict under an exception is good until its last day.
func TestAnExceptionEnds(t *testing.T) {
	today := "2026-06-30"
	f := newFleet(t, func(o *api.Options) { o.Today = func() string { return today } })
	f.g.Policy.Ignore = []gate.Exception{{Rule: "detect.unknown", SHA256: sum("\x00\x01 nobody knows"), Reason: "for a test", Expires: "2026-06-30"}}
	o := f.o
	o.Gate = f.g
	s, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.url = ""
	server := httptest.NewServer(s)
	defer server.Close()
	f.url = server.URL
	w := &worker.Worker{Store: f.db, Blobs: f.blobs, Gate: f.g, Budget: f.o.Budget, Now: func() time.Time { return time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC) }}
	if err := f.db.Start(t.Context(), 1, w.Work); err != nil {
		t.Fatal(err)
	}
	text := "\x00\x01 nobody knows"
	f.put("alice", text)
	m := manifestOf("a/m", "v1", map[string]string{"model.bin": text})
	go func() {
		for range 200 {
			f.db.Admit(context.Background(), 4)
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if a := f.ask("alice", "POST", "/v1/repos", m); a.status != http.StatusOK {
		t.Fatal(a.status, a.body)
	}
	today = "2026-07-01"
	if a := f.ask("alice", "GET", "/v1/repos/a/m@v1", ""); a.status != http.StatusServiceUnavailable {
		t.Errorf("after its last day: %d", a.status)
	}
	digest, err := f.g.Policy.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.db.Rejudge(t.Context(), "*", digest, gate.RulesDigest("test"), today, true); n.Revisions != 1 || err != nil {
		t.Errorf("%+v to be judged again, %v", n, err)
	}
}

// A size that is not that of the content is refused at once, and the revision can be sent again.
func TestAWrongSizeIsRefusedAtOnce(t *testing.T) {
	f := newFleet(t, nil).work()
	text := honest("12345678")
	f.put("alice", text)
	m := manifestOf("a/m", "v1", map[string]string{"model.safetensors": text})
	wrong := strings.Replace(m, fmt.Sprintf(`"size":%d`, len(text)), fmt.Sprintf(`"size":%d`, len(text)+1), 1)
	if a := f.ask("alice", "POST", "/v1/repos", wrong); a.status != http.StatusUnprocessableEntity {
		t.Errorf("%d %v", a.status, a.body)
	}
	if a := f.ask("alice", "POST", "/v1/repos", m); a.status != http.StatusOK {
		t.Errorf("%d %v", a.status, a.body)
	}
}

// A client that sends no body is answered without it.
func TestABodyThatNeverComesIsNotWaitedFor(t *testing.T) {
	f := newFleet(t, func(o *api.Options) { o.RateTime = 300 * time.Millisecond })
	for _, path := range []string{"/v1/repos", "/nowhere", "/healthz"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(15 * time.Second))
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx", path)
		answer, err := io.ReadAll(c)
		if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 4")) {
			t.Errorf("%s: %q, %v", path, answer, err)
		}
	}
}

func TestWhoMayAsk(t *testing.T) {
	f := newFleet(t, nil)
	for _, c := range []struct {
		who, method, path string
		status            int
	}{
		{"", "GET", "/v1/repos/a/b", 401},
		{"nobody", "GET", "/v1/repos/a/b", 401},
		{"reader", "POST", "/v1/repos", 403},
		{"reader", "PUT", "/v1/blobs/" + sum("x"), 403},
		{"reader", "GET", "/v1/standing", 403},
		{"operator", "GET", "/v1/standing", 200},
		{"reader", "GET", "/v1/repos/a/b", 404},
		{"alice", "DELETE", "/v1/repos/a/b", 405},
		{"", "GET", "/healthz", 200},
		{"", "GET", "/readyz", 200},
	} {
		if a := f.ask(c.who, c.method, c.path, ""); a.status != c.status {
			t.Errorf("%s %s %s: %d, want %d", c.who, c.method, c.path, a.status, c.status)
		}
	}
}

func TestBadManifests(t *testing.T) {
	f := newFleet(t, func(o *api.Options) { o.MaxFiles, o.MaxManifest, o.MaxFile, o.TenantBytes = 3, 4096, 100, 250 })
	file := func(path string, size int64, sum string) string {
		return fmt.Sprintf(`{"path":%q,"size":%d,"sha256":%q}`, path, size, sum)
	}
	one := file("a", 1, sum("a"))
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"empty":             {"", 422},
		"no object":         {"[]", 422},
		"no schema":         {`{"repo":"a/b","revision":"r","files":[` + one + `]}`, 422},
		"another schema":    {`{"schema":"amn.repo/2","repo":"a/b","revision":"r","files":[` + one + `]}`, 422},
		"a member twice":    {`{"schema":"amn.repo/1","repo":"a/b","repo":"a/c","revision":"r","files":[` + one + `]}`, 422},
		"an unknown member": {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + one + `],"x":1}`, 422},
		"no files":          {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[]}`, 422},
		"repo up":           {`{"schema":"amn.repo/1","repo":"../b","revision":"r","files":[` + one + `]}`, 422},
		"repo with @":       {`{"schema":"amn.repo/1","repo":"a@b","revision":"r","files":[` + one + `]}`, 422},
		"revision":          {`{"schema":"amn.repo/1","repo":"a/b","revision":"r/../x","files":[` + one + `]}`, 422},
		"nonce":             {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","nonce":"x","files":[` + one + `]}`, 422},
		"path up":           {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + file("../x", 1, sum("a")) + `]}`, 422},
		"path twice":        {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + one + `,` + one + `]}`, 422},
		"case twins":        {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + one + `,` + file("A", 1, sum("a")) + `]}`, 422},
		"upper digest":      {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + file("a", 1, strings.ToUpper(sum("a"))) + `]}`, 422},
		"no size":           {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[{"path":"a","sha256":"` + sum("a") + `"}]}`, 422},
		"negative size":     {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + file("a", -1, sum("a")) + `]}`, 422},
		"too large a file":  {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + file("a", 101, sum("a")) + `]}`, 422},
		"too much":          {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + file("a", 100, sum("a")) + `,` + file("b", 100, sum("a")) + `,` + file("c", 100, sum("a")) + `]}`, 413},
		"too many":          {`{"schema":"amn.repo/1","repo":"a/b","revision":"r","files":[` + one + `,` + file("b", 1, sum("a")) + `,` + file("c", 1, sum("a")) + `,` + file("d", 1, sum("a")) + `]}`, 413},
		"too long":          {strings.Repeat(" ", 5000), 413},
	} {
		a := f.ask("alice", "POST", "/v1/repos", c.body)
		if a.status != c.status {
			t.Errorf("%s: %d %v: want %d", name, a.status, a.body, c.status)
		}
		if n, err := f.db.Left(t.Context()); n != 0 || err != nil {
			t.Fatalf("%s: it is in the backlog", name)
		}
	}
}

// Contents that come at once share what is left of a tenant's room.
func TestContentsAtOnceShareTheRoom(t *testing.T) {
	f := newFleet(t, func(o *api.Options) { o.TenantBytes = 250 })
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = strings.Repeat(string(rune('a'+i)), 100)
	}
	ready, finish := make(chan bool), make(chan bool)
	answers := make(chan int)
	for _, text := range texts {
		go func() {
			request, err := http.NewRequest("PUT", f.url+"/v1/blobs/"+sum(text), io.MultiReader(strings.NewReader(text[:50]), waiting{ready, finish}, strings.NewReader(text[50:])))
			if err != nil {
				panic(err)
			}
			request.ContentLength = int64(len(text))
			request.Header.Set("Authorization", "Bearer "+token("alice"))
			answer, err := http.DefaultClient.Do(request)
			if err != nil { // it was refused before its end
				answers <- http.StatusInsufficientStorage
				return
			}
			answer.Body.Close()
			answers <- answer.StatusCode
		}()
	}
	for range texts { // each has sent its first half
		<-ready
	}
	close(finish)
	count := map[int]int{}
	for range texts {
		count[<-answers]++
	}
	if stored, err := f.db.Stored(t.Context(), "alice"); err != nil || stored > 250 || count[http.StatusCreated] > 2 || count[http.StatusCreated]+count[http.StatusInsufficientStorage] != len(texts) {
		t.Errorf("%d bytes are stored of 250, answers %v, %v", stored, count, err)
	}
	if a := f.put("alice", "after"); a.status != http.StatusCreated {
		t.Errorf("afterwards: %d", a.status)
	}
}

// waiting says that it is read, and ends when it may.
type waiting struct{ ready, finish chan bool }

func (w waiting) Read([]byte) (int, error) {
	w.ready <- true
	<-w.finish
	return 0, io.EOF
}

func TestBadContents(t *testing.T) {
	f := newFleet(t, func(o *api.Options) { o.MaxFile, o.TenantBytes = 100, 150 })
	for name, c := range map[string]struct {
		path, body string
		status     int
	}{
		"another digest":    {"/v1/blobs/" + sum("a"), "b", 422},
		"no digest":         {"/v1/blobs/xyz", "b", 400},
		"an upper-case one": {"/v1/blobs/" + strings.ToUpper(sum("b")), "b", 400},
		"a way out":         {"/v1/blobs/..%2f..%2fetc", "b", 404},
		"an unclean path":   {"//v1/blobs/" + sum("b"), "b", 404}, // and no redirect, which the client would follow
		"too large":         {"/v1/blobs/" + sum("a"), strings.Repeat("a", 101), 413},
	} {
		if a := f.ask("alice", "PUT", c.path, c.body); a.status != c.status {
			t.Errorf("%s: %d %v, want %d", name, a.status, a.body, c.status)
		}
	}
	full := strings.Repeat("x", 100)
	if a := f.put("alice", full); a.status != 201 {
		t.Fatal(a.status)
	}
	if a := f.put("alice", strings.Repeat("y", 100)); a.status != http.StatusInsufficientStorage {
		t.Errorf("over the tenant's share: %d", a.status)
	}
	if a := f.put("bob", full); a.status != 201 {
		t.Errorf("another tenant: %d", a.status)
	}
	if shown, err := f.db.Shown(t.Context(), "alice", []string{sum("a"), sum("b")}); err != nil || len(shown) != 0 {
		t.Errorf("shown %v, %v", shown, err)
	}
}

// A revision never changes: other files under its name are a contradiction, whoever was first.
func TestARevisionNeverChanges(t *testing.T) {
	f := newFleet(t, nil).work()
	one := map[string]string{"model.safetensors": honest("11111111")}
	two := map[string]string{"model.safetensors": honest("22222222")}
	for _, files := range []map[string]string{one, two} {
		for _, text := range files {
			f.put("alice", text)
		}
	}
	if a := f.ask("alice", "POST", "/v1/repos", manifestOf("o/m", "v1", one)); a.status != 200 {
		t.Fatal(a.status, a.body)
	}
	if a := f.ask("alice", "POST", "/v1/repos", manifestOf("o/m", "v1", two)); a.status != http.StatusConflict {
		t.Errorf("%d %v", a.status, a.body)
	}
	if a := f.ask("alice", "POST", "/v1/repos", manifestOf("o/m", "v2", two)); a.status != 200 {
		t.Errorf("%d %v", a.status, a.body)
	}
}

// While a revision waits, the answer is never 200; nor after the rules have changed.
func TestWaitingIsNoAcceptance(t *testing.T) {
	f := newFleet(t, func(o *api.Options) { o.Wait = 50 * time.Millisecond }) // no workers
	files := map[string]string{"model.safetensors": honest("12345678")}
	for _, text := range files {
		f.put("alice", text)
	}
	m := manifestOf("o/m", "v1", files)
	a := f.ask("alice", "POST", "/v1/repos", m)
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Fatalf("%d %v", a.status, a.body)
	}
	f.work()
	for range 200 {
		if a = f.ask("alice", "POST", "/v1/repos", m); a.status == 200 {
			break
		}
	}
	if a.status != 200 {
		t.Fatalf("%d %v", a.status, a.body)
	}
	o := f.o
	o.Gate.Version = "newer"
	s, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/v1/repos/o/m@v1", nil)
	r.Header.Set("Authorization", "Bearer "+token("alice"))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a verdict by older rules: %d", w.Code)
	}
}

// A verdict that was changed in the database is none.
func TestAStoredVerdictIsReadStrictly(t *testing.T) {
	f := newFleet(t, nil).work()
	evil := map[string]string{"model.pkl": "cos\nsystem\n(S'id'\ntR."}
	for _, text := range evil {
		f.put("alice", text)
	}
	if a := f.ask("alice", "POST", "/v1/repos", manifestOf("o/evil", "v1", evil)); a.status != 403 {
		t.Fatal(a.status)
	}
	v, ok, err := f.db.Revision(t.Context(), "alice", "o/evil", "v1")
	if err != nil || !ok {
		t.Fatal(err)
	}
	changed := changedStore{f.db, v}
	changed.v.Detail = bytes.Replace(v.Detail, []byte(`"accepted":false`), []byte(`"accepted":true`), 1)
	changed.v.Accepted, changed.v.Class = true, "ok"
	o := f.o
	o.Store = changed
	s, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/v1/repos/o/evil@v1", nil)
	r.Header.Set("Authorization", "Bearer "+token("alice"))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code < 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type changedStore struct {
	store.Store

	v store.Verdict
}

func (c changedStore) Revision(context.Context, string, string, string) (store.Verdict, bool, error) {
	return c.v, true, nil
}

func TestTokens(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	good := `{"sha256":"` + sum("t") + `","tenant":"a","roles":["read"]}`
	if got, err := api.ParseTokens(b, []byte("["+good+"]")); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	for name, text := range map[string]string{
		"none":           `[]`,
		"an object":      good,
		"twice":          "[" + good + "," + good + "]",
		"a plain token":  `[{"sha256":"secret","tenant":"a","roles":["read"]}]`,
		"no tenant":      `[{"sha256":"` + sum("t") + `","roles":["read"]}]`,
		"no roles":       `[{"sha256":"` + sum("t") + `","tenant":"a","roles":[]}]`,
		"unknown role":   `[{"sha256":"` + sum("t") + `","tenant":"a","roles":["root"]}]`,
		"unknown member": `[{"sha256":"` + sum("t") + `","tenant":"a","roles":["read"],"admin":true}]`,
		"more":           "[" + good + "] x",
	} {
		if got, err := api.ParseTokens(b, []byte(text)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A client that sends a byte at a time is told so, and leaves its place to others.
func TestASlowClientEnds(t *testing.T) {
	f := newFleet(t, func(o *api.Options) { o.RateTime, o.MinRate, o.Uploads = 100*time.Millisecond, 1<<20, 1 })
	text := strings.Repeat("x", 1000)
	read, write := io.Pipe()
	defer read.Close()
	go func() {
		for i := range len(text) {
			if _, err := io.WriteString(write, text[i:i+1]); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		write.Close()
	}()
	r, err := http.NewRequest("PUT", f.url+"/v1/blobs/"+sum(text), read)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(text))
	r.Header.Set("Authorization", "Bearer "+token("alice"))
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if a := f.put("alice", "fourth"); a.status != http.StatusCreated {
		t.Errorf("its place was not given back: %d", a.status)
	}
}
