-- +goose Up

-- meta holds the store's own settings: paused, blob_root, and restoring while
-- a backup is being loaded, which keeps the triggers below silent.
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A list of more than two is a table to SQLite, made anew for each statement;
-- hence the words of the CHECKs.
CREATE TABLE operations (
    id               TEXT    NOT NULL PRIMARY KEY,
    operation_type   TEXT    NOT NULL,
    status           TEXT    NOT NULL CHECK (status = 'PENDING' OR status = 'RUNNING' OR status = 'PENDING_RECONCILIATION'
                                             OR status = 'COMPLETED' OR status = 'FAILED' OR status = 'CANCELLED'),
    phase            TEXT    NOT NULL DEFAULT '',
    epoch            INTEGER NOT NULL DEFAULT 0,
    attempts         INTEGER NOT NULL DEFAULT 0,
    priority         INTEGER NOT NULL DEFAULT 0,

    parent_id        TEXT,
    root_id          TEXT    NOT NULL,
    root_created_at  INTEGER NOT NULL, -- denormalised for the queue's order
    ordinal          INTEGER NOT NULL DEFAULT 0,
    depth            INTEGER NOT NULL DEFAULT 0,
    is_backend_local INTEGER NOT NULL DEFAULT 0,
    has_plan         INTEGER NOT NULL DEFAULT 0,

    worker_id        TEXT    NOT NULL DEFAULT '',
    held_by          TEXT    NOT NULL DEFAULT '',
    claim_key        TEXT    NOT NULL DEFAULT '',
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    cancel_reason    TEXT    NOT NULL DEFAULT '',
    losses           INTEGER NOT NULL DEFAULT 0,
    max_step         INTEGER NOT NULL DEFAULT 0,

    spec             TEXT    NOT NULL,
    state            TEXT,
    metadata         TEXT    NOT NULL DEFAULT '{}',
    progress         TEXT    NOT NULL DEFAULT '{}',
    result           TEXT,
    error_message    TEXT    NOT NULL DEFAULT '',
    error            TEXT,
    retry_of         TEXT,
    reason           TEXT    NOT NULL DEFAULT '', -- why it was last given back
    ended_by         TEXT    NOT NULL DEFAULT '', -- the input that ended it; empty while it has not ended
    ending           TEXT,                        -- how a parent ends once its last open child has

    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    claimed_at       INTEGER,
    heartbeat_at     INTEGER,
    completed_at     INTEGER,

    ckpt_id          TEXT,
    ckpt_type        TEXT,
    ckpt_epoch       INTEGER,
    ckpt_seq         INTEGER,
    ckpt_step        INTEGER,
    ckpt_size        INTEGER,
    ckpt_at          INTEGER,

    CHECK (status NOT IN ('RUNNING', 'PENDING_RECONCILIATION') OR heartbeat_at IS NOT NULL),
    CHECK ((status = 'COMPLETED' OR status = 'FAILED' OR status = 'CANCELLED') = (completed_at IS NOT NULL))
) STRICT;

CREATE INDEX operations_page     ON operations (created_at, id);
CREATE INDEX operations_type     ON operations (operation_type, created_at, id);
CREATE INDEX operations_active   ON operations (created_at, id) WHERE status IN ('PENDING', 'RUNNING', 'PENDING_RECONCILIATION');
CREATE INDEX operations_stopped  ON operations (created_at, id) WHERE status IN ('FAILED', 'CANCELLED');
CREATE INDEX operations_children ON operations (parent_id, ordinal, id) WHERE parent_id IS NOT NULL;
CREATE INDEX operations_counts   ON operations (operation_type, status);
CREATE INDEX operations_live     ON operations (id, worker_id) WHERE status IN ('RUNNING', 'PENDING_RECONCILIATION');
CREATE INDEX operations_queue    ON operations (operation_type, priority DESC, root_created_at, id, is_backend_local)
    WHERE status = 'PENDING' AND has_plan = 0;
CREATE UNIQUE INDEX operations_claim ON operations (worker_id, claim_key)
    WHERE status IN ('RUNNING', 'PENDING_RECONCILIATION') AND claim_key <> '';

CREATE TABLE workers (
    id            TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    types         TEXT    NOT NULL,
    slots         INTEGER NOT NULL,
    held_by       TEXT    NOT NULL,
    host          TEXT    NOT NULL,
    pid           INTEGER NOT NULL,
    version       TEXT    NOT NULL,
    registered_at INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL
) STRICT;

CREATE TABLE backends (
    incarnation TEXT    NOT NULL PRIMARY KEY,
    id          TEXT    NOT NULL,
    addr        TEXT    NOT NULL,
    host        TEXT    NOT NULL,
    pid         INTEGER NOT NULL,
    version     TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
    key          TEXT    NOT NULL PRIMARY KEY,
    body         TEXT    NOT NULL,
    operation_id TEXT    NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    hash       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

-- tx orders events on PostgreSQL; here one writer makes id enough. only_once
-- holds what an event must not be repeated for.
CREATE TABLE events (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    tx           INTEGER NOT NULL DEFAULT 0,
    operation_id TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    data         TEXT    NOT NULL,
    only_once    TEXT
) STRICT;

CREATE INDEX events_operation ON events (operation_id, id);
CREATE UNIQUE INDEX events_once ON events (operation_id, epoch, only_once) WHERE only_once IS NOT NULL;

-- The guards: what no statement may do, not even a mistaken one of our own.

-- +goose StatementBegin
CREATE TRIGGER operations_insert BEFORE INSERT ON operations
WHEN (NEW.status <> 'PENDING' OR NEW.epoch <> 0)
    AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'operations: a new operation is PENDING at epoch 0');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER operations_transition BEFORE UPDATE OF status ON operations
