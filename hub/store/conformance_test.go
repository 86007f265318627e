package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/internal/pgtest"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

// A place is a database for a test, which several engines may open if many is set.
type place struct {
	where string
	many  bool
	pg    *pgtest.Server
}

// everywhere runs a test on both engines.
func everywhere(t *testing.T, test func(*testing.T, place)) {
	t.Run("sqlite", func(t *testing.T) { test(t, place{where: filepath.Join(t.TempDir(), "hub.db")}) })
	t.Run("postgres", func(t *testing.T) {
		s := pgtest.Start(t)
		test(t, place{s.Address(), true, s})
	})
}

// fast are options with which failures are noticed in a test's time.
func fast(t *testing.T) store.Options {
	return store.Options{Backoff: 20 * time.Millisecond, Poll: 20 * time.Millisecond, Beat: 200 * time.Millisecond, Timeout: 20 * time.Second, Rescue: 30 * time.Second, Wait: 20 * time.Second, Logf: t.Logf}
}

func open(t *testing.T, p place, o store.Options) store.Engine {
	t.Helper()
	e, err := store.Open(t.Context(), p.where, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func work(tenant string, n int) (out []store.Work) {
	for i := range n {
		name := fmt.Sprintf("%s/%06d", tenant, i)
		out = append(out, store.Work{Tenant: tenant, Source: "test", Repo: name, Revision: "r1", Address: "/" + name})
	}
	return out
}

// judged is a verdict about a revision: one file of its own, and one that all have.
func judged(w store.Work) store.Judged {
	files := []gate.File{{Name: "a/model.bin", Size: 3, SHA256: sum(w.Repo)}, {Name: "config.json", Size: 2, SHA256: sum("shared")}}
	return store.Judged{
		Computed: true, Evidence: map[string][]byte{files[0].SHA256: []byte("evidence of " + w.Repo)},
		Policy: sum("policy"), Rules: sum("rules"), Version: "test", DirHash: gate.DirHash(files), Class: "ok", Accepted: true, Files: files,
		Contents: []store.Content{{SHA256: files[0].SHA256, Name: "model.bin", Size: 3, Format: "pth", Class: "ok"}, {SHA256: files[1].SHA256, Name: "config.json", Size: 2, Class: "ok"}},
		Fired:    []string{"b.rule", "a.rule", "b.rule"}, Detail: []byte(`{"of":"` + w.Repo + `"}`),
	}
}

// finishing is a worker that judges at once.
func finishing(e store.Store, seen func(store.Job)) func(context.Context, store.Job) error {
	return func(ctx context.Context, j store.Job) error {
		if seen != nil {
			seen(j)
		}
		return e.Finish(ctx, j, judged(j.Work))
	}
}

// drain admits until nothing is left.
func drain(t *testing.T, e store.Store, room int) {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	for time.Now().Before(end) {
		in, err := e.Admitted(t.Context())
		if err == nil {
			_, err = e.Admit(t.Context(), room-int(in))
		}
		if err == nil {
			_, _, err = e.Recover(t.Context())
		}
		var left int64
		if err == nil {
			left, err = e.Left(t.Context())
		}
		if err != nil {
			t.Logf("not now: %v", err)
		} else if left == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("work is left after two minutes")
}

// exactly fails unless every revision of the work was judged once: one verdict of epoch 1, one event.
func exactly(t *testing.T, e store.Store, list []store.Work) {
	t.Helper()
	events := map[string]int{}
	err := e.Events(t.Context(), 0, func(ev store.Event) error {
		if ev.Kind == "judged" {
			events[ev.Repo]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	epochs := map[string]int64{}
	if err := e.Revisions(t.Context(), "", func(v store.Verdict) error { epochs[v.Repo] += v.Epoch; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		if events[w.Repo] != 1 || epochs[w.Repo] != 1 {
			t.Errorf("%s: %d events, epoch %d: it was to be judged once", w.Repo, events[w.Repo], epochs[w.Repo])
		}
	}
	if len(events) != len(list) || len(epochs) != len(list) {
		t.Errorf("%d events and %d verdicts for %d revisions", len(events), len(epochs), len(list))
	}
}

func TestEachRevisionIsJudgedOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		list := append(work("a", 150), work("b", 50)...)
		if n, err := e.Add(t.Context(), list); n != 200 || err != nil {
			t.Fatalf("%d added, %v", n, err)
		}
		if n, err := e.Add(t.Context(), list); n != 0 || err != nil {
			t.Fatalf("%d added again, %v", n, err)
		}
		if err := e.Start(t.Context(), 4, finishing(e, nil)); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 16)
		exactly(t, e, list)

		want := judged(list[7])
		v, ok, err := e.Revision(t.Context(), "a", list[7].Repo, "")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if v.DirHash != want.DirHash || v.Class != "ok" || !v.Accepted || string(v.Detail) != string(want.Detail) || v.Work.Revision != "r1" || len(v.Files) != 2 || v.Files[0] != want.Files[0] {
			t.Errorf("revision: %+v", v)
		}
		if _, ok, err := e.Revision(t.Context(), "b", list[7].Repo, ""); ok || err != nil {
			t.Errorf("another tenant has it: %v, %v", ok, err)
		}
		f, ok, err := e.Folder(t.Context(), want.DirHash, want.Policy, want.Rules)
		if err != nil || !ok || string(f.Detail) != string(want.Detail) {
			t.Errorf("folder: %+v, %v, %v", f, ok, err)
		}
		if _, ok, err := e.Folder(t.Context(), want.DirHash, want.Policy, sum("other rules")); ok || err != nil {
			t.Errorf("a folder is known by other rules: %v, %v", ok, err)
		}
		ev, err := e.Evidence(t.Context(), "", []string{want.Files[0].SHA256, sum("shared"), sum("nobody")})
		if err != nil || len(ev) != 1 || string(ev[want.Files[0].SHA256]) != "evidence of "+list[7].Repo {
			t.Errorf("evidence: %q, %v", ev, err)
		}
		k, err := e.Content(t.Context(), "a", sum("shared"), want.Policy, want.Rules)
		if err != nil || len(k) != 1 || k[0].Class != "ok" {
			t.Errorf("content: %+v, %v", k, err)
		}
	})
}

// A worker that was thought dead comes back after its job was given to another one, and puts
// nothing.
func TestALateWorkerPutsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		o := fast(t)
		e := open(t, p, o)
		list := work("a", 5)
		if _, err := e.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var fenced, late atomic.Int32
		hold := make(chan struct{})
		worked := func(ctx context.Context, j store.Job) error {
			if j.Attempt == 1 {
				late.Add(1)
				<-hold
				ctx = context.WithoutCancel(ctx)
			}
			err := e.Finish(ctx, j, judged(j.Work))
			if errors.Is(err, store.ErrFenced) {
				fenced.Add(1)
			}
			return err
		}
		if err := e.Start(t.Context(), 10, worked); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Admit(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return late.Load() == 5 })
		if err := store.Forsake(t.Context(), e); err != nil { // as after a lost heartbeat
			t.Fatal(err)
		}
		waitFor(t, func() bool { n, err := e.Left(t.Context()); return err == nil && n == 0 })
		close(hold)
		waitFor(t, func() bool { return fenced.Load() == 5 })
		exactly(t, e, list)
	})
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 6000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not happen in a minute")
}

