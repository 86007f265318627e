package store

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A Hook is told of events.
type Hook struct {
	Name   string
	Kinds  []string // none for all
	Tenant string   // "" for all
}

// A Delivery is an event that a hook is to be told of.
type Delivery struct {
	ID      int64
	Hook    string
	Attempt int // this one; the first is 1
	Event   Event
}

// Hooks keep what hooks are owed. A delivery is owed in the transaction of its event, so that none
// is lost; one may come twice, under the same number.
type Hooks interface {
	// SetHooks makes these the hooks of events from now on. What is owed to others is dropped.
	SetHooks(ctx context.Context, list []Hook) error
	// Due leases deliveries that are due: they are due again after the lease.
	Due(ctx context.Context, hook string, lease time.Duration, max int) ([]Delivery, error)
	// Delivered ends one. Failed has it tried after a time, or gives it up.
	Delivered(ctx context.Context, d Delivery) error
	Failed(ctx context.Context, d Delivery, reason string, after time.Duration, last bool) error
	// Owed counts deliveries by hook and state: due, or failed for good.
	Owed(ctx context.Context) (map[[2]string]int64, error)
	// Resend makes those due again that were given up.
	Resend(ctx context.Context, hook string) (int64, error)
	// Received notes messages that came in, and with them that a source is to be looked at. ok is
	// false if all of them came before; then nothing is noted.
	Received(ctx context.Context, hook string, messages []string, look Look) (ok bool, err error)
	// Looks lists the sources that are to be looked at, and Looked ends one, unless another message
	// has come since.
	Looks(ctx context.Context) ([]Look, error)
	Looked(ctx context.Context, look Look) error
}

// A Look is a source in which something has changed.
type Look struct {
	Tenant, Source string
	At             int64 // when that was said last
}

// SetHooks implements [Hooks].
func (e *engine[D, T]) SetHooks(ctx context.Context, hooks []Hook) error {
	return e.in(ctx, func(c conn) error {
		if e.pg { // processes that start together
			if _, err := c.exec(ctx, "LOCK TABLE hub_hook IN EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		if _, err := c.exec(ctx, "DELETE FROM hub_hook"); err != nil {
			return err
		}
		for _, h := range hooks {
			kinds := "*"
			if len(h.Kinds) > 0 {
				kinds = " " + strings.Join(h.Kinds, " ") + " "
			}
			if _, err := c.exec(ctx, "INSERT INTO hub_hook (name, kinds, tenant) VALUES ($1, $2, $3)", h.Name, kinds, h.Tenant); err != nil {
				return err
			}
		}
		_, err := c.exec(ctx, "DELETE FROM hub_delivery WHERE NOT EXISTS (SELECT 1 FROM hub_hook h WHERE h.name = hub_delivery.hook)")
		return err
	})
}

// Due implements [Hooks].
func (e *engine[D, T]) Due(ctx context.Context, hook string, lease time.Duration, max int) (out []Delivery, err error) {
	lock := ""
	if e.pg {
		lock = " FOR UPDATE SKIP LOCKED"
	}
	err = e.in(ctx, func(c conn) error {
		out = nil
		err := each(ctx, c, `UPDATE hub_delivery SET attempt = attempt + 1, due = $1 WHERE id IN
			(SELECT id FROM hub_delivery WHERE hook = $2 AND state = 'due' AND due <= $3 ORDER BY id LIMIT $4`+lock+`) RETURNING id, event, attempt`,
			[]any{e.ms() + lease.Milliseconds(), hook, e.ms(), max}, func(scan func(...any) error) error {
				d := Delivery{Hook: hook}
				err := scan(&d.ID, &d.Event.ID, &d.Attempt)
				out = append(out, d)
				return err
			})
		if err != nil {
			return err
		}
		for i := range out {
			ev := &out[i].Event
			if err := each(ctx, c, eventColumns+" WHERE id = $1", []any{ev.ID}, func(scan func(...any) error) (err error) {
				*ev, err = scanEvent(scan)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Delivery) int { return int(a.ID - b.ID) })
	return out, err
}

// Delivered implements [Hooks].
func (e *engine[D, T]) Delivered(ctx context.Context, d Delivery) error {
	return e.in(ctx, func(c conn) error {
		_, err := c.exec(ctx, "DELETE FROM hub_delivery WHERE id = $1", d.ID)
		return err
	})
}

// Failed implements [Hooks].
func (e *engine[D, T]) Failed(ctx context.Context, d Delivery, reason string, after time.Duration, last bool) error {
	state := "due"
	if last {
		state = "failed"
	}
	return e.in(ctx, func(c conn) error {
		_, err := c.exec(ctx, "UPDATE hub_delivery SET state = $1, due = $2, reason = $3 WHERE id = $4 AND attempt = $5", state, e.ms()+after.Milliseconds(), reason, d.ID, d.Attempt)
		return err
	})
}

// Owed implements [Hooks].
func (e *engine[D, T]) Owed(ctx context.Context) (map[[2]string]int64, error) {
	out := map[[2]string]int64{}
	err := each(ctx, e.read, "SELECT hook, state, count(*) FROM hub_delivery GROUP BY hook, state", nil, func(scan func(...any) error) error {
		var key [2]string
		var n int64
		err := scan(&key[0], &key[1], &n)
		out[key] = n
		return err
	})
	return out, err
}

// Resend implements [Hooks].
func (e *engine[D, T]) Resend(ctx context.Context, hook string) (n int64, err error) {
	err = e.in(ctx, func(c conn) (err error) {
		n, err = c.exec(ctx, "UPDATE hub_delivery SET state = 'due', attempt = 0, due = $1 WHERE hook = $2 AND state = 'failed'", e.ms(), hook)
		return err
	})
	return n, err
}

// Received implements [Hooks].
func (e *engine[D, T]) Received(ctx context.Context, hook string, messages []string, look Look) (ok bool, err error) {
	err = e.in(ctx, func(c conn) error {
		ok = false
		for _, m := range slices.Compact(slices.Sorted(slices.Values(messages))) {
			n, err := c.exec(ctx, "INSERT INTO hub_received (hook, message, at) VALUES ($1, $2, $3) ON CONFLICT (hook, message) DO NOTHING", hook, m, e.ms())
			if err != nil {
				return err
			}
			ok = ok || n == 1
		}
		if !ok {
			return nil
		}
		_, err := c.exec(ctx, "INSERT INTO hub_look (tenant, source, at) VALUES ($1, $2, 1) ON CONFLICT (tenant, source) DO UPDATE SET at = hub_look.at + 1", look.Tenant, look.Source)
		return err
	})
	return ok && err == nil, err
}

// Looks implements [Hooks].
func (e *engine[D, T]) Looks(ctx context.Context) (out []Look, err error) {
	err = each(ctx, e.read, "SELECT tenant, source, at FROM hub_look ORDER BY tenant, source", nil, func(scan func(...any) error) error {
		var l Look
		err := scan(&l.Tenant, &l.Source, &l.At)
		out = append(out, l)
		return err
	})
	return out, err
}

// Looked implements [Hooks].
func (e *engine[D, T]) Looked(ctx context.Context, l Look) error {
	return e.in(ctx, func(c conn) error {
		_, err := c.exec(ctx, "DELETE FROM hub_look WHERE tenant = $1 AND source = $2 AND at = $3", l.Tenant, l.Source, l.At)
		return err
	})
}
