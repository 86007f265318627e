package store

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A Keeper forgets.
type Keeper interface {
	// Retain forgets, of what was last of use before a time: revisions that are no longer the newest
	// of their repository, and those that are gone; events whose deliveries have ended; knowledge
	// about contents and folders that no revision has; and messages that came in. It returns how
	// many rows, by table, and the contents that tenants have shown and no revision has any more.
	Retain(ctx context.Context, before time.Time, dry bool) (Forgotten, error)
	// Erase forgets a tenant, with its verdicts, events, policies, exceptions and what it has
	// shown. An event without its name is left. Jobs of it that are at work come to nothing.
	Erase(ctx context.Context, tenant, caller string, dry bool) (Forgotten, error)
}

// Forgotten is what was forgotten, or would be.
type Forgotten struct {
	Rows     map[string]int64
	Contents []Shown // whose bytes can be deleted
}

// Shown is a content that a tenant has shown.
type Shown struct{ Tenant, SHA256 string }

// ofWork are the tables whose rows belong to a row of hub_work.
var ofWork = []string{"hub_repo_verdict", "hub_file", "hub_fired", "hub_fact"}

// forget deletes the rows that a condition holds for.
func (f *Forgotten) forget(ctx context.Context, c conn, table, where string, args ...any) error {
	n, err := c.exec(ctx, "DELETE FROM "+table+" WHERE "+where, args...)
	f.Rows[table] += n
	return err
}

// unused are the conditions for knowledge that no revision uses; each is asked after the revisions
// have gone.
var unused = [][2]string{
	{"hub_verdict", "NOT EXISTS (SELECT 1 FROM hub_file f JOIN hub_work w ON w.id = f.work WHERE f.sha256 = hub_verdict.sha256 AND w.tenant = hub_verdict.tenant)"},
	{"hub_folder", "NOT EXISTS (SELECT 1 FROM hub_repo_verdict v WHERE v.dir_hash = hub_folder.dir_hash)"},
	{"hub_evidence", "NOT EXISTS (SELECT 1 FROM hub_file f WHERE f.sha256 = hub_evidence.sha256)"},
	{"hub_blob", "NOT EXISTS (SELECT 1 FROM hub_file f WHERE f.sha256 = hub_blob.sha256)"},
}

// errDry ends a transaction that only counts: what it deleted comes back.
var errDry = errors.New("store: nothing is to be changed")

// Retain implements [Keeper].
func (e *engine[D, T]) Retain(ctx context.Context, before time.Time, dry bool) (f Forgotten, err error) {
	err = e.in(ctx, func(c conn) error {
		f = Forgotten{Rows: map[string]int64{}}
		ms := before.UnixMilli()
		// The row of the repository that was seen last is what the repository is.
		old := `state IN ('judged', 'gone') AND seen < $1 AND EXISTS (SELECT 1 FROM hub_work x WHERE x.tenant = hub_work.tenant AND x.source = hub_work.source
			AND x.repo = hub_work.repo AND (x.seen > hub_work.seen OR x.seen = hub_work.seen AND x.id > hub_work.id))`
		for _, table := range ofWork {
			if err := f.forget(ctx, c, table, "work IN (SELECT id FROM hub_work WHERE "+old+")", ms); err != nil {
				return err
			}
		}
		for _, one := range []struct{ table, where string }{
			{"hub_work", old},
			{"hub_event", "at < $1 AND NOT EXISTS (SELECT 1 FROM hub_delivery d WHERE d.event = hub_event.id)"},
			{"hub_received", "at < $1"},
			{"hub_verdict", "at < $1 AND " + unused[0][1]},
			{"hub_folder", "at < $1 AND " + unused[1][1]},
		} {
			if err := f.forget(ctx, c, one.table, one.where, ms); err != nil {
				return err
			}
		}
		for _, u := range unused[2:] {
			if err := f.forget(ctx, c, u[0], u[1]); err != nil {
				return err
			}
		}
		if err := f.shown(ctx, c, ms); err != nil {
			return err
		}
		if dry {
			return errDry
		}
		return nil
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return f, err
}

// shown forgets contents that were sent before a time, and that no revision has or waits with.
func (f *Forgotten) shown(ctx context.Context, c conn, before int64) error {
	err := each(ctx, c, `DELETE FROM hub_shown WHERE tenant <> '' AND at < $1 AND NOT EXISTS (SELECT 1 FROM hub_file f JOIN hub_work w ON w.id = f.work WHERE f.sha256 = hub_shown.sha256 AND w.tenant = hub_shown.tenant)
		AND NOT EXISTS (SELECT 1 FROM hub_work w WHERE w.tenant = hub_shown.tenant AND w.manifest IS NOT NULL AND w.state IN ('waiting', 'admitted', 'parked')) RETURNING tenant, sha256`, []any{before}, func(scan func(...any) error) error {
		var one Shown
		var sum []byte
		err := scan(&one.Tenant, &sum)
		one.SHA256 = hexOf(sum)
		f.Contents = append(f.Contents, one)
		return err
	})
	f.Rows["hub_shown"] += int64(len(f.Contents))
	return err
}

// Erase implements [Keeper].
func (e *engine[D, T]) Erase(ctx context.Context, tenant, caller string, dry bool) (f Forgotten, err error) {
	if tenant == "" || strings.ContainsRune(tenant, '*') {
		return f, errors.New("store: one tenant is erased at a time, by its name")
	}
	err = e.in(ctx, func(c conn) error {
		f = Forgotten{Rows: map[string]int64{}}
		if err := e.lockAdmission(ctx, c); err != nil { // so that no row of it is admitted meanwhile
			return err
		}
		// A worker that has a job of it finds that the job is no longer its own.
		if _, err := c.exec(ctx, "DELETE FROM river_job WHERE kind = 'judge' AND id IN (SELECT job FROM hub_work WHERE tenant = $1 AND job <> 0)", tenant); err != nil {
			return err
		}
		if err := each(ctx, c, "SELECT sha256 FROM hub_shown WHERE tenant = $1", []any{tenant}, func(scan func(...any) error) error {
			var sum []byte
			err := scan(&sum)
			f.Contents = append(f.Contents, Shown{tenant, hexOf(sum)})
			return err
		}); err != nil {
			return err
		}
		if err := f.forget(ctx, c, "hub_delivery", "event IN (SELECT id FROM hub_event WHERE tenant = $1)", tenant); err != nil {
			return err
		}
		for _, table := range ofWork {
			if err := f.forget(ctx, c, table, "work IN (SELECT id FROM hub_work WHERE tenant = $1)", tenant); err != nil {
				return err
			}
		}
		for _, one := range [][2]string{{"hub_work", "tenant"}, {"hub_event", "tenant"}, {"hub_verdict", "tenant"}, {"hub_shown", "tenant"}, {"hub_exception", "tenant"}, {"hub_look", "tenant"},
			{"hub_promotion", "tenant"}, {"hub_policy_version", "owner"}, {"hub_tenant", "name"}} {
			if err := f.forget(ctx, c, one[0], one[1]+" = $1", tenant); err != nil {
				return err
			}
		}
		for _, u := range unused[1:] { // evidence and folders have no tenant: what only this one had goes
			if err := f.forget(ctx, c, u[0], u[1]); err != nil {
				return err
			}
		}
		if dry {
			return errDry
		}
		if err := e.change(ctx, c, nil); err != nil {
			return err
		}
		return e.tell(ctx, c, Event{Kind: "erased", Caller: caller, Text: "a tenant was erased"}, Work{}, e.ms())
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return f, err
}
