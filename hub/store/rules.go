package store

import (
	"context"
	"encoding/json"
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
	// Carried returns the older rules whose verdicts count under rules, unless they are stale, with
	// the version of their program.
	Carried(ctx context.Context, rules string) (map[string]string, error)
}

// TakeOver implements [Changes].
func (e *engine[D, T]) TakeOver(ctx context.Context, rules, version string, parts map[string]string, touches func(map[string]string) []string) (carried []string, err error) {
	text, err := json.Marshal(parts)
	if err != nil {
		return nil, err
	}
	err = e.in(ctx, func(c conn) error {
		carried = nil
		if err := e.change(ctx, c, func(string) string { return rules }); err != nil {
			return err
		}
		if _, err := c.exec(ctx, "INSERT INTO hub_rules (digest, version, at, parts) VALUES ($1, $2, $3, $4) ON CONFLICT (digest) DO UPDATE SET parts = excluded.parts", rules, version, e.ms(), pack(text)); err != nil {
			return err
		}
		older := map[string]map[string]string{}
		err := each(ctx, c, "SELECT digest, parts FROM hub_rules WHERE digest <> $1 ORDER BY digest", []any{rules}, func(scan func(...any) error) error {
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
			return err
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
				return err
			}
			if all {
				continue // none of its verdicts counts
			}
			carried = append(carried, digest)
			if err := e.touch(ctx, c, digest, facts); err != nil {
				return err
			}
		}
		return nil
	})
	return carried, err
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

// Rejudge implements [Store].
func (e *engine[D, T]) Rejudge(ctx context.Context, tenant, policy, rules, today string, dry bool) (p Plan, err error) {
	const other = `v.rules <> $1 AND NOT EXISTS (SELECT 1 FROM hub_carry c WHERE c.rules = $1 AND c.older = v.rules AND c.touches <> '*')`
	const old = `FROM hub_repo_verdict v JOIN hub_work w ON w.id = v.work WHERE w.state = 'judged' AND ($4 = '*' OR w.tenant = $4) AND
		(v.stale = 1 OR v.policy <> $2 OR v.until <> '' AND v.until < $3 OR ` + other + `)`
	args := []any{rules, policy, today, tenant}
	if dry {
		p.Why = map[string]int64{}
		err = each(ctx, e.read, `SELECT CASE WHEN v.policy <> $2 THEN 'policy' WHEN v.until <> '' AND v.until < $3 THEN 'until' ELSE 'rules' END, count(*),
			CAST(COALESCE(SUM((SELECT count(*) FROM hub_file f WHERE f.work = v.work)), 0) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN EXISTS (SELECT 1 FROM hub_file f WHERE f.work = v.work) AND NOT EXISTS (SELECT 1 FROM hub_file f WHERE f.work = v.work AND NOT EXISTS (SELECT 1 FROM hub_evidence x WHERE x.sha256 = f.sha256)) THEN 1 ELSE 0 END), 0) AS BIGINT)
			`+old+" GROUP BY 1", args, func(scan func(...any) error) error {
			var why string
			var n, files, evidence int64
			err := scan(&why, &n, &files, &evidence)
			p.Revisions, p.Files, p.Evidence = p.Revisions+n, p.Files+files, p.Evidence+evidence
			p.Why[why] = n
			return err
		})
		if err != nil {
			return p, err
		}
		for how, to := range map[string]*int64{"evidence": &p.FromEvidence, "bytes": &p.FromBytes} {
			if err := e.read.row(ctx, "SELECT CAST(COALESCE(AVG(took), 0) AS BIGINT) FROM (SELECT took FROM hub_repo_verdict WHERE how = $1 LIMIT 10000) a", how).scan(to); err != nil {
				return p, err
			}
		}
		return p, nil
	}
	err = e.in(ctx, func(c conn) (err error) {
		p.Revisions, err = c.exec(ctx, "UPDATE hub_work SET state = 'waiting', job = 0 WHERE state = 'judged' AND id IN (SELECT v.work "+old+")", args...)
		return err
	})
	return p, err
}
