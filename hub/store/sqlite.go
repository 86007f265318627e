package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	_ "modernc.org/sqlite" // the driver
)

// openSQLite opens a file, of which this process is the only user.
func openSQLite(ctx context.Context, path string, o Options) (Engine, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	unlock, err := lockFile(full)
	if err != nil {
		return nil, err
	}
	open := func(conns int, more string) (*sql.DB, error) {
		db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: full}).EscapedPath()+
			"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(20000)&_pragma=synchronous(NORMAL)&_pragma=cache_size(-65536)"+more)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(conns)
		return db, db.PingContext(ctx)
	}
	write, err := open(1, "&_txlock=immediate")
	if err != nil {
		unlock()
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	read, err := open(4, "&_pragma=query_only(1)")
	if err != nil {
		write.Close()
		unlock()
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	e := &engine[*riversqlite.Driver, *sql.Tx]{
		o: o, driver: riversqlite.New(write), read: liteConn{read},
		begin: func(ctx context.Context) (tx[*sql.Tx], error) {
			t, err := write.BeginTx(ctx, nil)
			if err != nil {
				return tx[*sql.Tx]{}, err
			}
			return tx[*sql.Tx]{liteConn{t}, t, func(context.Context) error { return t.Commit() }, func(context.Context) error { return t.Rollback() }}, nil
		},
		shut: func() {
			read.Close()
			write.Close()
			unlock()
		},
	}
	if err := e.open(ctx); err != nil {
		e.shut()
		return nil, err
	}
	// Nobody else has the file, so whoever had jobs is gone.
	if _, _, err := e.recoverAll(ctx); err != nil {
		e.shut()
		return nil, err
	}
	return e, nil
}

// recoverAll gives back the jobs of every process.
func (e *engine[D, T]) recoverAll(ctx context.Context) (int, int, error) {
	err := e.in(ctx, func(c conn) error {
		_, err := c.exec(ctx, "DELETE FROM hub_process")
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	return e.Recover(ctx)
}
