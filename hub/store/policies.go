package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The modes of a policy.
const (
	Enforce = "enforce" // what it refuses is refused
	Report  = "report"  // it says what it would refuse: nothing is quarantined, and nothing signed
)

// A PolicyVersion is a policy as it was put. It never changes.
type PolicyVersion struct {
	Number int64     `json:"version"`
	Owner  string    `json:"owner"` // the tenant that put it; "" for an operator
	Digest string    `json:"digest"`
	Body   []byte    `json:"-"`
	Note   string    `json:"note"`
	Caller string    `json:"caller"`
	At     time.Time `json:"at"`
}

// A Promotion says which version a tenant has from then on. Version 0 is that of the program's
// own policy: nothing is promoted.
type Promotion struct {
	Number   int64     `json:"promotion"`
	Tenant   string    `json:"tenant"` // "" for all that have none of their own
	Version  int64     `json:"version"`
	Mode     string    `json:"mode"`
	Replaces int64     `json:"replaces"` // the promotion that it took the place of
	Reason   string    `json:"reason"`
	Caller   string    `json:"caller"`
	At       time.Time `json:"at"`
}

// The states of an exception.
const (
	Asked   = "asked"   // an appeal, about which nobody has decided
	Granted = "granted" // it is in force until its last day
	Denied  = "denied"
	Revoked = "revoked"
)

// An Exception sets one rule aside for one content of a tenant, for a time and with a reason.
type Exception struct {
	ID      int64     `json:"id"`
	Tenant  string    `json:"tenant"`
	Repo    string    `json:"repo"`
	Rule    string    `json:"rule"`
	SHA256  string    `json:"sha256"`
	Reason  string    `json:"reason"`
	Expires string    `json:"expires"` // the last day, "" for an appeal
	State   string    `json:"state"`
	Caller  string    `json:"caller"`
	Decided string    `json:"decided,omitempty"` // by whom
	Answer  string    `json:"answer,omitempty"`
	At      time.Time `json:"at"`
}

// A Rollout is what is in force.
type Rollout struct {
	Generation int64  // it grows with each change
	Rules      string // of the program that started last
	Promotions map[string]Promotion
	Bodies     map[int64][]byte // of the versions that are promoted
	Exceptions map[string][]Exception
}

// Policies are kept by a store. Every change is an event, and a new generation.
type Policies interface {
	// PutPolicy keeps a policy, whose JSON has the digest, and returns its number.
	PutPolicy(ctx context.Context, p PolicyVersion) (PolicyVersion, error)
	// PolicyVersions lists versions without their JSON: of an owner, or all for "*".
	PolicyVersions(ctx context.Context, owner string) ([]PolicyVersion, error)
	PolicyVersion(ctx context.Context, number int64) (PolicyVersion, bool, error)
	// Promote puts a version in force. Rollback puts in force what the last promotion replaced.
	Promote(ctx context.Context, p Promotion) (Promotion, error)
	Rollback(ctx context.Context, tenant, caller, reason string) (Promotion, error)
	// Promotions lists all promotions of a tenant, or of all for "*", the last one first.
	Promotions(ctx context.Context, tenant string) ([]Promotion, error)
	// Generation is that of the policies and exceptions in force, with the rules of the program
	// that started last.
	Generation(ctx context.Context) (generation int64, rules string, err error)
	// Rollout returns what is in force.
	Rollout(ctx context.Context) (Rollout, error)

	// Except keeps an exception: one that is granted, or an appeal.
	Except(ctx context.Context, x Exception) (Exception, error)
	// Decide grants or denies an appeal, or revokes what was granted. ok is false if the tenant
	// has no such exception in a state from which that follows.
	Decide(ctx context.Context, tenant string, x Exception) (ok bool, err error)
	// Exceptions lists those of a tenant, or of all for "*", the last one first.
	Exceptions(ctx context.Context, tenant string) ([]Exception, error)
	// Tenants lists the tenants that have work.
	Tenants(ctx context.Context) ([]string, error)
}

// current returns the generation and the rules in force; with lock, no change can come before
// the transaction ends.
func (e *engine[D, T]) current(ctx context.Context, c conn, lock string) (generation int64, rules string, err error) {
	query := "SELECT value FROM hub_meta WHERE key = 'current'"
	if e.pg {
		query += lock
	}
	var text string
	if err := c.row(ctx, query).scan(&text); err != nil {
		return 0, "", err
	}
	number, rules, _ := strings.Cut(text, " ")
	if _, err := fmt.Sscanf(number, "%d", &generation); err != nil || generation < 1 {
		return 0, "", fmt.Errorf("store: the generation of the policies is %q", number)
	}
	return generation, rules, nil
}

