package store

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
)

func hexOf(sum []byte) string { return hex.EncodeToString(sum) }

// Folder implements [Store].
func (e *engine[D, T]) Folder(ctx context.Context, dirHash, policy, rules string) (v Judged, ok bool, err error) {
	sum, err := digest(dirHash)
	if err != nil || sum == nil {
		return v, false, err
	}
	var detail []byte
	var accepted int64
	v = Judged{Policy: policy, Rules: rules, DirHash: dirHash}
	err = e.read.row(ctx, "SELECT class, accepted, version, detail, until FROM hub_folder WHERE dir_hash = $1 AND policy = $2 AND rules = $3", sum, policy, rules).
		scan(&v.Class, &accepted, &v.Version, &detail, &v.Until)
	if errors.Is(err, errNoRows) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v.Accepted, v.Computed = accepted == 1, true
	v.Detail, err = unpack(detail)
	return v, err == nil, err
}

const verdictColumns = `w.id, w.tenant, w.source, w.repo, w.revision, w.address, w.cost,
	v.epoch, v.policy, v.rules, v.version, v.dir_hash, v.class, v.accepted, v.detail, v.at, v.claimed, v.until, v.stale, v.took, v.how`

func scanVerdict(scan func(...any) error) (v Verdict, err error) {
	var sum, detail []byte
	var accepted, ms, stale, took int64
	if err := scan(&v.ID, &v.Tenant, &v.Source, &v.Repo, &v.Work.Revision, &v.Address, &v.Cost,
		&v.Epoch, &v.Policy, &v.Rules, &v.Version, &sum, &v.Class, &accepted, &detail, &ms, &v.Claimed, &v.Until, &stale, &took, &v.How); err != nil {
		return v, err
	}
	v.DirHash, v.Accepted, v.At = hex.EncodeToString(sum), accepted == 1, at(ms)
	v.Stale, v.Took = stale != 0, time.Duration(took)*time.Microsecond
	v.Detail, err = unpack(detail)
	return v, err
}

// Revision implements [Store].
func (e *engine[D, T]) Revision(ctx context.Context, tenant, repo, revision string) (v Verdict, ok bool, err error) {
	query, args := "SELECT "+verdictColumns+" FROM hub_work w JOIN hub_repo_verdict v ON v.work = w.id WHERE w.tenant = $1 AND w.repo = $2", []any{tenant, repo}
	if revision != "" {
		query, args = query+" AND w.revision = $3", append(args, revision)
	} else {
		query += " AND " + latest
	}
	err = each(ctx, e.read, query+" ORDER BY v.accepted, w.seen DESC, w.id DESC LIMIT 1", args, func(scan func(...any) error) (err error) {
		v, err = scanVerdict(scan)
		ok = err == nil
		return err
	})
	if err != nil || !ok {
		return v, false, err
	}
	v.Files, err = e.Files(ctx, v.ID)
	return v, err == nil, err
}

// Files implements [Store].
func (e *engine[D, T]) Files(ctx context.Context, work int64) (out []gate.File, err error) {
	err = each(ctx, e.read, "SELECT path, sha256, size FROM hub_file WHERE work = $1 ORDER BY path", []any{work}, func(scan func(...any) error) error {
		var f gate.File
		var sum []byte
		if err := scan(&f.Name, &sum, &f.Size); err != nil {
			return err
		}
		f.SHA256 = hex.EncodeToString(sum)
		out = append(out, f)
		return nil
	})
	return out, err
}

// latest holds for the revision of each repository of a source that was seen last.
const latest = `NOT EXISTS (SELECT 1 FROM hub_work x JOIN hub_repo_verdict y ON y.work = x.id
	WHERE x.tenant = w.tenant AND x.repo = w.repo AND x.source = w.source AND (x.seen > w.seen OR x.seen = w.seen AND x.id > w.id))`

