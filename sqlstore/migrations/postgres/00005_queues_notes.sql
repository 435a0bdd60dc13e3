-- +goose Up

-- Parents that wait for their turn, and the number that each got when it came.
-- Whoever moves a line holds the row of meta that is named after it, whoever
-- gives a number the row named sessions, and whoever notes the row named notes.
ALTER TABLE operations ADD COLUMN queue      TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN run        TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN idx        BIGINT NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN session    BIGINT CHECK ((session IS NULL) = (queue = ''));

CREATE UNIQUE INDEX operations_session ON operations (session) WHERE session IS NOT NULL;
CREATE INDEX operations_line    ON operations (queue, priority DESC, session) WHERE queue <> '' AND status = 'PENDING';
CREATE INDEX operations_started ON operations (queue) WHERE queue <> '' AND status IN ('RUNNING', 'PENDING_RECONCILIATION');
CREATE INDEX operations_run     ON operations (run, generation) WHERE run <> '' AND status IN ('PENDING', 'RUNNING', 'PENDING_RECONCILIATION');

CREATE TRIGGER operations_place BEFORE UPDATE OF queue, run, generation, idx, session ON operations FOR EACH ROW
EXECUTE FUNCTION operations_refuse('where an operation stands in its queue cannot be changed');

-- What plans want remembered. Ids are given under a lock that is held until the
-- transaction ends: whoever sees a note sees every note with a lower id, for
-- ever, and also where a backup of it is restored.
CREATE TABLE notes (
    id           BIGINT NOT NULL PRIMARY KEY,
    kind         TEXT COLLATE "C" NOT NULL,
    key          TEXT COLLATE "C" NOT NULL,
    run          TEXT COLLATE "C" NOT NULL,
    generation   BIGINT NOT NULL,
    idx          BIGINT NOT NULL,
    operation_id TEXT COLLATE "C" NOT NULL,
    at           BIGINT NOT NULL,
    data         TEXT NOT NULL,

    UNIQUE (kind, key)
);

CREATE INDEX notes_kind      ON notes (kind, id);
CREATE INDEX notes_operation ON notes (operation_id, id);
CREATE INDEX notes_place     ON notes (kind, generation, idx, key);
CREATE INDEX notes_run       ON notes (run, generation, idx, kind, key);

-- +goose StatementBegin
CREATE FUNCTION notes_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'notes: what was noted cannot be changed' USING ERRCODE = 'integrity_constraint_violation';
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER notes_append_only BEFORE UPDATE OR DELETE ON notes FOR EACH ROW
EXECUTE FUNCTION notes_refuse();

-- +goose Down
DROP TABLE notes;
DROP FUNCTION notes_refuse();
DROP TRIGGER operations_place ON operations;
DROP INDEX operations_run;
DROP INDEX operations_started;
DROP INDEX operations_line;
DROP INDEX operations_session;
ALTER TABLE operations DROP COLUMN session;
ALTER TABLE operations DROP COLUMN idx;
ALTER TABLE operations DROP COLUMN generation;
ALTER TABLE operations DROP COLUMN run;
ALTER TABLE operations DROP COLUMN queue;
