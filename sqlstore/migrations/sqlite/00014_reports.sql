-- +goose Up

-- When a market was last tried or looked at. A report counts the markets of a
-- span by it.
ALTER TABLE markets ADD COLUMN tried_at INTEGER NOT NULL DEFAULT 0;
UPDATE markets SET tried_at = COALESCE((SELECT MAX(created_at) FROM trials WHERE market_id = markets.id), created_at);

-- When a trial ended, so that the best of a span are found; and whether the
-- program did itself what a model was asked for.
ALTER TABLE trials ADD COLUMN ended_at INTEGER;
ALTER TABLE trials ADD COLUMN unaided  INTEGER NOT NULL DEFAULT 0;
UPDATE trials SET ended_at = (SELECT o.completed_at FROM operations AS o WHERE o.id = trials.operation_id) WHERE ended = 1;
UPDATE trials SET unaided = 1 WHERE ended = 1 AND EXISTS (SELECT 1 FROM operations AS o
    WHERE o.id = trials.operation_id AND o.result LIKE '%"instead":["%');
DROP INDEX trials_best;
DROP INDEX trials_best_run;
CREATE INDEX trials_best     ON trials (market_id, score DESC, sharpe DESC, created_at, key, ended_at) WHERE main = 1 AND ended = 1;
CREATE INDEX trials_best_run ON trials (run, market_id, score DESC, sharpe DESC, created_at, key, ended_at) WHERE main = 1 AND ended = 1;
CREATE INDEX trials_unaided  ON trials (run, ended_at) WHERE main = 1 AND unaided = 1;

CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;

-- What ended, by when. It holds all that a report counts; the parent, which it
-- has not, is there because SQLite would look it up.
CREATE INDEX operations_done ON operations (completed_at, operation_type, status, rung, parent_id)
    WHERE parent_id IS NULL AND completed_at IS NOT NULL;
CREATE INDEX operations_failures ON operations (run, completed_at)
    WHERE run <> '' AND parent_id IS NULL AND status = 'FAILED';

-- The few events that tell of processes, among very many others.
CREATE INDEX events_machine ON events (at) WHERE kind IN ('worker_registered', 'failed', 'released', 'reported', 'resumed', 'checkpoint_skipped', 'write_refused', 'breaker', 'paused', 'unpaused');

-- Why an operation went back to PENDING: release, wait or recovery. The event of
-- an end now says of what type the operation is, and what a research came to.
ALTER TABLE operations ADD COLUMN released_by TEXT NOT NULL DEFAULT '';
DROP TRIGGER operations_moved;

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
            'operation_type', CASE WHEN NEW.completed_at IS NOT NULL THEN NEW.operation_type END,
            'rung', CASE WHEN NEW.completed_at IS NOT NULL THEN NULLIF(NEW.rung, '') END,
            'worker_id', NULLIF(NEW.worker_id, ''),
            'attempts', NEW.attempts,
            'phase', NULLIF(NEW.phase, ''),
            'by', CASE WHEN NEW.status = 'PENDING' THEN CASE WHEN OLD.status NOT IN ('FAILED', 'CANCELLED') THEN NULLIF(NEW.released_by, '') END
                ELSE NULLIF(NEW.ended_by, '') END,
            'reason', CASE WHEN NEW.status = 'PENDING' THEN NULLIF(NEW.reason, '') END,
            'error_message', NULLIF(NEW.error_message, ''),
            'code', NEW.error ->> '$.code')));
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER operations_moved;

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
DROP INDEX events_machine;
DROP INDEX operations_failures;
DROP INDEX operations_done;
DROP INDEX runs_ended;
DROP INDEX trials_unaided;
DROP INDEX trials_best_run;
DROP INDEX trials_best;

-- SQLite reads every trigger when a column is dropped, and cannot read this one.
DROP TRIGGER llm_calls_delete;
ALTER TABLE operations DROP COLUMN released_by;
ALTER TABLE trials DROP COLUMN unaided;
ALTER TABLE trials DROP COLUMN ended_at;
ALTER TABLE markets DROP COLUMN tried_at;
CREATE INDEX trials_best      ON trials (market_id, score DESC, sharpe DESC, created_at, key) WHERE main = 1 AND ended = 1;
CREATE INDEX trials_best_run  ON trials (run, market_id, score DESC, sharpe DESC, created_at, key) WHERE main = 1 AND ended = 1;

-- +goose StatementBegin
CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls
BEGIN
    INSERT INTO llm_spent AS s (root_id, day, model, status, calls, charged, input_tokens, output_tokens)
    SELECT OLD.root_id, OLD.at - OLD.at % 86400000000, OLD.model, OLD.status, 1, OLD.charged, OLD.input_tokens, OLD.output_tokens
    WHERE OLD.error <> 'no model could be asked'
    ON CONFLICT (root_id, day, model, status) DO UPDATE SET calls = s.calls + 1, charged = s.charged + EXCLUDED.charged,
        input_tokens = s.input_tokens + EXCLUDED.input_tokens, output_tokens = s.output_tokens + EXCLUDED.output_tokens;
END;
-- +goose StatementEnd