func TestAPoisonIsParked(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		list := work("a", 20)
		if _, err := e.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var attempts atomic.Int32
		healthy := atomic.Bool{}
		worked := func(ctx context.Context, j store.Job) error {
			if j.Work.Repo == list[3].Repo && !healthy.Load() {
				attempts.Add(1)
				if j.Last {
					return e.Park(ctx, j, "it makes the parser fall over")
				}
				return errors.New("it fell over")
			}
			return e.Finish(ctx, j, judged(j.Work))
		}
		if err := e.Start(t.Context(), 2, worked); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 8)
		parked, err := e.Parked(t.Context())
		if err != nil || len(parked) != 1 || parked[0].Repo != list[3].Repo || !strings.Contains(parked[0].Reason, "fall over") || attempts.Load() != 3 {
			t.Fatalf("parked %+v after %d attempts, %v", parked, attempts.Load(), err)
		}
		healthy.Store(true)
		if n, err := e.Retry(t.Context(), parked[0].ID); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		drain(t, e, 8)
		exactly(t, e, list)
	})
}

// What panics, or takes all of its attempts' time, is parked without a worker's doing.
func TestWhatNobodyFinishesIsParked(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		o := fast(t)
		o.Attempts, o.Timeout, o.Rescue = 2, 300*time.Millisecond, time.Second
		e := open(t, p, o)
		list := work("a", 3)
		if _, err := e.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		worked := func(ctx context.Context, j store.Job) error {
			switch j.Work.Repo {
			case list[0].Repo:
				panic("a bug in a parser")
			case list[1].Repo:
				<-ctx.Done()
				return ctx.Err()
			}
			return e.Finish(ctx, j, judged(j.Work))
		}
		if err := e.Start(t.Context(), 3, worked); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 8)
		parked, err := e.Parked(t.Context())
		if err != nil || len(parked) != 2 {
			t.Fatalf("%+v, %v", parked, err)
		}
		exactly(t, e, list[2:])
	})
}

