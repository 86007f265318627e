package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// openPostgres opens a database, which many processes may use.
func openPostgres(ctx context.Context, address string, o Options) (Engine, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err) // pgx leaves the password out
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	e := &engine[*riverpgxv5.Driver, pgx.Tx]{
		o: o, driver: riverpgxv5.New(pool), pg: true, read: pgConn{pool}, shut: pool.Close,
		begin: func(ctx context.Context) (tx[pgx.Tx], error) {
			t, err := pool.Begin(ctx)
			if err != nil {
				return tx[pgx.Tx]{}, err
			}
			return tx[pgx.Tx]{pgConn{t}, t, t.Commit, t.Rollback}, nil
		},
	}
	end := time.Now().Add(o.Wait)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		if err = e.open(ctx); err == nil {
			return e, nil
		}
		if ctx.Err() != nil || time.Now().Add(wait).After(end) {
			pool.Close()
			return nil, fmt.Errorf("store: %w", err)
		}
		o.Logf("the database does not answer, trying again: %v", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}