// change makes a new generation.
func (e *engine[D, T]) change(ctx context.Context, c conn, rules func(string) string) error {
	generation, was, err := e.current(ctx, c, " FOR UPDATE")
	if err != nil {
		return err
	}
	if rules != nil {
		was = rules(was)
	}
	_, err = c.exec(ctx, "UPDATE hub_meta SET value = $1 WHERE key = 'current'", fmt.Sprintf("%d %s", generation+1, was))
	return err
}

// overtaken reports whether policies or rules have changed since a judgement began. Nobody
// changes them until the transaction ends.
func (e *engine[D, T]) overtaken(ctx context.Context, c conn, v Judged) (bool, error) {
	if v.Generation == 0 {
		return false, nil
	}
	generation, rules, err := e.current(ctx, c, " FOR SHARE")
	return generation != v.Generation || rules != "" && rules != v.Rules, err
}

// Generation implements [Policies].
func (e *engine[D, T]) Generation(ctx context.Context) (int64, string, error) {
	return e.current(ctx, e.read, "")
}

// PutPolicy implements [Policies].
func (e *engine[D, T]) PutPolicy(ctx context.Context, p PolicyVersion) (PolicyVersion, error) {
	p.At = at(e.ms())
	err := e.in(ctx, func(c conn) error {
		n, err := c.exec(ctx, "INSERT INTO hub_policy_version (owner, digest, body, note, caller, at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (owner, digest) DO NOTHING",
			p.Owner, p.Digest, pack(p.Body), p.Note, p.Caller, e.ms())
		if err != nil {
			return err
		}
		if err := c.row(ctx, "SELECT number FROM hub_policy_version WHERE owner = $1 AND digest = $2", p.Owner, p.Digest).scan(&p.Number); err != nil || n == 0 {
			return err
		}
		return e.tell(ctx, c, Event{Kind: "policy", Policy: p.Digest, Caller: p.Caller, Text: fmt.Sprintf("version %d was put: %s", p.Number, p.Note)}, Work{Tenant: p.Owner}, e.ms())
	})
	return p, err
}

const versionColumns = "SELECT number, owner, digest, note, caller, at FROM hub_policy_version"

func scanVersion(scan func(...any) error, more ...any) (p PolicyVersion, err error) {
	var ms int64
	err = scan(append([]any{&p.Number, &p.Owner, &p.Digest, &p.Note, &p.Caller, &ms}, more...)...)
	p.At = at(ms)
	return p, err
}

// PolicyVersions implements [Policies].
func (e *engine[D, T]) PolicyVersions(ctx context.Context, owner string) (out []PolicyVersion, err error) {
	where, args := owned("owner", owner)
	err = each(ctx, e.read, versionColumns+where+" ORDER BY number", args, func(scan func(...any) error) error {
		p, err := scanVersion(scan)
		out = append(out, p)
		return err
	})
	return out, err
}

// owned is the condition for rows of a tenant, or of all for "*".
func owned(column, tenant string) (string, []any) {
	if tenant == "*" {
		return "", nil
	}
	return " WHERE " + column + " = $1", []any{tenant}
}

// PolicyVersion implements [Policies].
func (e *engine[D, T]) PolicyVersion(ctx context.Context, number int64) (p PolicyVersion, ok bool, err error) {
	var body []byte
	err = e.read.row(ctx, strings.Replace(versionColumns, ", at ", ", at, body ", 1)+" WHERE number = $1", number).scan(&p.Number, &p.Owner, &p.Digest, &p.Note, &p.Caller, new(int64), &body)
	if errors.Is(err, errNoRows) {
		return p, false, nil
	}
	if err == nil {
		p.Body, err = unpack(body)
	}
	return p, err == nil, err
}

const promotionColumns = "SELECT number, tenant, version, mode, replaces, reason, caller, at FROM hub_promotion"

func scanPromotion(scan func(...any) error) (p Promotion, err error) {
	var ms int64
	err = scan(&p.Number, &p.Tenant, &p.Version, &p.Mode, &p.Replaces, &p.Reason, &p.Caller, &ms)
	p.At = at(ms)
	return p, err
}

// lastPromotion returns the promotion of a tenant that is in force, or the zero one.
func lastPromotion(ctx context.Context, c conn, tenant string) (p Promotion, err error) {
	err = each(ctx, c, promotionColumns+" WHERE tenant = $1 ORDER BY number DESC LIMIT 1", []any{tenant}, func(scan func(...any) error) (err error) {
		p, err = scanPromotion(scan)
		return err
	})
	return p, err
}