// Ten revisions of a tenant do not wait for the thousands of another one that came first.
func TestTenantsTakeTurns(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		many, few := work("many", 3000), work("few", 10)
		for _, list := range [][]store.Work{many, few} {
			if _, err := e.Add(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		finished, lastOfFew := 0, 0
		seen := func(j store.Job) {
			mu.Lock()
			defer mu.Unlock()
			finished++
			if j.Work.Tenant == "few" {
				lastOfFew = finished
			}
		}
		if err := e.Start(t.Context(), 4, finishing(e, seen)); err != nil {
			t.Fatal(err)
		}
		for {
			mu.Lock()
			n := finished
			mu.Unlock()
			if n >= 200 {
				break
			}
			in, err := e.Admitted(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Admit(t.Context(), 16-int(in)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		if lastOfFew == 0 || lastOfFew > 60 {
			t.Errorf("the last of ten was revision %d of all", lastOfFew)
		}
	})
}

func TestWeightsAndCosts(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		dear := work("dear", 200)
		for i := range dear {
			dear[i].Cost = 16
		}
		for _, list := range [][]store.Work{dear, work("cheap", 2000), work("heavy", 2000)} {
			if _, err := e.Add(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Weigh(t.Context(), "heavy", 3); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err := e.Admit(t.Context(), 40); err != nil {
				t.Fatal(err)
			}
		}
		standing, err := e.Standing(t.Context())
		if err != nil || len(standing) != 3 {
			t.Fatal(standing, err)
		}
		cheap, expensive, heavy := standing[0].Admitted, standing[1].Admitted, standing[2].Admitted
		if cheap+expensive+heavy != 800 {
			t.Errorf("%d admitted", cheap+expensive+heavy)
		}
		if heavy < cheap*2 || heavy > cheap*4 {
			t.Errorf("weight 3 was given %d beside %d", heavy, cheap)
		}
		if paid := expensive * 16; paid < cheap/2 || paid > cheap*2 {
			t.Errorf("the dear tenant was given %d of cost 16 beside %d of cost 1", expensive, cheap)
		}
	})
}

// The database ends at once and comes back while work goes on.
func TestARestartOfTheDatabase(t *testing.T) {
	s := pgtest.Start(t)
	e := open(t, place{s.Address(), true, s}, fast(t))
	list := work("a", 400)
	if _, err := e.Add(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var finished atomic.Int32
	if err := e.Start(t.Context(), 4, finishing(e, func(store.Job) { finished.Add(1) })); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for n := int32(40); n <= 120; n += 40 {
			for finished.Load() < n {
				time.Sleep(time.Millisecond)
			}
			s.Stop(syscall.SIGQUIT)
			time.Sleep(50 * time.Millisecond)
			s.Restart()
		}
	}()
	drain(t, e, 16)
	<-stopped
	exactly(t, e, list)
}

// Many processes share a Postgres.
func TestTwoEnginesShareADatabase(t *testing.T) {
	s := pgtest.Start(t)
	p := place{s.Address(), true, s}
	one, two := open(t, p, fast(t)), open(t, p, fast(t))
	list := work("a", 300)
	if _, err := one.Add(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var by [2]atomic.Int32
	for i, e := range []store.Engine{one, two} {
		if err := e.Start(t.Context(), 2, finishing(e, func(store.Job) { by[i].Add(1) })); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); drain(t, two, 16) }()
	drain(t, one, 16)
	<-done
	exactly(t, one, list)
	if by[0].Load() == 0 || by[1].Load() == 0 {
		t.Errorf("the first judged %d, the second %d", by[0].Load(), by[1].Load())
	}
}

// What a source states of a content is known of that source alone.
// A process counts from its start until its heartbeat has stopped.
func TestProcessesAreCounted(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		count := func(e store.Engine, want int64) {
			t.Helper()
			var n int64
			var err error
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if n, err = e.Processes(t.Context()); n == want && err == nil {
					return
				}
			}
			t.Fatalf("%d processes, %v: want %d", n, err, want)
		}
		first := open(t, p, fast(t))
		count(first, 0)
		if err := first.Start(t.Context(), 1, finishing(first, nil)); err != nil {
			t.Fatal(err)
		}
		count(first, 1)
		if !p.many {
			return
		}
		second := open(t, p, fast(t))
		if err := second.Start(t.Context(), 1, finishing(second, nil)); err != nil {
			t.Fatal(err)
		}
		count(first, 2)
		second.Close()
		count(first, 1)
	})
}

