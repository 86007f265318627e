package worker_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/blob"
	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The test program is its own child.
func TestMain(m *testing.M) {
	switch os.Getenv("HUB_CHILD") {
	case "judge":
		if err := worker.Child(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "crash":
		panic("a bug in a parser")
	case "lie":
		fmt.Print(`{"schema":"amn.verdict/1","name":".","accepted":true,"class":"ok","refusals":[],"format":"folder"}`)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// memory is a store that keeps what workers put, and nothing else.
type memory struct {
	store.Store

	mu       sync.Mutex
	finished map[string]store.Judged
	parked   map[string]string
	folders  int
	files    []gate.File // of every row, for judging it again
	kept     map[string][]byte
	replaced map[string]store.Work
}

func (m *memory) Finish(_ context.Context, j store.Job, v store.Judged) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished[j.Work.Repo] = v
	return nil
}

func (m *memory) Park(_ context.Context, j store.Job, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parked[j.Work.Repo] = reason
	return nil
}

func (m *memory) Replace(_ context.Context, j store.Job, by store.Work) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replaced[j.Work.Repo] = by
	return nil
}

func (m *memory) Folder(_ context.Context, dirHash, policy, rules string) (store.Judged, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.finished {
		if v.DirHash == dirHash && v.Policy == policy && v.Rules == rules {
			m.folders++
			return v, true, nil
		}
	}
	return store.Judged{}, false, nil
}

func (m *memory) Files(_ context.Context, work int64) ([]gate.File, error) { return m.files, nil }

func (m *memory) Evidence(_ context.Context, _ string, sums []string) (map[string][]byte, error) {
	return m.kept, nil
}

func newWorker(t *testing.T) (*worker.Worker, *memory) {
	m := &memory{finished: map[string]store.Judged{}, parked: map[string]string{}, replaced: map[string]store.Work{}}
	b := limits.Policy{MaxTotalBytes: 4 << 30, Timeout: limits.NoTimeout}.Budget(t.Context())
	t.Cleanup(func() {
		if n := b.Usage(); n[limits.Total].Used != 0 {
			t.Errorf("%d bytes are still charged", n[limits.Total].Used)
		}
		b.Close()
	})
	return &worker.Worker{Store: m, Gate: gate.Gate{Version: "test", Digest: true}, Budget: b}, m
}

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func job(attempt int, at string) store.Job {
	w := store.Work{ID: 1, Tenant: "t", Source: at, Repo: at, Address: at}
	if now, err := (source.Sources{}).Now(context.Background(), nil, w); err == nil {
		w.Revision = now.Revision
	}
	return store.Job{ID: 1, Attempt: attempt, Last: attempt == 3, Work: w}
}

// honest is a safetensors file.
var honest = func() string {
	header := `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "12345678"
}()

// every returns a folder for each recipe of the corpus that is a file.
func every(t *testing.T) (out []string) {
	t.Helper()
	dir := t.TempDir()
	add := func(data []byte) {
		if len(data) > 1<<20 {
			return
		}
		at := filepath.Join(dir, fmt.Sprintf("%04d", len(out)))
		write(t, at, map[string]string{"model.bin": string(data)})
		out = append(out, at)
	}
	for _, format := range corpus.Formats() {
		for _, r := range corpus.Hostile(format) {
			add(r.Bytes())
		}
		for _, s := range corpus.Valid(format) {
			add(s.Data)
		}
	}
	return out
}

// What a worker stores is what the gate says of the same folder.
func TestAWorkerSaysWhatTheGateSays(t *testing.T) {
	folders := every(t)
	if len(folders) < 500 {
		t.Fatalf("%d recipes", len(folders))
	}
	w, m := newWorker(t)
	g, err := (&gate.Gate{Version: "test", Digest: true}).WithDigest()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, at := range folders {
		if err := w.Work(t.Context(), job(1, at)); err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		got := m.finished[at]
		b := limits.Policy{}.Budget(t.Context())
		var accepted, seen = true, false
		var sums []string
		for v, err := range g.CheckPath(b, at) {
			if err != nil {
				t.Fatal(err)
			}
			seen, accepted = true, accepted && v.Accepted()
			sums = append(sums, v.SHA256)
		}
		b.Close()
		if !seen || got.Accepted != accepted {
			t.Errorf("%s: stored %v (%s), and the gate says %v", at, got.Accepted, got.Class, accepted)
		}
		if len(got.Files) != 1 || got.Files[0].SHA256 != sums[0] || got.DirHash != gate.DirHash(got.Files) {
			t.Errorf("%s: files %+v, digests %v", at, got.Files, sums)
		}
		if got.Accepted != (got.Class == "ok") || !got.Accepted && len(got.Fired) == 0 {
			t.Errorf("%s: %s, fired %v", at, got.Class, got.Fired)
		}
		if !got.Accepted {
			refused++
		}
	}
	if refused < 300 {
		t.Errorf("only %d recipes are refused", refused)
	}
}

func child(mode string) func(context.Context, *gate.Gate, store.Work) ([]byte, error) {
	return func(ctx context.Context, g *gate.Gate, w store.Work) ([]byte, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return worker.Process("/usr/bin/env", []string{"HUB_CHILD=" + mode, program}, "", source.Remote{}, 1<<30)(ctx, g, w)
	}
}

// A second attempt is made in another process, and says the same.
func TestTheSecondAttemptIsMadeElsewhere(t *testing.T) {
	w, m := newWorker(t)
	w.Child = child("judge")
	dir := t.TempDir()
	good := write(t, filepath.Join(dir, "good"), map[string]string{"model.safetensors": honest, "config.json": `{"model_type":"llama"}`})
	evil := write(t, filepath.Join(dir, "evil"), map[string]string{"model.pkl": "cos\nsystem\n(S'id'\ntR."})
	for _, at := range []string{good, evil} {
		if err := w.Work(t.Context(), job(1, at)); err != nil {
			t.Fatal(err)
		}
		first := m.finished[at]
		delete(m.finished, at)
		if err := w.Work(t.Context(), job(2, at)); err != nil {
			t.Fatal(err)
		}
		second := m.finished[at]
		if first.Accepted != (at == good) || second.Class != first.Class || second.DirHash != first.DirHash || !slices.Equal(second.Files, first.Files) || !slices.Equal(second.Fired, first.Fired) {
			t.Errorf("%s:\n%+v\n%+v", at, first, second)
		}
	}
}

// A tenant's policy that allows more memory than there is gives a child no more.
func TestAChildHoldsWhatThereIs(t *testing.T) {
	w, m := newWorker(t)
	w.Gate.Policy.Limits.MaxTotalBytes = 1 << 40
	at := write(t, t.TempDir(), map[string]string{"config.json": `{"model_type":"llama"}`, "model.safetensors": honest})
	for memory, accepted := range map[int64]bool{1 << 30: true, 64: false, 0: false} {
		w.Child = func(ctx context.Context, g *gate.Gate, work store.Work) ([]byte, error) {
			program, err := os.Executable()
			if err != nil {
				return nil, err
			}
			return worker.Process("/usr/bin/env", []string{"HUB_CHILD=judge", program}, "", source.Remote{}, memory)(ctx, g, work)
		}
		delete(m.finished, at)
		err := w.Work(t.Context(), job(2, at))
		if v, ok := m.finished[at]; accepted != (err == nil && ok && v.Accepted) {
			t.Errorf("%d bytes: %v, %s, %v", memory, v.Accepted, v.Class, err)
		}
	}
}

// A child that crashes, or says what no gate says, is an attempt that failed.
func TestAChildIsNotBelieved(t *testing.T) {
	for _, mode := range []string{"crash", "lie"} {
		w, m := newWorker(t)
		w.Child = child(mode)
		at := write(t, t.TempDir(), map[string]string{"model.pkl": "cos\nsystem\n(S'id'\ntR."})
		if err := w.Work(t.Context(), job(2, at)); err == nil {
			t.Errorf("%s: no error", mode)
		}
		if err := w.Work(t.Context(), job(3, at)); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if m.parked[at] == "" || len(m.finished) != 0 {
			t.Errorf("%s: parked %q, finished %v", mode, m.parked, m.finished)
		}
	}
}

// A file that cannot be opened is no verdict; links that lead out, and pipes, are refusals.
func TestWhatCannotBeRead(t *testing.T) {
	w, m := newWorker(t)
	dir := t.TempDir()
	if err := w.Work(t.Context(), job(1, filepath.Join(dir, "absent"))); err == nil {
		t.Error("a folder that is not there was judged")
	}
	out := write(t, filepath.Join(dir, "out"), map[string]string{"model.safetensors": honest})
	if err := os.Symlink("/etc/passwd", filepath.Join(out, "tokenizer.json")); err != nil {
		t.Skip("the system lacks links: ", err)
	}
	if err := w.Work(t.Context(), job(1, out)); err != nil {
		t.Fatal(err)
	}
	if v := m.finished[out]; v.Accepted || v.Class == "ok" {
		t.Errorf("a link that leads out is accepted: %+v", v)
	}
}

func TestACancelledAttemptIsNoVerdict(t *testing.T) {
	w, m := newWorker(t)
	at := write(t, t.TempDir(), map[string]string{"model.safetensors": honest})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Work(ctx, job(3, at)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if len(m.finished)+len(m.parked) != 0 {
		t.Errorf("%v, %v", m.finished, m.parked)
	}
}

// The same contents of another revision are known, and nothing is read.
func TestAManifestIsJudgedOnce(t *testing.T) {
	w, m := newWorker(t)
	blobs, err := blob.Open(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	w.Blobs = blobs
	files := map[string]string{"model.safetensors": honest, "config.json": `{"model_type":"llama"}`}
	var manifest []gate.File
	for name, text := range files {
		sum := digest(text)
		if _, err := blobs.Put(t.Context(), "t", sum, strings.NewReader(text), 1<<20); err != nil {
			t.Fatal(err)
		}
		manifest = append(manifest, gate.File{Name: name, Size: int64(len(text)), SHA256: sum})
	}
	first := store.Job{ID: 1, Attempt: 1, Work: store.Work{Tenant: "t", Repo: "one", Manifest: manifest}}
	if err := w.Work(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if v := m.finished["one"]; !v.Accepted || v.DirHash != gate.DirHash(manifest) {
		t.Fatalf("%+v", v)
	}
	for _, f := range manifest {
		if err := blobs.Delete("t", f.SHA256); err != nil {
			t.Fatal(err)
		}
	}
	second := first
	second.Work.Repo = "two"
	if err := w.Work(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if v := m.finished["two"]; !v.Accepted || m.folders != 1 || len(v.Files) != 2 {
		t.Errorf("%+v after %d look-ups", v, m.folders)
	}
	// By other rules it is unknown, and its contents are gone.
	w.Gate.Version = "newer"
	second.Work.Repo = "three"
	if err := w.Work(t.Context(), second); !errors.Is(err, blob.ErrAbsent) {
		t.Errorf("%v", err)
	}
}

// Contents that were swapped on the disk after they came are refused or not read as others.
func TestAChangedBlobIsFoundByTheChild(t *testing.T) {
	w, m := newWorker(t)
	at := filepath.Join(t.TempDir(), "blobs")
	blobs, err := blob.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	w.Blobs = blobs
	text := honest
	sum := digest(text)
	if _, err := blobs.Put(t.Context(), "t", sum, strings.NewReader(text), 1<<20); err != nil {
		t.Fatal(err)
	}
	var path string
	filepath.WalkDir(at, func(p string, e fs.DirEntry, _ error) error {
		if e.Name() == sum {
			path = p
		}
		return nil
	})
	os.Chmod(path, 0o600)
	if err := os.WriteFile(path, bytes.Repeat([]byte{'x'}, len(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Child = func(ctx context.Context, g *gate.Gate, work store.Work) ([]byte, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return worker.Process("/usr/bin/env", []string{"HUB_CHILD=judge", program}, at, source.Remote{}, 1<<30)(ctx, g, work)
	}
	j := store.Job{ID: 1, Attempt: 2, Work: store.Work{Tenant: "t", Repo: "r", Manifest: []gate.File{{Name: "m.safetensors", Size: int64(len(text)), SHA256: sum}}}}
	if err := w.Work(t.Context(), j); err == nil {
		if v := m.finished["r"]; v.Accepted {
			t.Errorf("it was accepted: %+v", v)
		}
	}
}

// An operator's clock decides which exceptions are in force.
func TestTheDayIsToday(t *testing.T) {
	w, m := newWorker(t)
	at := write(t, t.TempDir(), map[string]string{"model.bin": "\x00\x01 nobody knows"})
	w.Gate.Policy.Ignore = []gate.Exception{{Rule: "detect.unknown", SHA256: digest("\x00\x01 nobody knows"), Reason: "for a test", Expires: "2026-06-30"}}
	for _, c := range []struct {
		day string
		ok  bool
	}{{"2026-06-30", true}, {"2026-07-01", false}} {
		now, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		w.Now = func() time.Time { return now }
		if err := w.Work(t.Context(), job(1, at)); err != nil {
			t.Fatal(err)
		}
		if got := m.finished[at].Accepted; got != c.ok {
			t.Errorf("%s: accepted %v", c.day, got)
		}
	}
}

// Judged from what was read, every file has the verdict that it has from its bytes.
func TestEvidenceSaysWhatTheBytesSay(t *testing.T) {
	folders := every(t)
	honest, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*"))
	if err != nil || len(honest) < 10 {
		t.Fatal(honest, err)
	}
	folders = append(folders, honest...)
	w, m := newWorker(t)
	g, err := (&gate.Gate{Version: "test", Digest: true, Today: time.Now().UTC().Format(time.DateOnly)}).WithDigest()
	if err != nil {
		t.Fatal(err)
	}
	bytesKept, files := 0, 0
	for _, at := range folders {
		if err := w.Work(t.Context(), job(1, at)); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		first := m.finished[at]
		again, ok, err := worker.FromEvidence(t.Context(), w, g, first.Files, first.Evidence)
		if err != nil || !ok {
			t.Errorf("%s: ok %v, %v: %d of %d files have evidence", at, ok, err, len(first.Evidence), len(first.Files))
			continue
		}
		if !bytes.Equal(again.Detail, first.Detail) || again.Class != first.Class || again.DirHash != first.DirHash {
			t.Errorf("%s:\n%s\n%s", at, first.Detail, again.Detail)
		}
		for _, blob := range first.Evidence {
			bytesKept += len(blob)
			files++
		}
	}
	t.Logf("%d folders, %d contents, %d bytes of evidence each", len(folders), files, bytesKept/files)
}

// A revision whose verdict is old is judged without its files; where more is read, they are fetched.
func TestARevisionIsJudgedAgainWithoutItsFiles(t *testing.T) {
	w, m := newWorker(t)
	at := write(t, filepath.Join(t.TempDir(), "repo"), map[string]string{"model.safetensors": honest, "config.json": `{"model_type":"llama"}`})
	if err := w.Work(t.Context(), job(1, at)); err != nil {
		t.Fatal(err)
	}
	first := m.finished[at]
	m.files, m.kept = first.Files, first.Evidence
	weights := filepath.Join(at, "model.safetensors")
	if err := os.Chmod(weights, 0); err != nil { // it is there, and cannot be opened by most
		t.Fatal(err)
	}
	j := job(1, at)
	w.Gate.Version = "newer"
	if err := w.Work(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if v := m.finished[at]; !v.Accepted || v.Rules == first.Rules || v.DirHash != first.DirHash {
		t.Errorf("%+v", v)
	}
	// Evidence that lacks something, is damaged, or of another content is none.
	g, err := (&gate.Gate{Version: "newer", Digest: true}).WithDigest()
	if err != nil {
		t.Fatal(err)
	}
	config := digest(`{"model_type":"llama"}`)
	for name, kept := range map[string]map[string][]byte{
		"none": {}, "damaged": {digest(honest): []byte("\x01damaged"), config: first.Evidence[config]},
		"another": {digest(honest): first.Evidence[config], config: first.Evidence[digest(honest)]},
	} {
		if _, ok, err := worker.FromEvidence(t.Context(), w, g, first.Files, kept); ok || err != nil {
			t.Errorf("%s: judged without files and evidence, %v", name, err)
		}
	}
}

// What was found in a sweep and is something else by now is not judged under its name.
func TestASwappedFolderIsAnotherRevision(t *testing.T) {
	w, m := newWorker(t)
	dir := t.TempDir()
	at := write(t, filepath.Join(dir, "m"), map[string]string{"model.pkl": "cos\nsystem\n(S'id'\ntR."})
	j := job(1, at)
	if err := os.Rename(at, filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	write(t, at, map[string]string{"config.json": `{"model_type":"llama"}`})
	if err := w.Work(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if by, ok := m.replaced[at]; len(m.finished) != 0 || !ok || by.Revision == j.Work.Revision || by.Address != at {
		t.Errorf("finished %v, replaced %v", m.finished, m.replaced)
	}
}

// A file that is swapped while it is judged gives no verdict.
func TestASwappedFileGivesNoVerdict(t *testing.T) {
	w, m := newWorker(t)
	dir := t.TempDir()
	at := write(t, filepath.Join(dir, "repo"), map[string]string{"model.safetensors": honest, "z.json": `{"a":1}`})
	evil := filepath.Join(dir, "evil")
	if err := os.WriteFile(evil, []byte(strings.Repeat("x", len(honest))), 0o644); err != nil {
		t.Fatal(err)
	}
	swapped := false
	w.Gate.Seen = func(*limits.Budget, tensor.Model) error { // in the middle of the judgement
		swapped = true
		return os.Rename(evil, filepath.Join(at, "model.safetensors"))
	}
	w.Work(t.Context(), job(1, at))
	if !swapped || len(m.finished) != 0 {
		t.Errorf("swapped %v, finished %v", swapped, m.finished)
	}
}
