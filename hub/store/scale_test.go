package store_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/internal/pgtest"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

// filesOf is how many files a revision has on an average: 60 million in 5 million.
const filesOf = 12

// rows is how many revisions a fleet has in the test of its size: HUB_ROWS for more.
func rows() int {
	n, err := strconv.Atoi(os.Getenv("HUB_ROWS"))
	if err != nil {
		n = 5000
	}
	return n
}

// A change of rules that touches 1 % of the revisions makes these stale and puts them back, and
// leaves the others as they are. With HUB_ROWS it is measured; the digests of files are random.
func TestAChangeOfRulesAmongMany(t *testing.T) {
	s := pgtest.Start(t)
	e := open(t, place{s.Address(), true, s}, store.Options{})
	n := rows()
	parts := map[string]string{"core": "1", "gguf": "1"}
	if _, err := e.TakeOver(t.Context(), sum("rules"), "1", parts, nil); err != nil {
		t.Fatal(err)
	}
	took := func(what string, do func() error) {
		t.Helper()
		began := time.Now()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
	}
	for _, one := range []struct{ what, query string }{
		{"tenants", "INSERT INTO hub_tenant (name) VALUES ('a')"},
		{"revisions", `INSERT INTO hub_work (tenant, source, repo, revision, address, cost, state, at, seen)
			SELECT 'a', 's', 'owner-' || (i % 100000) || '/model-' || i, md5(i::text), 'hf://x', 8, 'judged', 1, 1 FROM generate_series(1, $n) i`},
		{"verdicts", `INSERT INTO hub_repo_verdict (work, epoch, policy, rules, version, dir_hash, class, accepted, detail, at, facts, took, how)
			SELECT id, 1, '$policy', '$rules', '1', sha256(id::text::bytea), 'ok', 1, decode(repeat(md5(id::text), 20), 'hex'), 1, 3, 1000, 'evidence' FROM hub_work`},
		{"files", `INSERT INTO hub_file (work, path, sha256, size)
			SELECT w.id, 'model-' || f || '.safetensors', sha256((random()::text || w.id || f)::bytea), 1000 FROM hub_work w, generate_series(1, $files) f`},
		{"facts", `INSERT INTO hub_fact (fact, work) SELECT f, w.id FROM hub_work w, unnest(ARRAY['beside', 'format:safetensors', CASE WHEN w.id % 100 = 0 THEN 'format:gguf' ELSE 'rule:sidecar' END]) f`},
	} {
		query := strings.NewReplacer("$n", strconv.Itoa(n), "$files", strconv.Itoa(filesOf), "$policy", sum("policy"), "$rules", sum("rules")).Replace(one.query)
		took(one.what, func() error { return store.Exec(t.Context(), e, query) })
	}
	took("statistics", func() error { return store.Exec(t.Context(), e, "ANALYZE") })
	want := int64(n / 100)
	took("taken over, and the touched made stale", func() error {
		_, err := e.TakeOver(t.Context(), sum("newer"), "2", map[string]string{"core": "1", "gguf": "2"}, func(map[string]string) []string { return []string{"format:gguf", "open", "rule:gguf"} })
		return err
	})
	took("planned", func() error {
		p, err := e.Rejudge(t.Context(), "a", sum("policy"), sum("newer"), "2026-01-01", true)
		if err == nil && (p.Revisions != want || p.Files != filesOf*want || p.Why["rules"] != want) {
			err = fmt.Errorf("%+v", p)
		}
		return err
	})
	took("put back", func() error {
		p, err := e.Rejudge(t.Context(), "a", sum("policy"), sum("newer"), "2026-01-01", false)
		if err == nil && p.Revisions != want {
			err = fmt.Errorf("%+v", p)
		}
		return err
	})
	took("admitted", func() error {
		k, err := e.Admit(t.Context(), 100)
		if err == nil && int64(k) != min(100, want) {
			err = fmt.Errorf("%d", k)
		}
		return err
	})
	got, err := store.Counts(t.Context(), e)
	if err != nil || got["hub_file"] != int64(n*filesOf) || got["hub_fact"] != int64(3*n) {
		t.Errorf("%v, %v", got, err)
	}
	size, err := store.Sizes(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d revisions, %d files: %s", n, n*filesOf, size)
}
