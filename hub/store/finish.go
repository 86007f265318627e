package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riverqueue/river"
)

// own locks a job, and returns ErrFenced unless it is this attempt of this worker.
func (e *engine[D, T]) own(ctx context.Context, c conn, j Job) error {
	query := "SELECT state, attempt FROM river_job WHERE id = $1"
	if e.pg {
		query = "SELECT state::text, attempt FROM river_job WHERE id = $1 FOR UPDATE"
	}
	var state string
	var attempt int
	err := c.row(ctx, query, j.ID).scan(&state, &attempt)
	switch {
	case errors.Is(err, errNoRows):
		return ErrFenced
	case err != nil:
		return err
	case state != "running" || attempt != j.Attempt:
		return ErrFenced
	}
	return nil
}

// end locks the job of ctx, does what is to be done, and completes the job, all or nothing.
func (e *engine[D, T]) end(ctx context.Context, j Job, do func(conn) error) error {
	job, ok := ctx.Value(riverJob{}).(*river.Job[args])
	if !ok || job.ID != j.ID {
		return errors.New("store: a job is ended by its worker alone")
	}
	return e.inTx(ctx, func(t tx[T]) error {
		if err := e.own(ctx, t, j); err != nil {
			return err
		}
		if err := do(t); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[D](ctx, t.raw, job)
		return err
	})
}

// Finish implements [Store].
func (e *engine[D, T]) Finish(ctx context.Context, j Job, v Judged) error {
	return e.end(ctx, j, func(c conn) error {
		now := e.ms()
		stale, err := e.overtaken(ctx, c, v)
		if err != nil {
			return err
		}
		if err := e.know(ctx, c, j.Work.Tenant, v, now); err != nil {
			return err
		}
		var was int64 = -1
		if err := c.row(ctx, "SELECT accepted FROM hub_repo_verdict WHERE work = $1", j.Work.ID).scan(&was); err != nil && !errors.Is(err, errNoRows) {
			return err
		}
		if err := e.revise(ctx, c, j.Work, v, stale, now); err != nil {
			return err
		}
		ev := Event{Kind: "judged", DirHash: v.DirHash, Policy: v.Policy, Rules: v.Rules, Class: v.Class, Mode: v.Mode, Caller: j.Work.Caller, Request: j.Work.Request}
		kinds := []string{"judged"}
		switch {
		case v.Mode == Report || stale: // nobody acts on it
		case !v.Accepted:
			kinds = append(kinds, "quarantine")
		case was == 0:
			kinds = append(kinds, "release")
		}
		for _, ev.Kind = range kinds {
			if err := e.tell(ctx, c, ev, j.Work, now); err != nil {
				return err
			}
		}
		end := "state = 'judged'"
		if stale { // by policies or rules that have changed since it began
			end = "state = 'waiting', job = 0"
		}
		n, err := c.exec(ctx, "UPDATE hub_work SET "+end+", reason = '' WHERE id = $1 AND state = 'admitted'", j.Work.ID)
		if err == nil && n != 1 {
			err = ErrFenced
		}
		return err
	})
}

