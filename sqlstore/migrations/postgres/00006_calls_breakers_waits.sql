-- +goose Up

-- An operation that was given back for later: nobody may claim it before.
ALTER TABLE operations ADD COLUMN not_before BIGINT CHECK (not_before IS NULL OR status = 'PENDING');

DROP INDEX operations_queue;
CREATE INDEX operations_queue ON operations (operation_type, priority DESC, root_created_at, id, is_backend_local, not_before)
    WHERE status = 'PENDING' AND has_plan = 0;

-- Every call to a model. Charged, in millionths of a dollar, is what it can
-- cost until it is settled and what it cost from then on; a call belongs to the
-- day on which it was reserved. Whoever reserves holds the row of meta that is
-- named calls until the transaction ends: what two of them found left of a
-- budget is not the same money, and the ids are in the order of the commits.
CREATE TABLE llm_calls (
    id            BIGINT NOT NULL PRIMARY KEY,
    root_id       TEXT COLLATE "C" NOT NULL,
    operation_id  TEXT COLLATE "C" NOT NULL,
    epoch         BIGINT NOT NULL,
    key           TEXT COLLATE "C" NOT NULL,
    model         TEXT   NOT NULL,
    status        TEXT COLLATE "C" NOT NULL CHECK (status IN ('reserved', 'answered', 'failed')),
    charged       BIGINT NOT NULL CHECK (charged >= 0),
    input_tokens  BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    error         TEXT   NOT NULL DEFAULT '',
    at            BIGINT NOT NULL,
    settled_at    BIGINT,
    answer        TEXT,

    CHECK ((status = 'reserved') = (settled_at IS NULL)),
    CHECK ((status = 'answered') = (answer IS NOT NULL))
);

CREATE INDEX llm_calls_key  ON llm_calls (root_id, key, status);
CREATE INDEX llm_calls_root ON llm_calls (root_id, id, charged);
CREATE INDEX llm_calls_day  ON llm_calls (at, charged);

-- +goose StatementBegin
CREATE FUNCTION llm_calls_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'llm_calls: %', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER llm_calls_update BEFORE UPDATE ON llm_calls FOR EACH ROW
WHEN (OLD.status <> 'reserved' OR NEW.status = 'reserved' OR NEW.id <> OLD.id OR NEW.root_id <> OLD.root_id
    OR NEW.operation_id <> OLD.operation_id OR NEW.epoch <> OLD.epoch OR NEW.key <> OLD.key
    OR NEW.model <> OLD.model OR NEW.at <> OLD.at)
EXECUTE FUNCTION llm_calls_refuse('a call is settled once, and nothing else of it changes');

CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls FOR EACH ROW
EXECUTE FUNCTION llm_calls_refuse('what was paid stays in the journal');

-- Circuit breakers, and how each got where it is.
CREATE TABLE breakers (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('CLOSED', 'OPEN', 'HALF_OPEN')),
    forced     TEXT    NOT NULL,
    retry_at   BIGINT,
    trips      BIGINT  NOT NULL,
    held       INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    changed_by TEXT    NOT NULL,
    changed_at BIGINT  NOT NULL,
    version    BIGINT  NOT NULL
);

CREATE TABLE breaker_history (
    name       TEXT COLLATE "C" NOT NULL,
    version    BIGINT NOT NULL,
    from_state TEXT   NOT NULL,
    to_state   TEXT   NOT NULL,
    reason     TEXT   NOT NULL,
    changed_by TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    detail     TEXT,

    PRIMARY KEY (name, version)
);

CREATE INDEX breaker_history_at ON breaker_history (at, name, version);

-- +goose Down
DROP TABLE breaker_history;
DROP TABLE breakers;
DROP TABLE llm_calls;
DROP FUNCTION llm_calls_refuse();
DROP INDEX operations_queue;
ALTER TABLE operations DROP COLUMN not_before;
CREATE INDEX operations_queue ON operations (operation_type, priority DESC, root_created_at, id, is_backend_local)
    WHERE status = 'PENDING' AND has_plan = 0;
