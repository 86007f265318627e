package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"regexp"

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

// SchemaVersion is that of this program.
const SchemaVersion = schemaVersion

// Older makes a database what a program of an earlier version leaves that has judged some work,
// by the statements that made its tables.
func Older(ctx context.Context, where string, version int, work []Work) error {
	e, err := Open(ctx, where, Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	for table := range everyTable {
		if err := Exec(ctx, e, "DROP TABLE IF EXISTS "+table); err != nil {
			return err
		}
	}
	switch e := e.(type) {
	case *engine[*riversqlite.Driver, *sql.Tx]:
		err = e.in(ctx, func(c conn) error { return e.older(ctx, c, version, work) })
	case *engine[*riverpgxv5.Driver, pgx.Tx]:
		err = e.in(ctx, func(c conn) error { return e.older(ctx, c, version, work) })
	}
	return err
}

// everyTable are the tables of all versions.
var everyTable = func() map[string]bool {
	out := map[string]bool{"hub_meta": true}
	for _, m := range migrations {
		for _, found := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(m, -1) {
			out[found[1]] = true
		}
	}
	return out
}()

func (e *engine[D, T]) older(ctx context.Context, c conn, version int, work []Work) error {
	if _, err := c.exec(ctx, "CREATE TABLE hub_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"); err != nil {
		return err
	}
	for at := range version {
		if err := e.step(ctx, c, at); err != nil {
			return err
		}
	}
	if _, err := c.exec(ctx, "INSERT INTO hub_meta (key, value) VALUES ('schema', $1)", itoa(version)); err != nil {
		return err
	}
	for i, w := range work {
		sum := sha256.Sum256([]byte(w.Repo))
		policy, rules := sha256.Sum256([]byte("policy")), sha256.Sum256([]byte("rules"))
		for _, one := range []struct {
			query string
			args  []any
		}{
			{"INSERT INTO hub_tenant (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", []any{w.Tenant}},
			{"INSERT INTO hub_rules (digest, version, at) VALUES ($1, 'old', 1) ON CONFLICT (digest) DO NOTHING", []any{hexOf(rules[:])}},
			{"INSERT INTO hub_work (id, tenant, source, repo, revision, address, cost, state, at) VALUES ($1, $2, $3, $4, $5, $6, 1, 'judged', 1)", []any{i + 1, w.Tenant, w.Source, w.Repo, w.Revision, w.Address}},
			{"INSERT INTO hub_repo_verdict (work, epoch, policy, rules, version, dir_hash, class, accepted, detail, at) VALUES ($1, 1, $2, $3, 'old', $4, 'ok', 1, $5, 1)", []any{i + 1, hexOf(policy[:]), hexOf(rules[:]), sum[:], pack([]byte("{}"))}},
			{"INSERT INTO hub_file (work, path, sha256, size) VALUES ($1, 'model.bin', $2, 3)", []any{i + 1, sum[:]}},
		} {
			if _, err := c.exec(ctx, one.query, one.args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// Counts returns how many rows each table has.
func Counts(ctx context.Context, e Engine) (map[string]int64, error) {
	out := map[string]int64{}
	do := func(c conn) error {
		for table := range everyTable {
			var n int64
			if err := c.row(ctx, "SELECT count(*) FROM "+table).scan(&n); err != nil {
				return err
			}
			out[table] = n
		}
		return nil
	}
	return out, within(ctx, e, do)
}

// Find returns the columns of texts in which one of the words is.
func Find(ctx context.Context, e Engine, words ...string) (found []string, err error) {
	texts := map[string][]string{}
	for _, m := range migrations {
		for _, table := range regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n?\);`).FindAllStringSubmatch(m, -1) {
			for _, column := range regexp.MustCompile(`(\w+) TEXT`).FindAllStringSubmatch(table[2], -1) {
				texts[table[1]] = append(texts[table[1]], column[1])
			}
		}
		for _, column := range regexp.MustCompile(`ALTER TABLE (\w+) ADD COLUMN (\w+) TEXT`).FindAllStringSubmatch(m, -1) {
			texts[column[1]] = append(texts[column[1]], column[2])
		}
	}
	do := func(c conn) error {
		for table, columns := range texts {
			for _, column := range columns {
				for _, word := range words {
					var n int64
					if err := c.row(ctx, "SELECT count(*) FROM "+table+" WHERE "+column+" = $1", word).scan(&n); err != nil {
						return err
					}
					if n > 0 {
						found = append(found, table+"."+column+" "+word)
					}
				}
			}
		}
		return nil
	}
	return found, within(ctx, e, do)
}

func within(ctx context.Context, e Engine, do func(conn) error) error {
	switch e := e.(type) {
	case *engine[*riversqlite.Driver, *sql.Tx]:
		return e.in(ctx, do)
	case *engine[*riverpgxv5.Driver, pgx.Tx]:
		return e.in(ctx, do)
	}
	panic("an engine of another kind")
}

// Sizes says how many bytes the largest tables of a Postgres have, with their indexes.
func Sizes(ctx context.Context, e Engine) (text string, err error) {
	err = within(ctx, e, func(c conn) error {
		return each(ctx, c, `SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'hub%' ORDER BY 2 DESC LIMIT 6`, nil, func(scan func(...any) error) error {
			var name string
			var n int64
			err := scan(&name, &n)
			text += name + " " + itoa(int(n>>20)) + " MiB, "
			return err
		})
	})
	return text, err
}

// Rows returns the rows of an answer as text.
func Rows(ctx context.Context, e Engine, query string, args ...any) (out []string, err error) {
	err = within(ctx, e, func(c conn) error {
		r, err := c.rows(ctx, query, args...)
		if err != nil {
			return err
		}
		defer r.close()
		var values func() ([]any, error)
		switch r := r.(type) {
		case pgRows:
			values = r.Values
		case liteRows:
			names, err := r.Columns()
			if err != nil {
				return err
			}
			values = func() ([]any, error) {
				row := make([]any, len(names))
				to := make([]any, len(names))
				for i := range row {
					to[i] = &row[i]
				}
				return row, r.Scan(to...)
			}
		}
		for r.Next() {
			row, err := values()
			if err != nil {
				return err
			}
			out = append(out, fmt.Sprintln(row...))
		}
		return r.Err()
	})
	return out, err
}