// ErrNoVersion means that there is no such version, or nothing to go back to.
var ErrNoVersion = errors.New("store: there is no such version of a policy")

// Promote implements [Policies].
func (e *engine[D, T]) Promote(ctx context.Context, p Promotion) (Promotion, error) {
	if p.Mode != Enforce && p.Mode != Report {
		return p, fmt.Errorf("store: %q is no mode of a policy", p.Mode)
	}
	err := e.in(ctx, func(c conn) error {
		if err := e.change(ctx, c, nil); err != nil { // which makes those who promote take turns
			return err
		}
		was, err := lastPromotion(ctx, c, p.Tenant)
		if err != nil {
			return err
		}
		p.Replaces = was.Number
		return e.promote(ctx, c, &p)
	})
	return p, err
}

func (e *engine[D, T]) promote(ctx context.Context, c conn, p *Promotion) error {
	digest, owner := "", ""
	if p.Version != 0 {
		err := c.row(ctx, "SELECT digest, owner FROM hub_policy_version WHERE number = $1", p.Version).scan(&digest, &owner)
		if errors.Is(err, errNoRows) || err == nil && owner != "" && owner != p.Tenant {
			return ErrNoVersion
		}
		if err != nil {
			return err
		}
	}
	p.At = at(e.ms())
	err := c.row(ctx, "INSERT INTO hub_promotion (tenant, version, mode, replaces, reason, caller, at) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number",
		p.Tenant, p.Version, p.Mode, p.Replaces, p.Reason, p.Caller, e.ms()).scan(&p.Number)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("version %d is promoted: %s", p.Version, p.Reason)
	return e.tell(ctx, c, Event{Kind: "policy", Policy: digest, Mode: p.Mode, Caller: p.Caller, Text: text}, Work{Tenant: p.Tenant}, e.ms())
}

// Rollback implements [Policies].
func (e *engine[D, T]) Rollback(ctx context.Context, tenant, caller, reason string) (p Promotion, err error) {
	err = e.in(ctx, func(c conn) error {
		if err := e.change(ctx, c, nil); err != nil {
			return err
		}
		now, err := lastPromotion(ctx, c, tenant)
		if err != nil {
			return err
		}
		if now.Number == 0 || now.Version == 0 {
			return ErrNoVersion
		}
		p = Promotion{Tenant: tenant, Mode: Enforce, Caller: caller, Reason: reason}
		if now.Replaces != 0 {
			var was Promotion
			err := each(ctx, c, promotionColumns+" WHERE number = $1", []any{now.Replaces}, func(scan func(...any) error) (err error) {
				was, err = scanPromotion(scan)
				return err
			})
			if err != nil {
				return err
			}
			p.Version, p.Mode, p.Replaces = was.Version, was.Mode, was.Replaces
		}
		return e.promote(ctx, c, &p)
	})
	return p, err
}

// Promotions implements [Policies].
func (e *engine[D, T]) Promotions(ctx context.Context, tenant string) (out []Promotion, err error) {
	where, args := owned("tenant", tenant)
	err = each(ctx, e.read, promotionColumns+where+" ORDER BY number DESC LIMIT 1000", args, func(scan func(...any) error) error {
		p, err := scanPromotion(scan)
		out = append(out, p)
		return err
	})
	return out, err
}

// Rollout implements [Policies]. What changes while it reads is of a later generation, and read
// again.
func (e *engine[D, T]) Rollout(ctx context.Context) (r Rollout, err error) {
	r = Rollout{Promotions: map[string]Promotion{}, Bodies: map[int64][]byte{}, Exceptions: map[string][]Exception{}}
	err = e.in(ctx, func(c conn) (err error) {
		if r.Generation, r.Rules, err = e.current(ctx, c, " FOR SHARE"); err != nil {
			return err
		}
		err = each(ctx, c, promotionColumns+" p WHERE NOT EXISTS (SELECT 1 FROM hub_promotion x WHERE x.tenant = p.tenant AND x.number > p.number)", nil, func(scan func(...any) error) error {
			p, err := scanPromotion(scan)
			r.Promotions[p.Tenant] = p
			return err
		})
		if err != nil {
			return err
		}
		for _, p := range r.Promotions {
			if _, had := r.Bodies[p.Version]; had || p.Version == 0 {
				continue
			}
			var body []byte
			if err := c.row(ctx, "SELECT body FROM hub_policy_version WHERE number = $1", p.Version).scan(&body); err != nil {
				return err
			}
			if r.Bodies[p.Version], err = unpack(body); err != nil {
				return err
			}
		}
		return each(ctx, c, exceptionColumns+" WHERE state = 'granted' ORDER BY id", nil, func(scan func(...any) error) error {
			x, err := scanException(scan)
			r.Exceptions[x.Tenant] = append(r.Exceptions[x.Tenant], x)
			return err
		})
	})
	return r, err
}