WHEN OLD.status <> NEW.status AND NOT (
-- transitions
        (OLD.status = 'PENDING' AND (NEW.status = 'RUNNING' OR NEW.status = 'CANCELLED'))
        OR (OLD.status = 'RUNNING' AND (NEW.status = 'PENDING' OR NEW.status = 'PENDING_RECONCILIATION' OR NEW.status = 'COMPLETED' OR NEW.status = 'FAILED' OR NEW.status = 'CANCELLED'))
        OR (OLD.status = 'PENDING_RECONCILIATION' AND (NEW.status = 'PENDING' OR NEW.status = 'RUNNING' OR NEW.status = 'COMPLETED' OR NEW.status = 'FAILED' OR NEW.status = 'CANCELLED'))
        OR (OLD.status = 'FAILED' AND (NEW.status = 'PENDING'))
        OR (OLD.status = 'CANCELLED' AND (NEW.status = 'PENDING'))
-- end of transitions
    ) AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'operations: no transition leads from the old status to the new one');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER operations_epoch BEFORE UPDATE OF status, epoch ON operations
WHEN NEW.epoch <> OLD.epoch + CASE WHEN OLD.status = 'PENDING' AND NEW.status = 'RUNNING' THEN 1 ELSE 0 END
    AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'operations: a claim mints the next epoch and nothing else changes it');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER operations_identity
BEFORE UPDATE OF id, operation_type, spec, parent_id, root_id, root_created_at, depth, has_plan, is_backend_local, created_at ON operations
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'operations: what an operation is cannot be changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER operations_delete BEFORE DELETE ON operations
WHEN OLD.status IN ('RUNNING', 'PENDING_RECONCILIATION')
    AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'operations: a live operation cannot be deleted');
END;
-- +goose StatementEnd

-- The log: every transition tells of itself. json_patch drops the nulls.

-- +goose StatementBegin
CREATE TRIGGER operations_created AFTER INSERT ON operations
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    INSERT INTO events (operation_id, kind, at, epoch, data)
    VALUES (NEW.id, 'created', NEW.created_at, NEW.epoch,
        json_patch('{}', json_object(
            'to', NEW.status,
            'operation_type', NEW.operation_type,
            'parent_operation_id', NEW.parent_id,
            'retry_of', NEW.retry_of)));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER operations_moved AFTER UPDATE OF status ON operations
WHEN OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    INSERT INTO events (operation_id, kind, at, epoch, data)
    VALUES (NEW.id,
        CASE
            WHEN NEW.status = 'RUNNING' AND OLD.status = 'PENDING' THEN 'claimed'
            WHEN NEW.status = 'RUNNING' THEN 'reported'
            WHEN NEW.status = 'PENDING_RECONCILIATION' THEN 'reconciling'
            WHEN NEW.status = 'PENDING' AND OLD.status IN ('FAILED', 'CANCELLED') THEN 'resumed'
            WHEN NEW.status = 'PENDING' THEN 'released'
            ELSE lower(NEW.status)
        END,
        CAST(unixepoch('subsec') * 1000000 AS INTEGER), NEW.epoch,
        json_patch('{}', json_object(
            'from', OLD.status,
            'to', NEW.status,
            'worker_id', NULLIF(NEW.worker_id, ''),
            'attempts', NEW.attempts,
            'phase', NULLIF(NEW.phase, ''),
            'by', NULLIF(NEW.ended_by, ''),
            'reason', CASE WHEN NEW.status = 'PENDING' THEN NULLIF(NEW.reason, '') END,
            'error_message', NULLIF(NEW.error_message, ''),
            'code', NEW.error ->> '$.code')));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER operations_cancel_requested AFTER UPDATE OF cancel_requested ON operations
WHEN OLD.cancel_requested = 0 AND NEW.cancel_requested = 1
    AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    INSERT INTO events (operation_id, kind, at, epoch, data)
    VALUES (NEW.id, 'cancel_requested', CAST(unixepoch('subsec') * 1000000 AS INTEGER), NEW.epoch,
        json_patch('{}', json_object('status', NEW.status, 'reason', NULLIF(NEW.cancel_reason, ''))));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER operations_phase AFTER UPDATE OF phase ON operations
WHEN OLD.phase <> NEW.phase AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    INSERT INTO events (operation_id, kind, at, epoch, data)
    VALUES (NEW.id, 'phase', CAST(unixepoch('subsec') * 1000000 AS INTEGER), NEW.epoch,
        json_object('from', OLD.phase, 'to', NEW.phase));
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE operations;
DROP TABLE events;
DROP TABLE tokens;
DROP TABLE idempotency;
DROP TABLE backends;
DROP TABLE workers;
DROP TABLE meta;