func TestAClaimIsNotKnowledge(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		list := work("a", 1)
		if _, err := e.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		v := judged(list[0])
		v.Computed, v.Domain, v.Claimed = false, "hf://example", 1
		if err := e.Start(t.Context(), 1, func(ctx context.Context, j store.Job) error { return e.Finish(ctx, j, v) }); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 1)
		if _, ok, err := e.Folder(t.Context(), v.DirHash, v.Policy, v.Rules); ok || err != nil {
			t.Errorf("the folder is known: %v", err)
		}
		if k, err := e.Content(t.Context(), "a", v.Files[0].SHA256, v.Policy, v.Rules); len(k) != 0 || err != nil {
			t.Errorf("the content is known: %v, %v", k, err)
		}
		for domain, want := range map[string]int{"": 0, "hf://example": 1, "hf://another": 0} {
			if ev, err := e.Evidence(t.Context(), domain, []string{v.Files[0].SHA256}); len(ev) != want || err != nil {
				t.Errorf("%q: %v, %v", domain, ev, err)
			}
		}
		if got, ok, err := e.Revision(t.Context(), "a", list[0].Repo, ""); !ok || err != nil || got.Claimed != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestAFileIsForOneProcess(t *testing.T) {
	dir := t.TempDir()
	p := place{where: filepath.Join(dir, "hub.db")}
	open(t, p, fast(t))
	hard, soft := filepath.Join(dir, "hard.db"), filepath.Join(dir, "soft.db")
	for name, err := range map[string]error{hard: os.Link(p.where, hard), soft: os.Symlink(p.where, soft)} {
		if err != nil {
			t.Skip("the system lacks links: ", name)
		}
	}
	for _, name := range []string{p.where, hard, soft} {
		if e, err := store.Open(t.Context(), name, fast(t)); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	if info, err := os.Stat(p.where); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read the database: %v, %v", info.Mode(), err)
	}
}

// What is seen is what a repository has now, whatever was found first; of repositories of one
// name a refusal counts.
func TestWhatWasSeenLastCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		one := store.Work{Tenant: "t", Source: "A", Repo: "m", Revision: "bad", Address: "bad"}
		two := store.Work{Tenant: "t", Source: "A", Repo: "m", Revision: "good", Address: "good"}
		three := store.Work{Tenant: "t", Source: "B", Repo: "m", Revision: "good", Address: "good"}
		if err := e.Start(t.Context(), 1, func(ctx context.Context, j store.Job) error {
			v := judged(j.Work)
			if j.Work.Revision == "bad" {
				v.Class, v.Accepted = "forbidden", false
			}
			return e.Finish(ctx, j, v)
		}); err != nil {
			t.Fatal(err)
		}
		seen := func(w store.Work, want int, accepted bool) {
			t.Helper()
			time.Sleep(2 * time.Millisecond) // the clock of what was seen has milliseconds
			if _, err := e.Add(t.Context(), []store.Work{w}); err != nil {
				t.Fatal(err)
			}
			drain(t, e, 4)
			n, all := 0, true
			if err := e.Revisions(t.Context(), "t", func(v store.Verdict) error { n++; all = all && v.Accepted; return nil }); err != nil {
				t.Fatal(err)
			}
			v, ok, err := e.Revision(t.Context(), "t", "m", "")
			if err != nil || !ok || n != want || all != accepted || v.Accepted != accepted {
				t.Errorf("%+v: %d repositories, all accepted %v, the one %v, %v", w, n, all, v.Accepted, err)
			}
		}
		seen(one, 1, false)
		seen(two, 1, true)
		seen(one, 1, false)
		seen(three, 2, false)
		seen(two, 2, true)
	})
}

// A revision whose files are others by now is gone, and what is there is judged in its place.
func TestAReplacedRevisionIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		old := store.Work{Tenant: "t", Source: "A", Repo: "m", Revision: "old", Address: "at"}
		now := old
		now.Revision = "new"
		if _, err := e.Add(t.Context(), []store.Work{old}); err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context(), 1, func(ctx context.Context, j store.Job) error {
			if j.Work.Revision == "old" {
				return e.Replace(ctx, j, now)
			}
			return e.Finish(ctx, j, judged(j.Work))
		}); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 4)
		if _, ok, err := e.Revision(t.Context(), "t", "m", "old"); ok || err != nil {
			t.Errorf("the old one is known: %v", err)
		}
		if v, ok, err := e.Revision(t.Context(), "t", "m", ""); !ok || err != nil || v.Work.Revision != "new" {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestANewerSchemaIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		if err := store.Exec(t.Context(), e, "UPDATE hub_meta SET value = '99' WHERE key = 'schema'"); err != nil {
			t.Fatal(err)
		}
		e.Close()
		o := fast(t)
		o.Wait = time.Millisecond
		if e, err := store.Open(t.Context(), p.where, o); err == nil || !strings.Contains(err.Error(), "a newer program") {
			t.Errorf("%v, %v", e, err)
		}
	})
}

