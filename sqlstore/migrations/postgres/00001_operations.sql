-- +goose Up

-- meta holds the store's own settings: paused, blob_root, and restoring while
-- a backup is being loaded, which keeps the triggers below silent.
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Ids are compared as bytes, as in SQLite. The fill factor leaves room for
-- heartbeats to be written beside the row, without touching an index.
CREATE TABLE operations (
    id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    operation_type   TEXT COLLATE "C" NOT NULL,
    status           TEXT COLLATE "C" NOT NULL CHECK (status IN ('PENDING', 'RUNNING', 'PENDING_RECONCILIATION', 'COMPLETED', 'FAILED', 'CANCELLED')),
    phase            TEXT    NOT NULL DEFAULT '',
    epoch            BIGINT  NOT NULL DEFAULT 0,
    attempts         BIGINT  NOT NULL DEFAULT 0,
    priority         BIGINT  NOT NULL DEFAULT 0,

    parent_id        TEXT COLLATE "C",
    root_id          TEXT COLLATE "C" NOT NULL,
    root_created_at  BIGINT  NOT NULL, -- denormalised for the queue's order
    ordinal          BIGINT  NOT NULL DEFAULT 0,
    depth            BIGINT  NOT NULL DEFAULT 0,
    is_backend_local INTEGER NOT NULL DEFAULT 0,
    has_plan         INTEGER NOT NULL DEFAULT 0,

    worker_id        TEXT COLLATE "C" NOT NULL DEFAULT '',
    held_by          TEXT COLLATE "C" NOT NULL DEFAULT '',
    claim_key        TEXT COLLATE "C" NOT NULL DEFAULT '',
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    cancel_reason    TEXT    NOT NULL DEFAULT '',
    losses           BIGINT  NOT NULL DEFAULT 0,
    max_step         BIGINT  NOT NULL DEFAULT 0,

    spec             TEXT    NOT NULL,
    state            TEXT,
    metadata         TEXT    NOT NULL DEFAULT '{}',
    progress         TEXT    NOT NULL DEFAULT '{}',
    result           TEXT,
    error_message    TEXT    NOT NULL DEFAULT '',
    error            TEXT,
    retry_of         TEXT COLLATE "C",
    reason           TEXT    NOT NULL DEFAULT '', -- why it was last given back
    ended_by         TEXT    NOT NULL DEFAULT '', -- the input that ended it; empty while it has not ended
    ending           TEXT,                        -- how a parent ends once its last open child has

    created_at       BIGINT  NOT NULL,
    started_at       BIGINT,
    claimed_at       BIGINT,
    heartbeat_at     BIGINT,
    completed_at     BIGINT,

    ckpt_id          TEXT COLLATE "C",
    ckpt_type        TEXT,
    ckpt_epoch       BIGINT,
    ckpt_seq         BIGINT,
    ckpt_step        BIGINT,
    ckpt_size        BIGINT,
    ckpt_at          BIGINT,

    CHECK (status NOT IN ('RUNNING', 'PENDING_RECONCILIATION') OR heartbeat_at IS NOT NULL),
    CHECK ((status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL))
) WITH (fillfactor = 80);

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

CREATE TABLE idempotency (
    key          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    body         TEXT    NOT NULL,
    operation_id TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT  NOT NULL
);

CREATE TABLE tokens (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    scope      TEXT    NOT NULL,
    hash       TEXT    NOT NULL UNIQUE,
    created_at BIGINT  NOT NULL,
    revoked_at BIGINT
);

-- The order of ids is not the order of commits, and the order of transactions
-- is not that of their deeds: one that began first may have waited for others.
-- So tx is the newest transaction that had ended when the event was written,
-- or its own if that is newer: whatever an event could know of comes before it
-- in the order (tx, id), and whoever is still writing comes after the oldest
-- open transaction, where readers stop. only_once holds what an event must not
-- be repeated for.
CREATE TABLE events (
    id           BIGINT  GENERATED BY DEFAULT AS IDENTITY,
    tx           BIGINT  NOT NULL DEFAULT GREATEST(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1),
    operation_id TEXT COLLATE "C" NOT NULL,
    kind         TEXT    NOT NULL,
    at           BIGINT  NOT NULL,
    epoch        BIGINT  NOT NULL,
    data         TEXT    NOT NULL,
    only_once    TEXT,
    PRIMARY KEY (tx, id)
);

CREATE INDEX events_operation ON events (operation_id, tx, id);
CREATE UNIQUE INDEX events_once ON events (operation_id, epoch, only_once) WHERE only_once IS NOT NULL;

-- The guards: what no statement may do, not even a mistaken one of our own.

-- +goose StatementBegin
CREATE FUNCTION operations_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring') THEN
        RAISE EXCEPTION 'operations: %', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER operations_insert BEFORE INSERT ON operations FOR EACH ROW
WHEN (NEW.status <> 'PENDING' OR NEW.epoch <> 0)
EXECUTE FUNCTION operations_refuse('a new operation is PENDING at epoch 0');

