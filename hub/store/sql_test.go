package store_test

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/hub/store"
)

// Each statement of the document answers on both databases.
func TestTheTenQuestions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "sql.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```sql\n")[1:]
	if len(blocks) != 10 {
		t.Fatalf("%d statements", len(blocks))
	}
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		list := work("a", 4)
		for i := range list {
			list[i].Caller = "token of anna"
		}
		if err := e.SetHooks(t.Context(), []store.Hook{{Name: "one"}}); err != nil {
			t.Fatal(err)
		}
		v := put(t, e, "", "one")
		if _, err := e.Promote(t.Context(), store.Promotion{Version: v.Number, Mode: store.Report, Reason: "to try", Caller: "berta"}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Except(t.Context(), store.Exception{Tenant: "a", Rule: "r", SHA256: sum("x"), Reason: "ours", Expires: "2026-12-31", State: store.Granted}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context(), 1, func(ctx context.Context, j store.Job) error {
			v := judged(j.Work)
			v.How = "bytes"
			if j.Work.Repo == list[0].Repo {
				return e.Park(ctx, j, "it falls over")
			}
			if j.Work.Repo == list[1].Repo {
				v.Accepted, v.Class = false, "forbidden"
			}
			return e.Finish(ctx, j, v)
		}); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 4)
		shared := sha256.Sum256([]byte("shared"))
		args := map[int][]any{3: {shared[:]}, 6: {"2027-01-31"}}
		want := map[int]string{
			0: "a parked 1", 1: "a/000000 it falls over", 2: "a.rule 1", 3: "a/000003 r1 config.json ok", 4: sum("policy") + " test 0 3", 5: "1 report to try berta " + sum("one"),
			6: "2026-12-31 ours", 7: "one due", 8: "bytes 3", 9: "a token of anna ok 2",
		}
		for i, block := range blocks {
			query, _, _ := strings.Cut(block, "```")
			rows, err := store.Rows(t.Context(), e, query, args[i]...)
			if err != nil {
				t.Errorf("%d: %v", i+1, err)
				continue
			}
			for _, word := range strings.Fields(want[i]) {
				if !strings.Contains(strings.Join(rows, "\n"), word) {
					t.Errorf("%d: there is no %q in\n%s", i+1, word, strings.Join(rows, "\n"))
				}
			}
		}
	})
}
