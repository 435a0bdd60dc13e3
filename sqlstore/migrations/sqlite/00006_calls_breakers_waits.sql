-- +goose Up

-- An operation that was given back for later: nobody may claim it before.
ALTER TABLE operations ADD COLUMN not_before INTEGER CHECK (not_before IS NULL OR status = 'PENDING');

DROP INDEX operations_queue;
CREATE INDEX operations_queue ON operations (operation_type, priority DESC, root_created_at, id, is_backend_local, not_before)
    WHERE status = 'PENDING' AND has_plan = 0;

-- Every call to a model. Charged, in millionths of a dollar, is what it can
-- cost until it is settled and what it cost from then on; a call belongs to the
-- day on which it was reserved. Ids are given, and budgets checked, under a lock
-- that is held until the transaction ends. The answer comes last, so that who
-- sums up does not walk through it.
CREATE TABLE llm_calls (
    id            INTEGER NOT NULL PRIMARY KEY,
    root_id       TEXT    NOT NULL,
    operation_id  TEXT    NOT NULL,
    epoch         INTEGER NOT NULL,
    key           TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('reserved', 'answered', 'failed')),
    charged       INTEGER NOT NULL CHECK (charged >= 0),
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    error         TEXT    NOT NULL DEFAULT '',
    at            INTEGER NOT NULL,
    settled_at    INTEGER,
    answer        TEXT,

    CHECK ((status = 'reserved') = (settled_at IS NULL)),
    CHECK ((status = 'answered') = (answer IS NOT NULL))
) STRICT;

CREATE INDEX llm_calls_key  ON llm_calls (root_id, key, status);
CREATE INDEX llm_calls_root ON llm_calls (root_id, id, charged);
CREATE INDEX llm_calls_day  ON llm_calls (at, charged);

-- +goose StatementBegin
CREATE TRIGGER llm_calls_update BEFORE UPDATE ON llm_calls
WHEN OLD.status <> 'reserved' OR NEW.status = 'reserved' OR NEW.id <> OLD.id OR NEW.root_id <> OLD.root_id
    OR NEW.operation_id <> OLD.operation_id OR NEW.epoch <> OLD.epoch OR NEW.key <> OLD.key
    OR NEW.model <> OLD.model OR NEW.at <> OLD.at
BEGIN
    SELECT RAISE(ABORT, 'llm_calls: a call is settled once, and nothing else of it changes');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls
BEGIN
    SELECT RAISE(ABORT, 'llm_calls: what was paid stays in the journal');
END;
-- +goose StatementEnd

-- Circuit breakers, and how each got where it is.
CREATE TABLE breakers (
    name       TEXT    NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('CLOSED', 'OPEN', 'HALF_OPEN')),
    forced     TEXT    NOT NULL,
    retry_at   INTEGER,
    trips      INTEGER NOT NULL,
    held       INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    changed_by TEXT    NOT NULL,
    changed_at INTEGER NOT NULL,
    version    INTEGER NOT NULL
) STRICT;

CREATE TABLE breaker_history (
    name       TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    changed_by TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    detail     TEXT,

    PRIMARY KEY (name, version)
) STRICT;

CREATE INDEX breaker_history_at ON breaker_history (at, name, version);

-- +goose Down
DROP TABLE breaker_history;
DROP TABLE breakers;
DROP TABLE llm_calls;
DROP INDEX operations_queue;
ALTER TABLE operations DROP COLUMN not_before;
CREATE INDEX operations_queue ON operations (operation_type, priority DESC, root_created_at, id, is_backend_local)
    WHERE status = 'PENDING' AND has_plan = 0;