CREATE TRIGGER operations_transition BEFORE UPDATE OF status ON operations FOR EACH ROW
WHEN (OLD.status <> NEW.status AND NOT (
-- transitions
        (OLD.status = 'PENDING' AND (NEW.status = 'RUNNING' OR NEW.status = 'CANCELLED'))
        OR (OLD.status = 'RUNNING' AND (NEW.status = 'PENDING' OR NEW.status = 'PENDING_RECONCILIATION' OR NEW.status = 'COMPLETED' OR NEW.status = 'FAILED' OR NEW.status = 'CANCELLED'))
        OR (OLD.status = 'PENDING_RECONCILIATION' AND (NEW.status = 'PENDING' OR NEW.status = 'RUNNING' OR NEW.status = 'COMPLETED' OR NEW.status = 'FAILED' OR NEW.status = 'CANCELLED'))
        OR (OLD.status = 'FAILED' AND (NEW.status = 'PENDING'))
        OR (OLD.status = 'CANCELLED' AND (NEW.status = 'PENDING'))
-- end of transitions
    ))
EXECUTE FUNCTION operations_refuse('no transition leads from the old status to the new one');

CREATE TRIGGER operations_epoch BEFORE UPDATE OF status, epoch ON operations FOR EACH ROW
WHEN (NEW.epoch <> OLD.epoch + CASE WHEN OLD.status = 'PENDING' AND NEW.status = 'RUNNING' THEN 1 ELSE 0 END)
EXECUTE FUNCTION operations_refuse('a claim mints the next epoch and nothing else changes it');

CREATE TRIGGER operations_identity
BEFORE UPDATE OF id, operation_type, spec, parent_id, root_id, root_created_at, depth, has_plan, is_backend_local, created_at ON operations
FOR EACH ROW
EXECUTE FUNCTION operations_refuse('what an operation is cannot be changed');

CREATE TRIGGER operations_delete BEFORE DELETE ON operations FOR EACH ROW
WHEN (OLD.status IN ('RUNNING', 'PENDING_RECONCILIATION'))
EXECUTE FUNCTION operations_refuse('a live operation cannot be deleted');

-- The log: every transition tells of itself.

-- +goose StatementBegin
CREATE FUNCTION operations_log(op TEXT, what TEXT, claim BIGINT, about JSON) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring') THEN
        INSERT INTO events (operation_id, kind, at, epoch, data)
        VALUES (op, what, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint, claim, json_strip_nulls(about)::text);
    END IF;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION operations_created() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM operations_log(NEW.id, 'created', NEW.epoch, json_build_object(
        'to', NEW.status,
        'operation_type', NEW.operation_type,
        'parent_operation_id', NEW.parent_id,
        'retry_of', NEW.retry_of));
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION operations_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM operations_log(NEW.id,
        CASE
            WHEN NEW.status = 'RUNNING' AND OLD.status = 'PENDING' THEN 'claimed'
            WHEN NEW.status = 'RUNNING' THEN 'reported'
            WHEN NEW.status = 'PENDING_RECONCILIATION' THEN 'reconciling'
            WHEN NEW.status = 'PENDING' AND OLD.status IN ('FAILED', 'CANCELLED') THEN 'resumed'
            WHEN NEW.status = 'PENDING' THEN 'released'
            ELSE lower(NEW.status)
        END,
        NEW.epoch, json_build_object(
            'from', OLD.status,
            'to', NEW.status,
            'worker_id', NULLIF(NEW.worker_id, ''),
            'attempts', NEW.attempts,
            'phase', NULLIF(NEW.phase, ''),
            'by', NULLIF(NEW.ended_by, ''),
            'reason', CASE WHEN NEW.status = 'PENDING' THEN NULLIF(NEW.reason, '') END,
            'error_message', NULLIF(NEW.error_message, ''),
            'code', NEW.error::json ->> 'code'));
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION operations_cancel_requested() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM operations_log(NEW.id, 'cancel_requested', NEW.epoch,
        json_build_object('status', NEW.status, 'reason', NULLIF(NEW.cancel_reason, '')));
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION operations_phase() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM operations_log(NEW.id, 'phase', NEW.epoch, json_build_object('from', OLD.phase, 'to', NEW.phase));
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER operations_created AFTER INSERT ON operations FOR EACH ROW
EXECUTE FUNCTION operations_created();

CREATE TRIGGER operations_moved AFTER UPDATE OF status ON operations FOR EACH ROW
WHEN (OLD.status <> NEW.status)
EXECUTE FUNCTION operations_moved();

CREATE TRIGGER operations_cancel_requested AFTER UPDATE OF cancel_requested ON operations FOR EACH ROW
WHEN (OLD.cancel_requested = 0 AND NEW.cancel_requested = 1)
EXECUTE FUNCTION operations_cancel_requested();

CREATE TRIGGER operations_phase AFTER UPDATE OF phase ON operations FOR EACH ROW
WHEN (OLD.phase <> NEW.phase)
EXECUTE FUNCTION operations_phase();

-- +goose Down
DROP TABLE operations;
DROP TABLE events;
DROP TABLE tokens;
DROP TABLE idempotency;
DROP TABLE backends;
DROP TABLE workers;
DROP TABLE meta;
DROP FUNCTION operations_phase();
DROP FUNCTION operations_cancel_requested();
DROP FUNCTION operations_moved();
DROP FUNCTION operations_created();
DROP FUNCTION operations_log(TEXT, TEXT, BIGINT, JSON);
DROP FUNCTION operations_refuse();
