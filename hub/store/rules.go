package store

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Everything is what a change touches if it is not known what its rules read.
const Everything = "*"

// A Plan is what is to be judged again.
type Plan struct {
	Revisions int64 // all of them
	Files     int64 // of these
	Evidence  int64 // of the revisions, those whose files all have evidence, so that none is fetched
	// Each is how long a revision took on an average that was judged from evidence, and from its
	// bytes, in microseconds; 0 if none was.
	FromEvidence, FromBytes int64
	// Why counts the revisions by reason: policy, rules, until.
	Why map[string]int64
}

// Changes keep which verdicts of older rules count.
type Changes interface {
	// TakeOver makes the rules of this program those in force. touches says what a change from
	// the parts of older rules touches: facts of revisions, or [Everything]. The verdicts that are
	// touched are stale afterwards. It returns the older rules whose other verdicts count.
	TakeOver(ctx context.Context, rules, version string, parts map[string]string, touches func(older map[string]string) []string) ([]string, error)
	// PlanOver counts what [Changes.TakeOver] and then [Store.Rejudge] of each tenant by its policy
	// would put back, and changes nothing.
	PlanOver(ctx context.Context, rules, version string, parts map[string]string, touches func(older map[string]string) []string, policies map[string]string, today string) (Plan, error)
	// Carried returns the older rules whose verdicts count under rules, unless they are stale, with
	// the version of their program.
	Carried(ctx context.Context, rules string) (map[string]string, error)
}

// TakeOver implements [Changes].
func (e *engine[D, T]) TakeOver(ctx context.Context, rules, version string, parts map[string]string, touches func(map[string]string) []string) (carried []string, err error) {
	err = e.in(ctx, func(c conn) (err error) {
		if err := e.change(ctx, c, func(string) string { return rules }); err != nil {
			return err
		}
		carried, err = e.takeOver(ctx, c, rules, version, parts, touches)
		return err
	})
	return carried, err
}

