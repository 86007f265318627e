package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// schemaVersion is that of the tables below. A change adds a step to migrations.
const schemaVersion = 3

// migrations are the statements that lead from each version to the next. {id} is a key that the
// database counts, {bytes} a type of bytes. Times are milliseconds since 1970.
var migrations = []string{`
CREATE TABLE hub_policy (digest TEXT PRIMARY KEY, at BIGINT NOT NULL);
CREATE TABLE hub_rules (digest TEXT PRIMARY KEY, version TEXT NOT NULL, at BIGINT NOT NULL);

CREATE TABLE hub_tenant (
  name TEXT PRIMARY KEY,
  weight BIGINT NOT NULL DEFAULT 1,
  deficit BIGINT NOT NULL DEFAULT 0,
  turn BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE hub_work (
  id {id},
  tenant TEXT NOT NULL,
  source TEXT NOT NULL,
  repo TEXT NOT NULL,
  revision TEXT NOT NULL,
  address TEXT NOT NULL,
  manifest {bytes},
  cost BIGINT NOT NULL,
  state TEXT NOT NULL,
  job BIGINT NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  attempt BIGINT NOT NULL DEFAULT 0,
  at BIGINT NOT NULL,
  UNIQUE (tenant, source, repo, revision)
);
CREATE INDEX hub_work_turn ON hub_work (tenant, id) WHERE state = 'waiting';
CREATE INDEX hub_work_out ON hub_work (job) WHERE state = 'admitted';
CREATE INDEX hub_work_parked ON hub_work (id) WHERE state = 'parked';
CREATE INDEX hub_work_repo ON hub_work (tenant, repo);

CREATE TABLE hub_blob (sha256 {bytes} PRIMARY KEY, size BIGINT NOT NULL, format TEXT NOT NULL);
CREATE TABLE hub_verdict (
  sha256 {bytes} NOT NULL,
  name TEXT NOT NULL,
  policy TEXT NOT NULL,
  rules TEXT NOT NULL,
  format TEXT NOT NULL,
  class TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (sha256, name, policy, rules)
);
CREATE TABLE hub_folder (
  dir_hash {bytes} NOT NULL,
  policy TEXT NOT NULL,
  rules TEXT NOT NULL,
  class TEXT NOT NULL,
  accepted BIGINT NOT NULL,
  version TEXT NOT NULL,
  detail {bytes} NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (dir_hash, policy, rules)
);
CREATE TABLE hub_fired (
  work BIGINT NOT NULL,
  rule TEXT NOT NULL,
  PRIMARY KEY (rule, work)
);
CREATE INDEX hub_fired_work ON hub_fired (work);
CREATE TABLE hub_file (
  work BIGINT NOT NULL,
  path TEXT NOT NULL,
  sha256 {bytes},
  size BIGINT NOT NULL,
  PRIMARY KEY (work, path)
);
CREATE INDEX hub_file_sha256 ON hub_file (sha256);
CREATE TABLE hub_repo_verdict (
  work BIGINT PRIMARY KEY,
  epoch BIGINT NOT NULL,
  policy TEXT NOT NULL,
  rules TEXT NOT NULL,
  version TEXT NOT NULL,
  dir_hash {bytes},
  class TEXT NOT NULL,
  accepted BIGINT NOT NULL,
  detail {bytes} NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX hub_repo_verdict_rules ON hub_repo_verdict (rules, policy);
CREATE TABLE hub_shown (
  tenant TEXT NOT NULL,
  sha256 {bytes} NOT NULL,
  size BIGINT NOT NULL,
  PRIMARY KEY (tenant, sha256)
);
CREATE TABLE hub_process (id TEXT PRIMARY KEY, beat BIGINT NOT NULL);
CREATE TABLE hub_event (
  id {id},
  at BIGINT NOT NULL,
  kind TEXT NOT NULL,
  work BIGINT NOT NULL,
  tenant TEXT NOT NULL,
  repo TEXT NOT NULL,
  revision TEXT NOT NULL,
  dir_hash TEXT NOT NULL,
  policy TEXT NOT NULL,
  rules TEXT NOT NULL,
  class TEXT NOT NULL,
  text TEXT NOT NULL
);
`, `
CREATE TABLE hub_evidence (domain TEXT NOT NULL, sha256 {bytes} NOT NULL, data {bytes} NOT NULL, PRIMARY KEY (domain, sha256));
ALTER TABLE hub_repo_verdict ADD COLUMN claimed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hub_repo_verdict ADD COLUMN until TEXT NOT NULL DEFAULT '';
ALTER TABLE hub_folder ADD COLUMN until TEXT NOT NULL DEFAULT '';
ALTER TABLE hub_work ADD COLUMN seen BIGINT NOT NULL DEFAULT 0;
UPDATE hub_work SET seen = at;
DROP TABLE hub_verdict;
CREATE TABLE hub_verdict (
  tenant TEXT NOT NULL,
  sha256 {bytes} NOT NULL,
  name TEXT NOT NULL,
  policy TEXT NOT NULL,
  rules TEXT NOT NULL,
  format TEXT NOT NULL,
  class TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (tenant, sha256, policy, rules, name)
);
`, `
ALTER TABLE hub_work ADD COLUMN caller TEXT NOT NULL DEFAULT '';
ALTER TABLE hub_work ADD COLUMN request TEXT NOT NULL DEFAULT '';
ALTER TABLE hub_event ADD COLUMN mode TEXT NOT NULL DEFAULT '';
ALTER TABLE hub_event ADD COLUMN caller TEXT NOT NULL DEFAULT '';
ALTER TABLE hub_event ADD COLUMN request TEXT NOT NULL DEFAULT '';
CREATE INDEX hub_event_at ON hub_event (at);
CREATE INDEX hub_event_work ON hub_event (work);
ALTER TABLE hub_repo_verdict ADD COLUMN stale BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hub_repo_verdict ADD COLUMN facts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hub_repo_verdict ADD COLUMN took BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hub_repo_verdict ADD COLUMN how TEXT NOT NULL DEFAULT '';
CREATE INDEX hub_repo_verdict_stale ON hub_repo_verdict (work) WHERE stale = 1;
CREATE TABLE hub_fact (fact TEXT NOT NULL, work BIGINT NOT NULL, PRIMARY KEY (fact, work));
CREATE INDEX hub_fact_work ON hub_fact (work);
ALTER TABLE hub_rules ADD COLUMN parts {bytes};
CREATE TABLE hub_carry (rules TEXT NOT NULL, older TEXT NOT NULL, touches TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (rules, older));
CREATE TABLE hub_policy_version (
  number {id},
  owner TEXT NOT NULL,
  digest TEXT NOT NULL,
  body {bytes} NOT NULL,
  note TEXT NOT NULL,
  caller TEXT NOT NULL,
  at BIGINT NOT NULL,
  UNIQUE (owner, digest)
);
CREATE TABLE hub_promotion (
  number {id},
  tenant TEXT NOT NULL,
  version BIGINT NOT NULL,
  mode TEXT NOT NULL,
  replaces BIGINT NOT NULL,
  reason TEXT NOT NULL,
  caller TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX hub_promotion_tenant ON hub_promotion (tenant, number);
CREATE TABLE hub_exception (
  id {id},
  tenant TEXT NOT NULL,
  repo TEXT NOT NULL,
  rule TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  reason TEXT NOT NULL,
  expires TEXT NOT NULL,
  state TEXT NOT NULL,
  caller TEXT NOT NULL,
  decided TEXT NOT NULL DEFAULT '',
  answer TEXT NOT NULL DEFAULT '',
  at BIGINT NOT NULL
);
CREATE INDEX hub_exception_tenant ON hub_exception (tenant, id);
CREATE TABLE hub_hook (name TEXT PRIMARY KEY, kinds TEXT NOT NULL, tenant TEXT NOT NULL);
CREATE TABLE hub_delivery (
  id {id},
  hook TEXT NOT NULL,
  event BIGINT NOT NULL,
  state TEXT NOT NULL,
  attempt BIGINT NOT NULL DEFAULT 0,
  due BIGINT NOT NULL,
  reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX hub_delivery_due ON hub_delivery (hook, due) WHERE state = 'due';
CREATE TABLE hub_received (hook TEXT NOT NULL, message TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (hook, message));
CREATE TABLE hub_look (tenant TEXT NOT NULL, source TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (tenant, source));
ALTER TABLE hub_shown ADD COLUMN at BIGINT NOT NULL DEFAULT 0;
INSERT INTO hub_meta (key, value) VALUES ('current', '1 ');
`}