// Revisions implements [Store].
func (e *engine[D, T]) Revisions(ctx context.Context, tenant string, visit func(Verdict) error) error {
	query, args := "SELECT "+verdictColumns+` FROM hub_work w JOIN hub_repo_verdict v ON v.work = w.id WHERE `+latest, []any{}
	if tenant != "" {
		query, args = query+" AND w.tenant = $1", append(args, tenant)
	}
	return each(ctx, e.read, query+" ORDER BY w.repo, w.source, w.id", args, func(scan func(...any) error) error {
		v, err := scanVerdict(scan)
		if err != nil {
			return err
		}
		return visit(v)
	})
}

// Evidence implements [Store].
func (e *engine[D, T]) Evidence(ctx context.Context, domain string, digests []string) (map[string][]byte, error) {
	out := make(map[string][]byte, len(digests))
	for part := range slices.Chunk(digests, 100) {
		args := []any{domain}
		for _, d := range part {
			sum, err := digest(d)
			if err != nil {
				return nil, err
			}
			args = append(args, sum)
		}
		err := each(ctx, e.read, "SELECT sha256, data FROM hub_evidence WHERE domain IN ('', $1) AND sha256 IN ("+list(2, len(part))+") ORDER BY domain DESC", args, func(scan func(...any) error) error {
			var sum, data []byte
			if err := scan(&sum, &data); err != nil {
				return err
			}
			out[hex.EncodeToString(sum)] = data
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Content implements [Store].
func (e *engine[D, T]) Content(ctx context.Context, tenant, sha256, policy, rules string, older ...string) (out []Content, err error) {
	sum, err := digest(sha256)
	if err != nil || sum == nil {
		return nil, err
	}
	query, args := "h.rules = $4", []any{tenant, sum, policy, rules}
	if len(older) > 0 {
		query = "(" + query + " OR h.rules IN (" + list(5, len(older)) + `) AND EXISTS (SELECT 1 FROM hub_file f JOIN hub_repo_verdict v ON v.work = f.work JOIN hub_work w ON w.id = v.work
			WHERE f.sha256 = h.sha256 AND w.tenant = h.tenant AND v.rules = h.rules AND v.policy = h.policy AND v.stale = 0))`
		for _, r := range older {
			args = append(args, r)
		}
	}
	err = each(ctx, e.read, "SELECT DISTINCT h.format, h.class FROM hub_verdict h WHERE h.tenant = $1 AND h.sha256 = $2 AND h.policy = $3 AND "+query+" ORDER BY h.class, h.format",
		args, func(scan func(...any) error) error {
			c := Content{SHA256: sha256}
			out = append(out, c)
			return scan(&out[len(out)-1].Format, &out[len(out)-1].Class)
		})
	return out, err
}

// Show implements [Store].
func (e *engine[D, T]) Show(ctx context.Context, tenant, sha256 string, size int64) error {
	sum, err := digest(sha256)
	if err != nil {
		return err
	}
	if sum == nil {
		return errors.New("store: a content has a digest")
	}
	return e.in(ctx, func(c conn) error {
		_, err := c.exec(ctx, "INSERT INTO hub_shown (tenant, sha256, size, at) VALUES ($1, $2, $3, $4) ON CONFLICT (tenant, sha256) DO UPDATE SET at = excluded.at", tenant, sum, size, e.ms())
		return err
	})
}

// Shown implements [Store].
func (e *engine[D, T]) Shown(ctx context.Context, tenant string, digests []string) (map[string]bool, error) {
	out := make(map[string]bool, len(digests))
	for part := range slices.Chunk(digests, 500) {
		args := []any{tenant, Public}
		for _, d := range part {
			sum, err := digest(d)
			if err != nil {
				return nil, err
			}
			args = append(args, sum)
		}
		err := each(ctx, e.read, "SELECT DISTINCT sha256 FROM hub_shown WHERE tenant IN ($1, $2) AND sha256 IN ("+list(3, len(part))+")", args, func(scan func(...any) error) error {
			var sum []byte
			if err := scan(&sum); err != nil {
				return err
			}
			out[hex.EncodeToString(sum)] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Stored implements [Store].
func (e *engine[D, T]) Stored(ctx context.Context, tenant string) (n int64, err error) {
	err = e.read.row(ctx, "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM hub_shown WHERE tenant = $1", tenant).scan(&n)
	return n, err
}

// Parked implements [Store].
func (e *engine[D, T]) Parked(ctx context.Context) (out []Parked, err error) {
	err = each(ctx, e.read, `SELECT id, tenant, source, repo, revision, address, cost, reason, attempt, at FROM hub_work WHERE state = 'parked' ORDER BY id LIMIT 10000`, nil,
		func(scan func(...any) error) error {
			var p Parked
			var ms int64
			if err := scan(&p.ID, &p.Tenant, &p.Source, &p.Repo, &p.Revision, &p.Address, &p.Cost, &p.Reason, &p.Attempt, &ms); err != nil {
				return err
			}
			p.At = at(ms)
			out = append(out, p)
			return nil
		})
	return out, err
}

// Retry implements [Store].
func (e *engine[D, T]) Retry(ctx context.Context, id int64) (n int64, err error) {
	where, args := "state = 'parked'", []any{}
	if id != 0 {
		where, args = where+" AND id = $1", append(args, id)
	}
	err = e.in(ctx, func(c conn) error {
		var list []Work
		err := each(ctx, c, "SELECT id, tenant, repo, revision FROM hub_work WHERE "+where+" ORDER BY id", args, func(scan func(...any) error) error {
			var w Work
			if err := scan(&w.ID, &w.Tenant, &w.Repo, &w.Revision); err != nil {
				return err
			}
			list = append(list, w)
			return nil
		})
		if err != nil {
			return err
		}
		for _, w := range list {
			k, err := c.exec(ctx, "UPDATE hub_work SET state = 'waiting', job = 0, attempt = 0 WHERE id = $1 AND state = 'parked'", w.ID)
			if err != nil {
				return err
			}
			if n += k; k == 1 {
				if err := e.tell(ctx, c, Event{Kind: "retried"}, w, e.ms()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return n, err
}

// Standing implements [Store].
func (e *engine[D, T]) Standing(ctx context.Context) (out []Standing, err error) {
	err = each(ctx, e.read, `SELECT w.tenant,
		CAST(SUM(CASE WHEN w.state = 'waiting' THEN 1 ELSE 0 END) AS BIGINT), CAST(SUM(CASE WHEN w.state = 'admitted' THEN 1 ELSE 0 END) AS BIGINT),
		CAST(SUM(CASE WHEN w.state = 'parked' THEN 1 ELSE 0 END) AS BIGINT), CAST(SUM(CASE WHEN w.state = 'judged' THEN 1 ELSE 0 END) AS BIGINT),
		CAST(SUM(CASE WHEN v.accepted = 1 THEN 1 ELSE 0 END) AS BIGINT), CAST(SUM(CASE WHEN v.accepted = 0 THEN 1 ELSE 0 END) AS BIGINT)
		FROM hub_work w LEFT JOIN hub_repo_verdict v ON v.work = w.id GROUP BY w.tenant ORDER BY w.tenant`, nil,
		func(scan func(...any) error) error {
			var s Standing
			if err := scan(&s.Tenant, &s.Waiting, &s.Admitted, &s.Parked, &s.Judged, &s.Accepted, &s.Refused); err != nil {
				return err
			}
			out = append(out, s)
			return nil
		})
	return out, err
}

// Weigh implements [Store].
func (e *engine[D, T]) Weigh(ctx context.Context, tenant string, weight int) error {
	if weight < 1 {
		return errors.New("store: a weight is at least 1")
	}
	return e.in(ctx, func(c conn) error {
		_, err := c.exec(ctx, "INSERT INTO hub_tenant (name, weight) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET weight = excluded.weight", tenant, weight)
		return err
	})
}

const eventColumns = "SELECT id, at, kind, tenant, repo, revision, dir_hash, policy, rules, class, text, mode, caller, request FROM hub_event"

func scanEvent(scan func(...any) error) (ev Event, err error) {
	var ms int64
	err = scan(&ev.ID, &ms, &ev.Kind, &ev.Tenant, &ev.Repo, &ev.Revision, &ev.DirHash, &ev.Policy, &ev.Rules, &ev.Class, &ev.Text, &ev.Mode, &ev.Caller, &ev.Request)
	ev.At = at(ms)
	return ev, err
}

// Events implements [Store].
func (e *engine[D, T]) Events(ctx context.Context, after int64, visit func(Event) error) error {
	return e.EventsOf(ctx, "*", after, -1, visit)
}

// EventsOf implements [Store].
func (e *engine[D, T]) EventsOf(ctx context.Context, tenant string, after int64, max int, visit func(Event) error) error {
	query, args := eventColumns+" WHERE id > $1", []any{after}
	if tenant != "*" {
		query, args = query+" AND tenant = $2", append(args, tenant)
	}
	query += " ORDER BY id"
	if max >= 0 {
		query += " LIMIT " + itoa(max)
	}
	return each(ctx, e.read, query, args, func(scan func(...any) error) error {
		ev, err := scanEvent(scan)
		if err != nil {
			return err
		}
		return visit(ev)
	})
}

// Rates implements [Store].
func (e *engine[D, T]) Rates(ctx context.Context, since time.Time) (out []Rate, err error) {
	err = each(ctx, e.read, "SELECT kind, class, count(*) FROM hub_event WHERE at >= $1 GROUP BY kind, class ORDER BY kind, class", []any{since.UnixMilli()}, func(scan func(...any) error) error {
		var r Rate
		err := scan(&r.Kind, &r.Class, &r.N)
		out = append(out, r)
		return err
	})
	return out, err
}

// Repos implements [Store].
func (e *engine[D, T]) Repos(ctx context.Context, tenant, text string, max int) (out []Repo, err error) {
	where, args := "1 = 1", []any{}
	if tenant != "*" {
		args = append(args, tenant)
		where += " AND w.tenant = $1"
	}
	if text != "" {
		pattern := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
		if len(text) > 2 {
			pattern = "%" + pattern
		}
		args = append(args, pattern)
		where += " AND w.repo LIKE $" + itoa(len(args)) + ` ESCAPE '\'`
	}
	err = each(ctx, e.read, "SELECT w.tenant, w.source, w.repo, w.revision, w.state, COALESCE(v.class, ''), COALESCE(v.accepted, 0), COALESCE(v.stale, 0), w.seen FROM hub_work w LEFT JOIN hub_repo_verdict v ON v.work = w.id WHERE "+
		where+" AND w.state <> 'gone' ORDER BY w.id DESC LIMIT "+itoa(max), args, func(scan func(...any) error) error {
		var r Repo
		var accepted, stale, ms int64
		err := scan(&r.Tenant, &r.Source, &r.Repo, &r.Revision, &r.State, &r.Class, &accepted, &stale, &ms)
		r.Accepted, r.Stale, r.Seen = accepted == 1, stale == 1, at(ms)
		out = append(out, r)
		return err
	})
	return out, err
}

// ByRule implements [Store].
func (e *engine[D, T]) ByRule(ctx context.Context, tenant string, max int) (out []Rate, err error) {
	query, args := "SELECT rule, count(*) FROM hub_fired", []any{}
	if tenant != "*" {
		query, args = "SELECT rule, count(*) FROM hub_fired f JOIN hub_work w ON w.id = f.work WHERE w.tenant = $1", append(args, tenant)
	}
	err = each(ctx, e.read, query+" GROUP BY rule ORDER BY count(*) DESC, rule LIMIT "+itoa(max), args, func(scan func(...any) error) error {
		var r Rate
		err := scan(&r.Kind, &r.N)
		out = append(out, r)
		return err
	})
	return out, err
}
