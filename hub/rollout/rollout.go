// Package rollout has the policies that are in force: of each tenant the version that was promoted,
// its mode, and its exceptions.
//
// The store keeps them; a process reads them again when their generation has changed, and a worker
// asks for that before each judgement. A policy that this program cannot read is none: whoever has
// it is neither judged nor answered, and nothing is taken in its place.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/hub/rules"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

// A Current is what a tenant is judged by.
type Current struct {
	Gate       *gate.Gate // with its digest; the day is that on which it was asked for
	Policy     string     // the digest of its policy, exceptions included
	Version    int64      // of the policy as it was put; 0 for the program's own
	Mode       string
	Generation int64
	Rules      string            // of this program
	Older      map[string]string // rules whose verdicts count unless they are stale, with their versions
}

// Good reports whether a verdict is one by what is in force.
func (c *Current) Good(v *store.Verdict) bool {
	good := map[string]bool{c.Rules: true}
	for r := range c.Older {
		good[r] = true
	}
	return v.Current(c.Policy, good, c.Gate.Today)
}

// OlderRules lists the rules of Older.
func (c *Current) OlderRules() (out []string) {
	for r := range c.Older {
		out = append(out, r)
	}
	return out
}

// Policies are those of a store.
type Policies struct {
	store store.Store
	base  gate.Gate
	parts map[string]string
	rules string
	now   func() time.Time
	// ReadOnly keeps it from putting the rules of this program in force.
	ReadOnly bool

	mu       sync.Mutex // of Reload
	snapshot atomic.Pointer[snapshot]
}

// A snapshot is a rollout, and what has been made of it.
type snapshot struct {
	store.Rollout

	day   string
	older map[string]string

	mu   sync.Mutex
	made map[string]*Current
	bad  map[string]error
}

// New returns the policies of a store. base judges for tenants for which nothing is promoted.
// sources are those of [rules.Parts].
func New(s store.Store, base gate.Gate, sources string, now func() time.Time) (*Policies, error) {
	parts, err := rules.Parts(base.Version, sources)
	if err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	return &Policies{store: s, base: base, parts: parts, rules: gate.RulesDigest(base.Version), now: now}, nil
}

func (p *Policies) today() string { return p.now().UTC().Format(time.DateOnly) }

// Fresh reads what has changed, and reports whether anything has: the policies, the rules in
// force, or the day. The rules of this program are in force afterwards.
func (p *Policies) Fresh(ctx context.Context) (changed bool, err error) {
	generation, in, err := p.store.Generation(ctx)
	if err != nil {
		return false, err
	}
	if s := p.snapshot.Load(); s != nil && s.Generation == generation && (in == p.rules || p.ReadOnly) && s.day == p.today() {
		return false, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if in != p.rules && !p.ReadOnly { // another program was here: what it judged is compared anew
		if _, err := p.store.TakeOver(ctx, p.rules, p.base.Version, p.parts, p.touches); err != nil {
			return false, err
		}
	}
	r, err := p.store.Rollout(ctx)
	if err != nil {
		return false, err
	}
	older, err := p.store.Carried(ctx, p.rules)
	if err != nil {
		return false, err
	}
	p.snapshot.Store(&snapshot{Rollout: r, day: p.today(), older: older, made: map[string]*Current{}, bad: map[string]error{}})
	return true, nil
}

func (p *Policies) touches(older map[string]string) []string { return rules.Touches(older, p.parts) }

// errNotRead means that the policies have not been read yet.
var errNotRead = errors.New("rollout: the policies have not been read")

// For returns what a tenant is judged by, as it was read last.
func (p *Policies) For(tenant string) (*Current, error) {
	s := p.snapshot.Load()
	if s == nil {
		return nil, errNotRead
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.made[tenant]; ok {
		return c, s.bad[tenant]
	}
	c, err := p.make(s, tenant)
	if len(s.made) >= maxMade { // of a request's tenant there may be any number
		clear(s.made)
		clear(s.bad)
	}
	s.made[tenant], s.bad[tenant] = c, err
	return c, err
}

const maxMade = 10_000

// Now is For, of what is in force at this moment.
func (p *Policies) Now(ctx context.Context, tenant string) (*Current, error) {
	if _, err := p.Fresh(ctx); err != nil {
		return nil, err
	}
	return p.For(tenant)
}

func (p *Policies) make(s *snapshot, tenant string) (*Current, error) {
	promotion, ok := s.Promotions[tenant]
	if !ok || promotion.Version == 0 {
		promotion = s.Promotions[""]
	}
	g := p.base
	g.Today = s.day
	c := &Current{Version: promotion.Version, Mode: store.Enforce, Generation: s.Generation, Rules: p.rules, Older: s.older}
	if promotion.Version != 0 {
		var err error
		if g.Policy, err = gate.ParsePolicy(s.Bodies[promotion.Version]); err != nil {
			return nil, fmt.Errorf("rollout: version %d of the policy cannot be read by this program, so nothing is judged by it: %w", promotion.Version, err)
		}
		c.Mode = promotion.Mode
	}
	// An exception begins its policy's list: it is the narrowest, of one content until a day.
	var own []gate.Exception
	for _, x := range s.Exceptions[tenant] {
		if x.Expires >= s.day {
			own = append(own, gate.Exception{Rule: x.Rule, SHA256: x.SHA256, Reason: x.Reason, Expires: x.Expires})
		}
	}
	g.Policy.Ignore = append(own, g.Policy.Ignore...)
	var err error
	if c.Gate, err = g.WithDigest(); err != nil {
		return nil, err
	}
	c.Policy, err = g.Policy.Digest()
	return c, err
}

// Rejudge puts back what was judged by something that is no longer in force, or counts it.
func (p *Policies) Rejudge(ctx context.Context, dry bool) (total store.Plan, err error) {
	total.Why = map[string]int64{}
	tenants, err := p.store.Tenants(ctx)
	if err != nil {
		return total, err
	}
	var failed []error
	policies := map[string]string{}
	for _, t := range tenants {
		c, err := p.For(t)
		if err != nil { // it keeps what it has, which nobody is told
			failed = append(failed, fmt.Errorf("tenant %q: %w", t, err))
			continue
		}
		if dry {
			policies[t] = c.Policy
			continue
		}
		one, err := p.store.Rejudge(ctx, t, c.Policy, c.Rules, c.Gate.Today, false)
		if err != nil {
			return total, err
		}
		total.Revisions += one.Revisions
	}
	if dry {
		if total, err = p.store.PlanOver(ctx, p.rules, p.base.Version, p.parts, p.touches, policies, p.today()); err != nil {
			return total, err
		}
	}
	return total, errors.Join(failed...)
}

// Carry makes the JSON of a verdict by older rules that of one by these: no rule has changed since
// that reads anything of its files.
func (c *Current) Carry(v *store.Verdict) []byte {
	version, ok := c.Older[v.Rules]
	if v.Rules == c.Rules || !ok {
		return v.Detail
	}
	return carry(v.Detail, v.Rules, version, c.Rules, c.Gate.Version)
}
