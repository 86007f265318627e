package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/hub/store"
)

func put(t *testing.T, e store.Engine, owner, body string) store.PolicyVersion {
	t.Helper()
	p, err := e.PutPolicy(t.Context(), store.PolicyVersion{Owner: owner, Digest: sum(body), Body: []byte(body), Note: "for a test", Caller: "tester"})
	if err != nil || p.Number == 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	return p
}

func TestPoliciesArePromotedAndRolledBack(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		one, two, own := put(t, e, "", "one"), put(t, e, "", "two"), put(t, e, "a", "one")
		if again := put(t, e, "", "one"); again.Number != one.Number || own.Number == one.Number {
			t.Errorf("one is %d, again %d, of a tenant %d", one.Number, again.Number, own.Number)
		}
		if v, ok, err := e.PolicyVersion(t.Context(), two.Number); !ok || err != nil || string(v.Body) != "two" || v.Digest != sum("two") {
			t.Errorf("%+v, %v, %v", v, ok, err)
		}
		if list, err := e.PolicyVersions(t.Context(), "a"); len(list) != 1 || err != nil || list[0].Number != own.Number {
			t.Errorf("%+v, %v", list, err)
		}
		now := func(tenant string) store.Promotion {
			t.Helper()
			r, err := e.Rollout(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := r.Promotions[tenant]
			if p.Version != 0 && len(r.Bodies[p.Version]) == 0 {
				t.Errorf("version %d has no text", p.Version)
			}
			return p
		}
		generation := func() int64 {
			n, _, err := e.Generation(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		last := generation()
		for _, c := range []struct {
			version int64
			mode    string
		}{{one.Number, store.Enforce}, {two.Number, store.Report}, {two.Number, store.Enforce}} {
			if _, err := e.Promote(t.Context(), store.Promotion{Version: c.version, Mode: c.mode, Reason: "because", Caller: "tester"}); err != nil {
				t.Fatal(err)
			}
			if got := now(""); got.Version != c.version || got.Mode != c.mode || got.Reason != "because" {
				t.Errorf("%+v", got)
			}
			if n := generation(); n <= last {
				t.Errorf("generation %d after %d", n, last)
			} else {
				last = n
			}
		}
		for _, want := range []struct {
			version int64
			mode    string
		}{{two.Number, store.Report}, {one.Number, store.Enforce}, {0, store.Enforce}} {
			if _, err := e.Rollback(t.Context(), "", "tester", "it was wrong"); err != nil {
				t.Fatal(err)
			}
			if got := now(""); got.Version != want.version || got.Mode != want.mode {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
		if _, err := e.Rollback(t.Context(), "", "tester", "further"); !errors.Is(err, store.ErrNoVersion) {
			t.Errorf("there is nothing to go back to: %v", err)
		}
		for name, p := range map[string]store.Promotion{
			"of nobody": {Version: 99, Mode: store.Enforce}, "of another tenant": {Tenant: "b", Version: own.Number, Mode: store.Enforce}, "for all, of a tenant": {Version: own.Number, Mode: store.Enforce},
			"in no mode": {Version: one.Number, Mode: "maybe"},
		} {
			if _, err := e.Promote(t.Context(), p); err == nil {
				t.Errorf("%s: promoted", name)
			}
		}
		if _, err := e.Promote(t.Context(), store.Promotion{Tenant: "a", Version: own.Number, Mode: store.Report}); err != nil {
			t.Fatal(err)
		}
		if got := now("a"); got.Version != own.Number || now("").Version != 0 {
			t.Errorf("%+v", got)
		}
		if list, err := e.Promotions(t.Context(), "*"); len(list) != 7 || err != nil || list[0].Tenant != "a" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// A verdict that comes to its end under policies that have changed meanwhile says nothing, and
// its revision is judged again.
func TestAChangeWhileAJudgementGoesOn(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		one := put(t, e, "", "one")
		if _, err := e.Add(t.Context(), work("a", 1)); err != nil {
			t.Fatal(err)
		}
		var attempts atomic.Int32
		if err := e.Start(t.Context(), 1, func(ctx context.Context, j store.Job) error {
			v := judged(j.Work)
			var err error
			if v.Generation, _, err = e.Generation(ctx); err != nil {
				return err
			}
			if attempts.Add(1) == 1 {
				if _, err := e.Promote(ctx, store.Promotion{Version: one.Number, Mode: store.Enforce}); err != nil {
					return err
				}
				if err := e.Finish(ctx, j, v); err != nil {
					return err
				}
				got, ok, err := e.Revision(ctx, "a", j.Work.Repo, "")
				if !ok || err != nil || !got.Stale || got.Current(v.Policy, map[string]bool{v.Rules: true}, "2026-01-01") {
					t.Errorf("%+v, %v, %v", got, ok, err)
				}
				return nil
			}
			return e.Finish(ctx, j, v)
		}); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 1)
		got, ok, err := e.Revision(t.Context(), "a", "a/000000", "")
		if !ok || err != nil || got.Stale || attempts.Load() != 2 || !got.Current(got.Policy, map[string]bool{got.Rules: true}, "2026-01-01") {
			t.Errorf("%+v after %d attempts, %v, %v", got, attempts.Load(), ok, err)
		}
	})
}

func TestExceptionsAndAppeals(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		x := store.Exception{Tenant: "a", Repo: "a/m", Rule: "pickle.global", SHA256: sum("x"), Reason: "we wrote it", State: store.Asked, Caller: "anna"}
		asked, err := e.Except(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		inForce := func() int {
			r, err := e.Rollout(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(r.Exceptions["a"])
		}
		if inForce() != 0 {
			t.Error("an appeal is in force")
		}
		grant := store.Exception{ID: asked.ID, State: store.Granted, Expires: "2026-12-31", Decided: "berta", Answer: "read it"}
		if ok, err := e.Decide(t.Context(), "b", grant); ok || err != nil {
			t.Errorf("another tenant decides: %v, %v", ok, err)
		}
		if ok, err := e.Decide(t.Context(), "a", grant); !ok || err != nil || inForce() != 1 {
			t.Errorf("%v, %v, %d in force", ok, err, inForce())
		}
		if ok, _ := e.Decide(t.Context(), "a", store.Exception{ID: asked.ID, State: store.Denied}); ok {
			t.Error("what is granted is denied")
		}
		if ok, err := e.Decide(t.Context(), "*", store.Exception{ID: asked.ID, State: store.Revoked, Decided: "berta"}); !ok || err != nil || inForce() != 0 {
			t.Errorf("%v, %v", ok, err)
		}
		for name, bad := range map[string]store.Exception{
			"no day": {Tenant: "a", Rule: "r", SHA256: sum("x"), Reason: "r", State: store.Granted}, "no reason": {Tenant: "a", Rule: "r", SHA256: sum("x"), State: store.Asked},
			"no content": {Tenant: "a", Rule: "r", Reason: "r", State: store.Asked}, "no rule": {Tenant: "a", SHA256: sum("x"), Reason: "r", State: store.Asked}, "denied": {Tenant: "a", Rule: "r", SHA256: sum("x"), Reason: "r", State: store.Denied},
		} {
			if _, err := e.Except(t.Context(), bad); err == nil {
				t.Errorf("%s: it was kept", name)
			}
		}
		if list, err := e.Exceptions(t.Context(), "a"); len(list) != 1 || err != nil || list[0].State != store.Revoked || list[0].Answer != "" {
			t.Errorf("%+v, %v", list, err)
		}
		if list, err := e.Exceptions(t.Context(), "b"); len(list) != 0 || err != nil {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// Of verdicts by older rules those are stale that a change touches; the others count.
func TestAChangeOfRulesTouchesWhatItReads(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		old := map[string]string{"core": "1", "gguf": "1", "pth": "1"}
		if carried, err := e.TakeOver(t.Context(), sum("rules"), "1", old, nil); len(carried) != 0 || err != nil {
			t.Fatal(carried, err)
		}
		list := work("a", 30)
		if _, err := e.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		finish := func(rules string) func(ctx context.Context, j store.Job) error {
			return func(ctx context.Context, j store.Job) error {
				v := judged(j.Work)
				v.Rules, v.How, v.Took = rules, "evidence", time.Millisecond
				var n int
				fmt.Sscanf(j.Work.Repo, "a/%d", &n)
				switch {
				case n < 3:
					v.Facts = []string{"format:gguf", "format:json"}
				case n < 5: // nobody knows
				default:
					v.Facts = []string{"format:json"}
				}
				return e.Finish(ctx, j, v)
			}
		}
		if err := e.Start(t.Context(), 2, finish(sum("rules"))); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 8)
		gguf := func(map[string]string) []string { return []string{"format:gguf"} }
		before, err := store.Counts(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		planned, err := e.PlanOver(t.Context(), sum("newer"), "2", map[string]string{"core": "1", "gguf": "2", "pth": "1"}, gguf, map[string]string{"a": sum("policy")}, "2026-01-01")
		if err != nil || planned.Revisions != 5 || planned.Why["rules"] != 5 || planned.Files != 10 {
			t.Errorf("%+v, %v", planned, err)
		}
		if after, err := store.Counts(t.Context(), e); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("a plan changes something: %v, %v, %v", before, after, err)
		}
		if _, rules, err := e.Generation(t.Context()); rules != sum("rules") || err != nil {
			t.Errorf("a plan puts rules in force: %v", err)
		}
		if err := e.Revisions(t.Context(), "a", func(v store.Verdict) error {
			if v.Stale {
				t.Errorf("a plan takes back the verdict about %s", v.Repo)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		carried, err := e.TakeOver(t.Context(), sum("newer"), "2", map[string]string{"core": "1", "gguf": "2", "pth": "1"}, func(was map[string]string) []string {
			if was["gguf"] != "1" {
				t.Errorf("%v", was)
			}
			return []string{"format:gguf"}
		})
		if err != nil || !slices.Equal(carried, []string{sum("rules")}) {
			t.Fatal(carried, err)
		}
		plan, err := e.Rejudge(t.Context(), "a", sum("policy"), sum("newer"), "2026-01-01", true)
		if err != nil || plan.Revisions != 5 || plan.Files != 10 || plan.Why["rules"] != 5 || plan.FromEvidence != 1000 || plan.FromBytes != 0 {
			t.Errorf("%+v, %v", plan, err)
		}
		rules, err := e.Carried(t.Context(), sum("newer"))
		if err != nil || rules[sum("rules")] != "1" || len(rules) != 1 {
			t.Errorf("%v, %v", rules, err)
		}
		good := map[string]bool{sum("newer"): true, sum("rules"): true}
		count := func() (n int) {
			if err := e.Revisions(t.Context(), "a", func(v store.Verdict) error {
				if v.Current(sum("policy"), good, "2026-01-01") {
					n++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := count(); n != 25 {
			t.Errorf("%d verdicts count", n)
		}
		for tenant, want := range map[string]int64{"b": 0, "a": 5} {
			if p, err := e.Rejudge(t.Context(), tenant, sum("policy"), sum("newer"), "2026-01-01", false); p.Revisions != want || err != nil {
				t.Errorf("%s: %+v, %v", tenant, p, err)
			}
		}
		if err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context(), 2, finish(sum("newer"))); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 8)
		if n := count(); n != 30 {
			t.Errorf("%d verdicts count", n)
		}
		// What is touched by everything is judged again, and none of its verdicts counts.
		if carried, err := e.TakeOver(t.Context(), sum("third"), "3", map[string]string{"core": "2"}, func(map[string]string) []string { return []string{store.Everything} }); len(carried) != 0 || err != nil {
			t.Error(carried, err)
		}
		if plan, err := e.Rejudge(t.Context(), "*", sum("policy"), sum("third"), "2026-01-01", true); plan.Revisions != 30 || err != nil {
			t.Errorf("%+v, %v", plan, err)
		}
	})
}

// A hook is owed every event of its kinds and its tenant, and is told until it takes it or is
// given up.
func TestHooksAreOwedEvents(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		if err := e.SetHooks(t.Context(), []store.Hook{{Name: "all"}, {Name: "refused", Kinds: []string{"quarantine", "release"}}, {Name: "b", Tenant: "b"}}); err != nil {
			t.Fatal(err)
		}
		list := work("a", 3)
		if _, err := e.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		refuse := atomic.Bool{}
		refuse.Store(true)
		if err := e.Start(t.Context(), 1, func(ctx context.Context, j store.Job) error {
			v := judged(j.Work)
			v.Mode = store.Enforce
			if j.Work.Repo == list[0].Repo && refuse.Load() {
				v.Accepted, v.Class = false, "forbidden"
			}
			if j.Work.Repo == list[1].Repo {
				v.Accepted, v.Class, v.Mode = false, "forbidden", store.Report
			}
			return e.Finish(ctx, j, v)
		}); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 4)
		due := func(hook string, want int) []store.Delivery {
			t.Helper()
			got, err := e.Due(t.Context(), hook, time.Hour, 100)
			if err != nil || len(got) != want {
				t.Fatalf("%s: %+v, %v", hook, got, err)
			}
			return got
		}
		due("b", 0)
		due("all", 4)
		due("all", 0) // they are leased
		d := due("refused", 1)[0]
		if d.Event.Kind != "quarantine" || d.Event.Repo != list[0].Repo || d.Attempt != 1 || d.Event.Mode != store.Enforce {
			t.Errorf("%+v", d)
		}
		if err := e.Failed(t.Context(), d, "it answered 500", 0, false); err != nil {
			t.Fatal(err)
		}
		d = due("refused", 1)[0]
		if d.Attempt != 2 {
			t.Errorf("%+v", d)
		}
		if err := e.Failed(t.Context(), d, "it answered 500", 0, true); err != nil {
			t.Fatal(err)
		}
		due("refused", 0)
		if owed, err := e.Owed(t.Context()); err != nil || owed[[2]string{"refused", "failed"}] != 1 || owed[[2]string{"all", "due"}] != 4 {
			t.Errorf("%v, %v", owed, err)
		}
		if n, err := e.Resend(t.Context(), "refused"); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if err := e.Delivered(t.Context(), due("refused", 1)[0]); err != nil {
			t.Fatal(err)
		}
		due("refused", 0)
		refuse.Store(false)
		if _, err := e.Rejudge(t.Context(), "*", sum("policy"), sum("newer"), "2026-01-01", false); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 4)
		if d := due("refused", 1)[0]; d.Event.Kind != "release" || d.Event.Repo != list[0].Repo {
			t.Errorf("%+v", d)
		}
		if err := e.SetHooks(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if owed, err := e.Owed(t.Context()); err != nil || len(owed) != 0 {
			t.Errorf("%v, %v", owed, err)
		}
		look := store.Look{Tenant: "a", Source: "hf://a/*"}
		for i, c := range []struct {
			messages []string
			ok       bool
			at       int64
		}{{[]string{"one"}, true, 1}, {[]string{"one"}, false, 1}, {[]string{"two", "one", "two"}, true, 2}} {
			if ok, err := e.Received(t.Context(), "hf", c.messages, look); ok != c.ok || err != nil {
				t.Errorf("%d: %v, %v", i, ok, err)
			}
			if looks, err := e.Looks(t.Context()); len(looks) != 1 || looks[0].At != c.at || err != nil {
				t.Errorf("%d: %v, %v", i, looks, err)
			}
		}
		for i, left := range []int{1, 0} { // another message came while it was looked at
			look.At = int64(i) + 1
			if err := e.Looked(t.Context(), look); err != nil {
				t.Fatal(err)
			}
			if looks, err := e.Looks(t.Context()); len(looks) != left || err != nil {
				t.Errorf("%d: %v, %v", i, looks, err)
			}
		}
	})
}

// What a tenant had is gone, and nothing of another one.
func TestATenantIsErased(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		for _, tenant := range []string{"a", "b"} {
			if _, err := e.Add(t.Context(), work(tenant, 4)); err != nil {
				t.Fatal(err)
			}
			if err := e.Show(t.Context(), tenant, sum("shared"), 2); err != nil {
				t.Fatal(err)
			}
			put(t, e, tenant, "policy of "+tenant)
			if _, err := e.Except(t.Context(), store.Exception{Tenant: tenant, Rule: "r", SHA256: sum("x"), Reason: "r", State: store.Asked}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Start(t.Context(), 2, finishing(e, nil)); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 8)
		rows := func() map[string]int64 {
			t.Helper()
			counts, err := store.Counts(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			return counts
		}
		before := rows()
		would, err := e.Erase(t.Context(), "a", "tester", true)
		if err != nil || fmt.Sprint(rows()) != fmt.Sprint(before) {
			t.Fatalf("a dry run changes something: %v", err)
		}
		did, err := e.Erase(t.Context(), "a", "tester", false)
		if err != nil || fmt.Sprint(did.Rows) != fmt.Sprint(would.Rows) || did.Rows["hub_work"] != 4 || did.Rows["hub_file"] != 8 || did.Rows["hub_evidence"] != 4 || len(did.Contents) != 1 {
			t.Errorf("%+v, %v", did, err)
		}
		after := rows()
		for table, n := range did.Rows {
			if want := before[table] - n; after[table] != want && !(table == "hub_event" && after[table] == want+1) {
				t.Errorf("%s: %d rows, %d before, %d forgotten", table, after[table], before[table], n)
			}
		}
		if found, err := store.Find(t.Context(), e, "a", "a/000001"); err != nil || len(found) != 0 {
			t.Errorf("left of the tenant: %v, %v", found, err)
		}
		n := 0
		if err := e.Revisions(t.Context(), "b", func(store.Verdict) error { n++; return nil }); err != nil || n != 4 {
			t.Errorf("%d verdicts of the other, %v", n, err)
		}
		if ev, err := e.Evidence(t.Context(), "", []string{sum("b/000001"), sum("a/000001")}); err != nil || len(ev) != 1 {
			t.Errorf("%d, %v", len(ev), err)
		}
		for _, bad := range []string{"", "*"} {
			if _, err := e.Erase(t.Context(), bad, "tester", false); err == nil {
				t.Errorf("%q was erased", bad)
			}
		}
	})
}

// A job of a tenant that is erased comes to nothing.
func TestATenantIsErasedWhileItsWorkGoesOn(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		if _, err := e.Add(t.Context(), work("a", 1)); err != nil {
			t.Fatal(err)
		}
		fenced := make(chan error, 1)
		if err := e.Start(t.Context(), 1, func(ctx context.Context, j store.Job) error {
			if _, err := e.Erase(ctx, "a", "tester", false); err != nil {
				t.Error(err)
			}
			err := e.Finish(ctx, j, judged(j.Work))
			fenced <- err
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Admit(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := <-fenced; !errors.Is(err, store.ErrFenced) {
			t.Errorf("%v", err)
		}
		if found, err := store.Find(t.Context(), e, "a", "a/000000"); err != nil || len(found) != 0 {
			t.Errorf("left of the tenant: %v, %v", found, err)
		}
	})
}

// The newest revision of a repository is kept however old it is; what nothing uses is not.
func TestOldRevisionsAreForgotten(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		if err := e.Start(t.Context(), 1, finishing(e, nil)); err != nil {
			t.Fatal(err)
		}
		for _, r := range []string{"old", "new"} {
			w := store.Work{Tenant: "a", Source: "s", Repo: "m-" + r, Revision: r}
			for _, w.Repo = range []string{"m", "of " + r} {
				if _, err := e.Add(t.Context(), []store.Work{w}); err != nil {
					t.Fatal(err)
				}
			}
			drain(t, e, 4)
			time.Sleep(5 * time.Millisecond)
		}
		for _, name := range []string{"gone", "shared"} {
			if err := e.Show(t.Context(), "a", sum(name), 2); err != nil {
				t.Fatal(err)
			}
		}
		if f, err := e.Retain(t.Context(), time.Now().Add(-time.Hour), false); err != nil || f.Rows["hub_work"]+f.Rows["hub_event"] != 0 || len(f.Contents) != 0 {
			t.Errorf("%+v, %v", f, err)
		}
		time.Sleep(5 * time.Millisecond)
		would, err := e.Retain(t.Context(), time.Now(), true)
		if err != nil {
			t.Fatal(err)
		}
		did, err := e.Retain(t.Context(), time.Now(), false)
		if err != nil || fmt.Sprint(would) != fmt.Sprint(did) || did.Rows["hub_work"] != 1 || did.Rows["hub_repo_verdict"] != 1 || did.Rows["hub_event"] != 4 ||
			len(did.Contents) != 1 || did.Contents[0] != (store.Shown{Tenant: "a", SHA256: sum("gone")}) {
			t.Errorf("%+v, %v", did, err)
		}
		for repo, revision := range map[string]string{"m": "new", "of old": "old", "of new": "new"} {
			if v, ok, err := e.Revision(t.Context(), "a", repo, ""); !ok || err != nil || v.Work.Revision != revision || len(v.Files) != 2 {
				t.Errorf("%s: %+v, %v, %v", repo, v, ok, err)
			}
		}
		if _, ok, err := e.Revision(t.Context(), "a", "m", "old"); ok || err != nil {
			t.Errorf("the old one is there: %v", err)
		}
	})
}