// PlanOver implements [Changes]. What it writes on its way is taken back; nobody waits for it but who
// finishes one of the revisions that are touched.
func (e *engine[D, T]) PlanOver(ctx context.Context, rules, version string, parts map[string]string, touches func(map[string]string) []string, policies map[string]string, today string) (p Plan, err error) {
	err = e.in(ctx, func(c conn) error {
		p = Plan{Why: map[string]int64{}}
		if _, err := e.takeOver(ctx, c, rules, version, parts, touches); err != nil {
			return err
		}
		for tenant, policy := range policies {
			if err := e.plan(ctx, c, &p, tenant, policy, rules, today); err != nil {
				return err
			}
		}
		return errDry
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return p, err
}

// takeOver compares the rules with all older ones.
func (e *engine[D, T]) takeOver(ctx context.Context, c conn, rules, version string, parts map[string]string, touches func(map[string]string) []string) (carried []string, err error) {
	text, err := json.Marshal(parts)
	if err != nil {
		return nil, err
	}
	if _, err := c.exec(ctx, "INSERT INTO hub_rules (digest, version, at, parts) VALUES ($1, $2, $3, $4) ON CONFLICT (digest) DO UPDATE SET parts = excluded.parts", rules, version, e.ms(), pack(text)); err != nil {
		return nil, err
	}
	older := map[string]map[string]string{}
	err = each(ctx, c, "SELECT digest, parts FROM hub_rules WHERE digest <> $1 ORDER BY digest", []any{rules}, func(scan func(...any) error) error {
		var digest string
		var packed []byte
		if err := scan(&digest, &packed); err != nil {
			return err
		}
		var of map[string]string
		if packed != nil {
			text, err := unpack(packed)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(text, &of); err != nil {
				return err
			}
		}
		older[digest] = of
		return nil
	})
	if err != nil {
		return nil, err
	}
	for digest, of := range older {
		facts := []string{Everything}
		if of != nil {
			facts = touches(of)
		}
		all := false
		for _, f := range facts {
			all = all || f == Everything
		}
		mask := strings.Join(facts, " ")
		if all {
			mask = Everything
		}
		if _, err := c.exec(ctx, "INSERT INTO hub_carry (rules, older, touches, at) VALUES ($1, $2, $3, $4) ON CONFLICT (rules, older) DO UPDATE SET touches = excluded.touches", rules, digest, mask, e.ms()); err != nil {
			return nil, err
		}
		if all {
			continue // none of its verdicts counts
		}
		carried = append(carried, digest)
		if err := e.touch(ctx, c, digest, facts); err != nil {
			return nil, err
		}
	}
	return carried, nil
}

// touch makes the verdicts stale by older rules that have one of the facts, in one statement that
// begins at the facts. Verdicts of which no facts are kept have all of them.
func (e *engine[D, T]) touch(ctx context.Context, c conn, older string, facts []string) error {
	args := []any{older}
	for _, f := range facts {
		args = append(args, f)
	}
	some := ""
	if len(facts) > 0 {
		some = " OR work IN (SELECT work FROM hub_fact WHERE fact IN (" + list(2, len(facts)) + "))"
	}
	_, err := c.exec(ctx, "UPDATE hub_repo_verdict SET stale = 1 WHERE rules = $1 AND stale = 0 AND (facts = 0"+some+")", args...)
	return err
}

// Carried implements [Changes].
func (e *engine[D, T]) Carried(ctx context.Context, rules string) (map[string]string, error) {
	out := map[string]string{}
	err := each(ctx, e.read, "SELECT c.older, r.version FROM hub_carry c JOIN hub_rules r ON r.digest = c.older WHERE c.rules = $1 AND c.touches <> '*'", []any{rules}, func(scan func(...any) error) error {
		var older, version string
		err := scan(&older, &version)
		out[older] = version
		return err
	})
	return out, err
}

// oldVerdicts are those of a tenant that do not count any more.
const oldVerdicts = `FROM hub_repo_verdict v JOIN hub_work w ON w.id = v.work WHERE w.state = 'judged' AND ($4 = '*' OR w.tenant = $4) AND
	(v.stale = 1 OR v.policy <> $2 OR v.until <> '' AND v.until < $3 OR
	v.rules <> $1 AND NOT EXISTS (SELECT 1 FROM hub_carry c WHERE c.rules = $1 AND c.older = v.rules AND c.touches <> '*'))`

// plan adds what a tenant has that does not count any more.
func (e *engine[D, T]) plan(ctx context.Context, c conn, p *Plan, tenant, policy, rules, today string) error {
	err := each(ctx, c, `SELECT CASE WHEN v.policy <> $2 THEN 'policy' WHEN v.until <> '' AND v.until < $3 THEN 'until' ELSE 'rules' END, count(*),
		CAST(COALESCE(SUM((SELECT count(*) FROM hub_file f WHERE f.work = v.work)), 0) AS BIGINT),
		CAST(COALESCE(SUM(CASE WHEN EXISTS (SELECT 1 FROM hub_file f WHERE f.work = v.work) AND NOT EXISTS (SELECT 1 FROM hub_file f WHERE f.work = v.work AND NOT EXISTS (SELECT 1 FROM hub_evidence x WHERE x.sha256 = f.sha256)) THEN 1 ELSE 0 END), 0) AS BIGINT)
		`+oldVerdicts+" GROUP BY 1", []any{rules, policy, today, tenant}, func(scan func(...any) error) error {
		var why string
		var n, files, evidence int64
		err := scan(&why, &n, &files, &evidence)
		p.Revisions, p.Files, p.Evidence = p.Revisions+n, p.Files+files, p.Evidence+evidence
		p.Why[why] += n
		return err
	})
	if err != nil {
		return err
	}
	for how, to := range map[string]*int64{"evidence": &p.FromEvidence, "bytes": &p.FromBytes} {
		if err := c.row(ctx, "SELECT CAST(COALESCE(AVG(took), 0) AS BIGINT) FROM (SELECT took FROM hub_repo_verdict WHERE how = $1 LIMIT 10000) a", how).scan(to); err != nil {
			return err
		}
	}
	return nil
}

// Rejudge implements [Store].
func (e *engine[D, T]) Rejudge(ctx context.Context, tenant, policy, rules, today string, dry bool) (p Plan, err error) {
	args := []any{rules, policy, today, tenant}
	if dry {
		p.Why = map[string]int64{}
		return p, e.plan(ctx, e.read, &p, tenant, policy, rules, today)
	}
	err = e.in(ctx, func(c conn) (err error) {
		p.Revisions, err = c.exec(ctx, "UPDATE hub_work SET state = 'waiting', job = 0 WHERE state = 'judged' AND id IN (SELECT v.work "+oldVerdicts+")", args...)
		return err
	})
	return p, err
}