// know puts what was found out about contents, and about the folder of them.
func (e *engine[D, T]) know(ctx context.Context, c conn, tenant string, v Judged, now int64) error {
	if _, err := c.exec(ctx, "INSERT INTO hub_policy (digest, at) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING", v.Policy, now); err != nil {
		return err
	}
	if _, err := c.exec(ctx, "INSERT INTO hub_rules (digest, version, at) VALUES ($1, $2, $3) ON CONFLICT (digest) DO NOTHING", v.Rules, v.Version, now); err != nil {
		return err
	}
	contents := v.Contents
	if !v.Computed { // their digests may be those of other contents
		contents = nil
	}
	for part := range slices.Chunk(once(contents), 100) {
		var blobs, verdicts []any
		for _, one := range part {
			sum, err := digest(one.SHA256)
			if err != nil {
				return err
			}
			blobs = append(blobs, sum, one.Size, one.Format)
			verdicts = append(verdicts, tenant, sum, one.Name, v.Policy, v.Rules, one.Format, one.Class, now)
		}
		if _, err := c.exec(ctx, "INSERT INTO hub_blob (sha256, size, format) VALUES "+groups(len(part), 3)+" ON CONFLICT (sha256) DO NOTHING", blobs...); err != nil {
			return err
		}
		// What was once refused beside other files is not accepted because another folder explains it.
		if _, err := c.exec(ctx, "INSERT INTO hub_verdict (tenant, sha256, name, policy, rules, format, class, at) VALUES "+groups(len(part), 8)+
			" ON CONFLICT (tenant, sha256, policy, rules, name) DO UPDATE SET class = excluded.class WHERE hub_verdict.class = 'ok'", verdicts...); err != nil {
			return err
		}
	}
	if !v.Computed && v.Domain == "" {
		return errors.New("store: nobody states the digests of a verdict")
	}
	domain := v.Domain
	if v.Computed {
		domain = ""
	}
	for _, of := range slices.Sorted(maps.Keys(v.Evidence)) {
		sum, err := digest(of)
		if err != nil {
			return err
		}
		// What was read last is what the rules of today read.
		if _, err := c.exec(ctx, "INSERT INTO hub_evidence (domain, sha256, data) VALUES ($1, $2, $3) ON CONFLICT (domain, sha256) DO UPDATE SET data = excluded.data", domain, sum, v.Evidence[of]); err != nil {
			return err
		}
	}
	if v.DirHash == "" || !v.Computed {
		return nil
	}
	sum, err := digest(v.DirHash)
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, `INSERT INTO hub_folder (dir_hash, policy, rules, class, accepted, version, detail, at, until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (dir_hash, policy, rules) DO UPDATE SET class = excluded.class, accepted = excluded.accepted, detail = excluded.detail, at = excluded.at, until = excluded.until`,
		sum, v.Policy, v.Rules, v.Class, bit(v.Accepted), v.Version, pack(v.Detail), now, v.Until)
	return err
}

