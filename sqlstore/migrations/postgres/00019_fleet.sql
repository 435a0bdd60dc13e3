-- +goose Up

-- Since when a worker process or a backend has been taken for dead, so that it is
-- told once; NULL while it is heard from.
ALTER TABLE workers  ADD COLUMN lost_at BIGINT;
ALTER TABLE backends ADD COLUMN died_at BIGINT;

-- The events that tell of processes now include backends and lost workers.
DROP INDEX events_machine;
CREATE INDEX events_machine ON events (at) WHERE kind IN ('worker_registered', 'failed', 'released', 'reported', 'resumed', 'checkpoint_skipped', 'write_refused', 'breaker', 'paused', 'unpaused', 'backend_started', 'backend_stopped', 'backend_died', 'worker_left', 'worker_lost', 'worker_returned');

-- What did not earn is ranked by its Sharpe ratio, behind what earned.
CREATE INDEX trials_sharpe ON trials (sharpe DESC NULLS LAST, created_at, market_id, key) WHERE main = 1 AND ended = 1;

-- The rows of a trial on its other markets, so that sums count it once.
CREATE INDEX trials_others ON trials (market_id, operation_id) WHERE main = 0;

-- +goose Down
DROP INDEX trials_others;
DROP INDEX trials_sharpe;
DROP INDEX events_machine;
CREATE INDEX events_machine ON events (at) WHERE kind IN ('worker_registered', 'failed', 'released', 'reported', 'resumed', 'checkpoint_skipped', 'write_refused', 'breaker', 'paused', 'unpaused');

-- Workers register again and backends beat again by themselves.
DROP TABLE workers;
DROP TABLE backends;
CREATE TABLE workers (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    types         TEXT    NOT NULL,
    slots         BIGINT  NOT NULL,
    held_by       TEXT COLLATE "C" NOT NULL,
    host          TEXT    NOT NULL,
    pid           BIGINT  NOT NULL,
    version       TEXT    NOT NULL,
    registered_at BIGINT  NOT NULL,
    seen_at       BIGINT  NOT NULL
) WITH (fillfactor = 80);
CREATE TABLE backends (
    incarnation TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    id          TEXT COLLATE "C" NOT NULL,
    addr        TEXT    NOT NULL,
    host        TEXT    NOT NULL,
    pid         BIGINT  NOT NULL,
    version     TEXT    NOT NULL,
    started_at  BIGINT  NOT NULL,
    seen_at     BIGINT  NOT NULL
) WITH (fillfactor = 50);