// migrate brings the tables to schemaVersion, in one transaction.
func (e *engine[D, T]) migrate(ctx context.Context) error {
	return e.in(ctx, func(c conn) error {
		if _, err := c.exec(ctx, "CREATE TABLE IF NOT EXISTS hub_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"); err != nil {
			return err
		}
		if e.pg { // processes that start together
			if _, err := c.exec(ctx, "LOCK TABLE hub_meta IN EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		var text string
		err := c.row(ctx, "SELECT value FROM hub_meta WHERE key = 'schema'").scan(&text)
		at := 0
		switch {
		case errors.Is(err, errNoRows):
		case err != nil:
			return err
		default:
			if at, err = strconv.Atoi(text); err != nil || at < 0 {
				return fmt.Errorf("store: the database says that its schema is %q", text)
			}
		}
		if at > schemaVersion {
			return fmt.Errorf("store: a newer program made this database: its schema is %d, and this program knows %d", at, schemaVersion)
		}
		for ; at < schemaVersion; at++ {
			if err := e.step(ctx, c, at); err != nil {
				return err
			}
		}
		_, err = c.exec(ctx, "INSERT INTO hub_meta (key, value) VALUES ('schema', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value", strconv.Itoa(schemaVersion))
		return err
	})
}

// step leads from a version to the next.
func (e *engine[D, T]) step(ctx context.Context, c conn, from int) error {
	id, bytes := "INTEGER PRIMARY KEY AUTOINCREMENT", "BLOB"
	if e.pg {
		id, bytes = "BIGSERIAL PRIMARY KEY", "BYTEA"
	}
	for statement := range strings.SplitSeq(strings.NewReplacer("{id}", id, "{bytes}", bytes).Replace(migrations[from]), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := c.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