// once returns contents with a digest, each key once, the worst first: one statement may not
// change a row twice.
func once(list []Content) (out []Content) {
	at := map[[2]string]int{}
	for _, c := range list {
		if c.SHA256 == "" {
			continue
		}
		key := [2]string{c.SHA256, c.Name}
		i, known := at[key]
		switch {
		case !known:
			at[key] = len(out)
			out = append(out, c)
		case out[i].Class == "ok":
			out[i] = c
		}
	}
	slices.SortFunc(out, func(a, b Content) int { // so that two transactions lock rows in one order
		return cmp.Or(strings.Compare(a.SHA256, b.SHA256), strings.Compare(a.Name, b.Name))
	})
	return out
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// revise puts the verdict about a revision, and its files.
func (e *engine[D, T]) revise(ctx context.Context, c conn, w Work, v Judged, stale bool, now int64) error {
	sum, err := digest(v.DirHash)
	if err != nil {
		return err
	}
	facts := slices.Compact(slices.Sorted(slices.Values(v.Facts)))
	if _, err := c.exec(ctx, `INSERT INTO hub_repo_verdict (work, epoch, policy, rules, version, dir_hash, class, accepted, detail, at, claimed, until, stale, facts, took, how) VALUES ($1, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (work) DO UPDATE SET epoch = hub_repo_verdict.epoch + 1, policy = excluded.policy, rules = excluded.rules, version = excluded.version,
		dir_hash = excluded.dir_hash, class = excluded.class, accepted = excluded.accepted, detail = excluded.detail, at = excluded.at, claimed = excluded.claimed, until = excluded.until,
		stale = excluded.stale, facts = excluded.facts, took = excluded.took, how = excluded.how`,
		w.ID, v.Policy, v.Rules, v.Version, sum, v.Class, bit(v.Accepted), pack(v.Detail), now, v.Claimed, v.Until, bit(stale), len(facts), v.Took.Microseconds(), v.How); err != nil {
		return err
	}
	for _, table := range []string{"hub_file", "hub_fired", "hub_fact"} {
		if _, err := c.exec(ctx, "DELETE FROM "+table+" WHERE work = $1", w.ID); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(v.Files, 100) {
		var values []any
		for _, f := range part {
			sum, err := digest(f.SHA256)
			if err != nil {
				return err
			}
			values = append(values, w.ID, f.Name, sum, f.Size)
		}
		if _, err := c.exec(ctx, "INSERT INTO hub_file (work, path, sha256, size) VALUES "+groups(len(part), 4), values...); err != nil {
			return err
		}
	}
	fired := slices.Compact(slices.Sorted(slices.Values(v.Fired)))
	for part := range slices.Chunk(fired, 100) {
		var values []any
		for _, r := range part {
			values = append(values, w.ID, r)
		}
		if _, err := c.exec(ctx, "INSERT INTO hub_fired (work, rule) VALUES "+groups(len(part), 2), values...); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(facts, 100) {
		var values []any
		for _, f := range part {
			values = append(values, f, w.ID)
		}
		if _, err := c.exec(ctx, "INSERT INTO hub_fact (fact, work) VALUES "+groups(len(part), 2), values...); err != nil {
			return err
		}
	}
	return nil
}

// tell puts an event, and owes it to the hooks that ask for such.
func (e *engine[D, T]) tell(ctx context.Context, c conn, ev Event, w Work, now int64) error {
	var id int64
	err := c.row(ctx, `INSERT INTO hub_event (at, kind, work, tenant, repo, revision, dir_hash, policy, rules, class, text, mode, caller, request) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id`,
		now, ev.Kind, w.ID, w.Tenant, w.Repo, w.Revision, ev.DirHash, ev.Policy, ev.Rules, ev.Class, ev.Text, ev.Mode, ev.Caller, ev.Request).scan(&id)
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, `INSERT INTO hub_delivery (hook, event, state, due) SELECT name, CAST($1 AS BIGINT), 'due', CAST($2 AS BIGINT) FROM hub_hook
		WHERE (kinds = '*' OR kinds LIKE $3) AND (tenant = '' OR tenant = $4)`, id, now, "% "+ev.Kind+" %", w.Tenant)
	return err
}

// Replace implements [Store].
func (e *engine[D, T]) Replace(ctx context.Context, j Job, by Work) error {
	return e.end(ctx, j, func(c conn) error {
		w := j.Work
		n, err := c.exec(ctx, "UPDATE hub_work SET state = 'gone' WHERE id = $1 AND state = 'admitted'", w.ID)
		if err == nil && n != 1 {
			err = ErrFenced
		}
		for _, table := range []string{"hub_repo_verdict", "hub_file", "hub_fired", "hub_fact"} {
			if err == nil {
				_, err = c.exec(ctx, "DELETE FROM "+table+" WHERE work = $1", w.ID)
			}
		}
		if err == nil {
			_, err = c.exec(ctx, `INSERT INTO hub_work (tenant, source, repo, revision, address, cost, state, at, seen) VALUES ($1, $2, $3, $4, $5, $6, 'waiting', $7, $7)
				ON CONFLICT (tenant, source, repo, revision) DO NOTHING`, by.Tenant, by.Source, by.Repo, by.Revision, by.Address, min(max(by.Cost, 1), maxCost), e.ms())
		}
		if err == nil {
			err = e.seen(ctx, c, []Work{by})
		}
		if err != nil {
			return err
		}
		return e.tell(ctx, c, Event{Kind: "gone"}, w, e.ms())
	})
}

// Park implements [Store].
func (e *engine[D, T]) Park(ctx context.Context, j Job, reason string) error {
	return e.end(ctx, j, func(c conn) error { return e.park(ctx, c, j.Work, j.Attempt, reason) })
}

func (e *engine[D, T]) park(ctx context.Context, c conn, w Work, attempt int, reason string) error {
	if len(reason) > 2048 {
		reason = reason[:2048]
	}
	n, err := c.exec(ctx, "UPDATE hub_work SET state = 'parked', reason = $1, attempt = $2 WHERE id = $3 AND state = 'admitted'", reason, attempt, w.ID)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("%w: its row is not admitted", ErrFenced)
	}
	return e.tell(ctx, c, Event{Kind: "parked", Text: reason}, w, e.ms())
}
