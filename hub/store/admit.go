package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/riverqueue/river"
)

// quantum is the cost that a tenant of weight 1 is given in a round.
const quantum = 8

// lockAdmission makes the processes that admit take turns. SQLite's transactions do anyway.
func (e *engine[D, T]) lockAdmission(ctx context.Context, c conn) error {
	if !e.pg {
		return nil
	}
	_, err := c.exec(ctx, "SELECT pg_advisory_xact_lock(7310579641)")
	return err
}

// A queued tenant has rows that wait.
type queued struct {
	name                  string
	weight, deficit, turn int64
	next                  []candidate // one more than there is room for, if it has as many
}

type candidate struct{ id, cost int64 }

// Admit implements [Store], by deficit round robin: in each round a tenant is given a quantum
// for each part of its weight, and admits rows while it can pay for them. What is left is kept
// for its next turn, and lost by a tenant that waits for nothing. A turn for which there was no
// room goes on with the next call.
func (e *engine[D, T]) Admit(ctx context.Context, room int) (admitted int, err error) {
	if room <= 0 {
		return 0, nil
	}
	err = e.inTx(ctx, func(t tx[T]) error {
		admitted = 0
		if err := e.lockAdmission(ctx, t); err != nil {
			return err
		}
		tenants, err := e.queued(ctx, t, room)
		if err != nil || len(tenants) == 0 {
			return err
		}
		chosen, tenants := choose(tenants, room)
		for turn, q := range tenants {
			if _, err := t.exec(ctx, "UPDATE hub_tenant SET deficit = $1, turn = $2 WHERE name = $3", q.deficit, turn, q.name); err != nil {
				return err
			}
		}
		return e.insert(ctx, t, chosen, &admitted)
	})
	return admitted, err
}

// queued lists the tenants that wait, in the order of their turns, with their next rows.
func (e *engine[D, T]) queued(ctx context.Context, c conn, room int) (list []*queued, err error) {
	// One look at the index for each tenant, not one for each row of the backlog.
	err = each(ctx, c, `SELECT name, weight, deficit, turn FROM hub_tenant
		WHERE EXISTS (SELECT 1 FROM hub_work WHERE tenant = hub_tenant.name AND state = 'waiting')
		ORDER BY turn, name`, nil, func(scan func(...any) error) error {
		q := &queued{}
		list = append(list, q)
		return scan(&q.name, &q.weight, &q.deficit, &q.turn)
	})
	if err != nil {
		return nil, err
	}
	for _, q := range list {
		err := each(ctx, c, "SELECT id, cost FROM hub_work WHERE tenant = $1 AND state = 'waiting' ORDER BY id LIMIT $2", []any{q.name, room + 1},
			func(scan func(...any) error) error {
				var one candidate
				q.next = append(q.next, one)
				return scan(&q.next[len(q.next)-1].id, &q.next[len(q.next)-1].cost)
			})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// choose takes at most room rows of the tenants, and returns these in the order in which they
// are served next.
func choose(tenants []*queued, room int) (chosen []int64, next []*queued) {
	ring := slices.Clone(tenants)
	for len(chosen) < room {
		q := ring[0]
		given := quantum * max(q.weight, 1)
		q.deficit += given
		for len(q.next) > 0 && len(chosen) < room && q.next[0].cost <= q.deficit {
			q.deficit -= q.next[0].cost
			chosen = append(chosen, q.next[0].id)
			q.next = q.next[1:]
		}
		switch {
		case len(q.next) == 0:
			q.deficit = 0
			next = append(next, q)
			if ring = ring[1:]; len(ring) == 0 {
				return chosen, next
			}
		case q.next[0].cost <= q.deficit: // the room is full: its turn goes on
			q.deficit -= given
			return chosen, append(ring, next...)
		default:
			ring = append(ring[1:], q)
		}
	}
	return chosen, append(ring, next...)
}

// insert makes jobs of rows.
func (e *engine[D, T]) insert(ctx context.Context, t tx[T], ids []int64, admitted *int) error {
	for part := range slices.Chunk(ids, 500) {
		params := make([]river.InsertManyParams, len(part))
		for i, id := range part {
			params[i] = river.InsertManyParams{Args: args{id}, InsertOpts: &river.InsertOpts{Queue: queueName, MaxAttempts: e.o.Attempts}}
		}
		results, err := e.adding.InsertManyTx(ctx, t.raw, params)
		if err != nil {
			return err
		}
		if len(results) != len(part) {
			return fmt.Errorf("store: %d of %d jobs were inserted", len(results), len(part))
		}
		for i, r := range results {
			n, err := t.exec(ctx, "UPDATE hub_work SET state = 'admitted', job = $1 WHERE id = $2 AND state = 'waiting'", r.Job.ID, part[i])
			if err != nil {
				return err
			}
			if n != 1 {
				return errors.New("store: a row was admitted twice")
			}
			*admitted++
		}
	}
	return nil
}

// Recover implements [Store].
func (e *engine[D, T]) Recover(ctx context.Context) (again, parked int, err error) {
	err = e.in(ctx, func(c conn) error {
		again, parked = 0, 0
		if err := e.lockAdmission(ctx, c); err != nil {
			return err
		}
		n, err := e.takeBack(ctx, c)
		if err != nil {
			return err
		}
		again = int(n)
		var lost []Parked
		// A job that River gave up, or deleted, and whose row no worker has parked.
		err = each(ctx, c, `SELECT w.id, w.tenant, w.repo, w.revision, COALESCE(j.attempt, 0) FROM hub_work w LEFT JOIN river_job j ON j.id = w.job
			WHERE w.state = 'admitted' AND (j.id IS NULL OR j.state IN ('discarded', 'cancelled', 'completed')) LIMIT 1000`, nil,
			func(scan func(...any) error) error {
				var p Parked
				if err := scan(&p.ID, &p.Tenant, &p.Repo, &p.Revision, &p.Attempt); err != nil {
					return err
				}
				lost = append(lost, p)
				return nil
			})
		if err != nil {
			return err
		}
		for _, p := range lost {
			if err := e.park(ctx, c, p.Work, p.Attempt, "every attempt ended without an answer: its worker died or took too long"); err != nil {
				return err
			}
			parked++
		}
		return nil
	})
	return again, parked, err
}

// takeBack gives the jobs of processes that do not live to others. An attempt that began
// counts, so that a content that kills its workers comes to its end.
func (e *engine[D, T]) takeBack(ctx context.Context, c conn) (int64, error) {
	if _, err := c.exec(ctx, "DELETE FROM hub_process WHERE beat < $1", e.dead()); err != nil {
		return 0, err
	}
	last, now := "json_extract(attempted_by, '$[#-1]')", "strftime('%Y-%m-%d %H:%M:%f', 'now')"
	if e.pg {
		last, now = "attempted_by[array_upper(attempted_by, 1)]", "now()"
	}
	return c.exec(ctx, `UPDATE river_job SET
		state = CASE WHEN attempt >= max_attempts THEN 'discarded'`+e.stateType()+` ELSE 'available'`+e.stateType()+` END,
		finalized_at = CASE WHEN attempt >= max_attempts THEN `+now+` ELSE NULL END,
		scheduled_at = `+now+`
		WHERE state = 'running' AND kind = 'judge' AND NOT EXISTS (SELECT 1 FROM hub_process p WHERE p.id = `+last+`)`)
}

// stateType is the cast that Postgres needs for a state of River.
func (e *engine[D, T]) stateType() string {
	if e.pg {
		return "::river_job_state"
	}
	return ""
}
