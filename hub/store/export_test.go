package store

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// Forsake makes a process that lives look dead, once.
func Forsake(ctx context.Context, e Engine) error {
	switch e := e.(type) {
	case *engine[*riversqlite.Driver, *sql.Tx]:
		return e.forsake(ctx)
	case *engine[*riverpgxv5.Driver, pgx.Tx]:
		return e.forsake(ctx)
	}
	panic("an engine of another kind")
}

func (e *engine[D, T]) forsake(ctx context.Context) error {
	return e.in(ctx, func(c conn) error {
		if _, err := c.exec(ctx, "DELETE FROM hub_process"); err != nil {
			return err
		}
		_, err := e.takeBack(ctx, c)
		return err
	})
}

// Exec runs a statement.
func Exec(ctx context.Context, e Engine, query string) error {
	do := func(c conn) error {
		_, err := c.exec(ctx, query)
		return err
	}
	switch e := e.(type) {
	case *engine[*riversqlite.Driver, *sql.Tx]:
		return e.in(ctx, do)
	case *engine[*riverpgxv5.Driver, pgx.Tx]:
		return e.in(ctx, do)
	}
	panic("an engine of another kind")
}