// A database that a program of an earlier version filled is brought to this one, with what it
// knows, and what it knows counts until a change touches it: nobody knows what its rules read.
func TestAnOlderSchemaIsBroughtUp(t *testing.T) {
	for version := 1; version < store.SchemaVersion; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			everywhere(t, func(t *testing.T, p place) {
				e := open(t, p, fast(t))
				e.Close()
				list := work("a", 5)
				if err := store.Older(t.Context(), p.where, version, list); err != nil {
					t.Fatal(err)
				}
				e = open(t, p, fast(t))
				got := 0
				if err := e.Revisions(t.Context(), "a", func(v store.Verdict) error {
					got++
					if v.Policy != sum("policy") || v.Rules != sum("rules") || v.Class != "ok" || !v.Accepted || v.Stale || string(v.Detail) != "{}" {
						t.Errorf("%+v", v)
					}
					return nil
				}); err != nil || got != len(list) {
					t.Fatalf("%d verdicts, %v", got, err)
				}
				parts := map[string]string{"core": "1"}
				if _, err := e.TakeOver(t.Context(), sum("newer"), "2", parts, func(map[string]string) []string { t.Error("its parts are known"); return nil }); err != nil {
					t.Fatal(err)
				}
				if n, err := e.Rejudge(t.Context(), "*", sum("policy"), sum("newer"), "2026-01-01", false); n.Revisions != int64(len(list)) || err != nil {
					t.Errorf("%+v, %v", n, err)
				}
				if err := e.Start(t.Context(), 2, func(ctx context.Context, j store.Job) error {
					v := judged(j.Work)
					v.Rules = sum("newer")
					return e.Finish(ctx, j, v)
				}); err != nil {
					t.Fatal(err)
				}
				drain(t, e, 8)
				if err := e.Revisions(t.Context(), "a", func(v store.Verdict) error {
					if v.Epoch != 2 || v.Rules != sum("newer") {
						t.Errorf("%+v", v)
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestRejudge(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		list := work("a", 30)
		if _, err := e.Add(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context(), 2, finishing(e, nil)); err != nil {
			t.Fatal(err)
		}
		drain(t, e, 8)
		if n, err := e.Rejudge(t.Context(), "*", sum("policy"), sum("rules"), "2026-01-01", false); n.Revisions != 0 || err != nil {
			t.Errorf("%+v by the same rules, %v", n, err)
		}
		if n, err := e.Rejudge(t.Context(), "*", sum("policy"), sum("newer"), "2026-01-01", true); n.Revisions != 30 || err != nil {
			t.Errorf("%+v by newer rules, %v", n, err)
		}
		if left, err := e.Left(t.Context()); left != 0 || err != nil {
			t.Errorf("a dry run left %d, %v", left, err)
		}
		if n, err := e.Rejudge(t.Context(), "*", sum("policy"), sum("newer"), "2026-01-01", false); n.Revisions != 30 || err != nil {
			t.Errorf("%+v put back, %v", n, err)
		}
		drain(t, e, 8)
		n := 0
		if err := e.Revisions(t.Context(), "a", func(v store.Verdict) error {
			if v.Epoch == 2 {
				n++
			}
			return nil
		}); err != nil || n != 30 {
			t.Errorf("%d of epoch 2, %v", n, err)
		}
	})
}

func TestShown(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		e := open(t, p, fast(t))
		for _, s := range []struct{ tenant, what string }{{"a", "x"}, {"b", "y"}, {store.Public, "z"}, {"a", "x"}} {
			if err := e.Show(t.Context(), s.tenant, sum(s.what), 10); err != nil {
				t.Fatal(err)
			}
		}
		got, err := e.Shown(t.Context(), "a", []string{sum("x"), sum("y"), sum("z"), sum("w")})
		if err != nil || len(got) != 2 || !got[sum("x")] || !got[sum("z")] {
			t.Errorf("%v, %v", got, err)
		}
		if n, err := e.Stored(t.Context(), "a"); n != 10 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if err := e.Show(t.Context(), "a", "not a digest", 1); err == nil {
			t.Error("a digest that is none was taken")
		}
	})
}
