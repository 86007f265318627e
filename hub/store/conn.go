package store

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A conn runs statements, of one transaction or each in its own. Parameters are $1, $2 and so on.
type conn interface {
	exec(ctx context.Context, query string, args ...any) (int64, error)
	rows(ctx context.Context, query string, args ...any) (rows, error)
	row(ctx context.Context, query string, args ...any) row
}

// rows are the rows of an answer, to be closed.
type rows interface {
	Next() bool
	Scan(to ...any) error
	Err() error
	close()
}

type row interface{ scan(to ...any) error }

var errNoRows = errors.New("store: no rows")

// each calls visit for each row of an answer; scan fills the columns.
func each(ctx context.Context, c conn, query string, args []any, visit func(scan func(to ...any) error) error) error {
	r, err := c.rows(ctx, query, args...)
	if err != nil {
		return err
	}
	defer r.close()
	for r.Next() {
		if err := visit(r.Scan); err != nil {
			return err
		}
	}
	return r.Err()
}

// list returns n parameters for IN, the first of which is $from.
func list(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('$')
		b.WriteString(itoa(from + i))
	}
	return b.String()
}

// groups returns rows of width parameters each for VALUES.
func groups(rows, width int) string {
	var b strings.Builder
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("(" + list(1+i*width, width) + ")")
	}
	return b.String()
}

// liteConn is a conn of SQLite, whose parameters are ?1, ?2.
type liteConn struct {
	db interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	}
}

var dollar = regexp.MustCompile(`\$(\d+)`)

func lite(query string) string { return dollar.ReplaceAllString(query, "?$1") }

func (c liteConn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := c.db.ExecContext(ctx, lite(query), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

type liteRows struct{ *sql.Rows }

func (r liteRows) close() { r.Close() }

func (c liteConn) rows(ctx context.Context, query string, args ...any) (rows, error) {
	r, err := c.db.QueryContext(ctx, lite(query), args...)
	if err != nil {
		return nil, err
	}
	return liteRows{r}, nil
}

func (c liteConn) row(ctx context.Context, query string, args ...any) row {
	r, err := c.rows(ctx, query, args...)
	return oneRow{r, err}
}

// pgConn is a conn of Postgres.
type pgConn struct {
	db interface {
		Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
		Query(context.Context, string, ...any) (pgx.Rows, error)
	}
}

func (c pgConn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := c.db.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

type pgRows struct{ pgx.Rows }

func (r pgRows) close() { r.Close() }

func (c pgConn) rows(ctx context.Context, query string, args ...any) (rows, error) {
	r, err := c.db.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgRows{r}, nil
}

func (c pgConn) row(ctx context.Context, query string, args ...any) row {
	r, err := c.rows(ctx, query, args...)
	return oneRow{r, err}
}

// oneRow is the first row of an answer.
type oneRow struct {
	rows rows
	err  error
}

func (o oneRow) scan(to ...any) error {
	if o.err != nil {
		return o.err
	}
	defer o.rows.close()
	if !o.rows.Next() {
		if err := o.rows.Err(); err != nil {
			return err
		}
		return errNoRows
	}
	if err := o.rows.Scan(to...); err != nil {
		return err
	}
	o.rows.close()
	return o.rows.Err()
}