const exceptionColumns = "SELECT id, tenant, repo, rule, sha256, reason, expires, state, caller, decided, answer, at FROM hub_exception"

func scanException(scan func(...any) error) (x Exception, err error) {
	var ms int64
	err = scan(&x.ID, &x.Tenant, &x.Repo, &x.Rule, &x.SHA256, &x.Reason, &x.Expires, &x.State, &x.Caller, &x.Decided, &x.Answer, &ms)
	x.At = at(ms)
	return x, err
}

// Except implements [Policies].
func (e *engine[D, T]) Except(ctx context.Context, x Exception) (Exception, error) {
	if x.State != Asked && x.State != Granted {
		return x, fmt.Errorf("store: an exception begins as %q or %q", Asked, Granted)
	}
	if _, err := digest(x.SHA256); err != nil || x.SHA256 == "" || x.Rule == "" || x.Reason == "" || x.State == Granted && x.Expires == "" {
		return x, errors.New("store: an exception has a rule, the digest of a content and a reason, and a last day if it is granted")
	}
	err := e.in(ctx, func(c conn) error {
		x.At = at(e.ms())
		err := c.row(ctx, "INSERT INTO hub_exception (tenant, repo, rule, sha256, reason, expires, state, caller, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
			x.Tenant, x.Repo, x.Rule, x.SHA256, x.Reason, x.Expires, x.State, x.Caller, e.ms()).scan(&x.ID)
		if err != nil {
			return err
		}
		return e.excepted(ctx, c, x)
	})
	return x, err
}

// excepted tells of an exception, which is in force if it is granted.
func (e *engine[D, T]) excepted(ctx context.Context, c conn, x Exception) error {
	if x.State == Granted || x.State == Revoked {
		if err := e.change(ctx, c, nil); err != nil {
			return err
		}
	}
	who := x.Caller
	if x.Decided != "" {
		who = x.Decided
	}
	return e.tell(ctx, c, Event{Kind: "exception", Caller: who, Text: fmt.Sprintf("%d of %s for %s is %s: %s", x.ID, x.Rule, x.SHA256, x.State, x.Reason+x.Answer)}, Work{Tenant: x.Tenant, Repo: x.Repo}, e.ms())
}

// Decide implements [Policies].
func (e *engine[D, T]) Decide(ctx context.Context, tenant string, x Exception) (ok bool, err error) {
	from := map[string]string{Granted: Asked, Denied: Asked, Revoked: Granted}[x.State]
	if from == "" || x.State == Granted && x.Expires == "" {
		return false, errors.New("store: an appeal is granted until a day, or denied; what was granted is revoked")
	}
	err = e.in(ctx, func(c conn) error {
		var now Exception
		where, args := exceptionColumns+" WHERE id = $1 AND state = $2", []any{x.ID, from}
		if tenant != "*" {
			where, args = where+" AND tenant = $3", append(args, tenant)
		}
		if e.pg {
			where += " FOR UPDATE"
		}
		err := each(ctx, c, where, args, func(scan func(...any) error) (err error) {
			now, err = scanException(scan)
			return err
		})
		if ok = err == nil && now.ID != 0; !ok {
			return err
		}
		now.State, now.Decided, now.Answer = x.State, x.Decided, x.Answer
		if x.State == Granted {
			now.Expires = x.Expires
		}
		if _, err := c.exec(ctx, "UPDATE hub_exception SET state = $1, decided = $2, answer = $3, expires = $4 WHERE id = $5", now.State, now.Decided, now.Answer, now.Expires, now.ID); err != nil {
			return err
		}
		return e.excepted(ctx, c, now)
	})
	return ok, err
}

// Exceptions implements [Policies].
func (e *engine[D, T]) Exceptions(ctx context.Context, tenant string) (out []Exception, err error) {
	where, args := owned("tenant", tenant)
	err = each(ctx, e.read, exceptionColumns+where+" ORDER BY id DESC LIMIT 10000", args, func(scan func(...any) error) error {
		x, err := scanException(scan)
		out = append(out, x)
		return err
	})
	return out, err
}

// Tenants implements [Policies].
func (e *engine[D, T]) Tenants(ctx context.Context) (out []string, err error) {
	err = each(ctx, e.read, "SELECT name FROM hub_tenant ORDER BY name", nil, func(scan func(...any) error) error {
		out = append(out, "")
		return scan(&out[len(out)-1])
	})
	return out, err
}
