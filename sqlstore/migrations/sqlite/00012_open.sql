-- +goose Up

-- Whether an operation has ended is asked of completed_at: a claim, which
-- changes the status of what stays open, then has nothing to do in these
-- indexes.
DROP INDEX operations_active;
DROP INDEX operations_run;
DROP INDEX operations_ended;
CREATE INDEX operations_active ON operations (created_at, id) WHERE completed_at IS NULL;
CREATE INDEX operations_run    ON operations (run, generation) WHERE run <> '' AND completed_at IS NULL;
CREATE INDEX operations_ended  ON operations (queue, session) WHERE queue <> '' AND completed_at IS NOT NULL;

-- +goose Down
DROP INDEX operations_active;
DROP INDEX operations_run;
DROP INDEX operations_ended;
CREATE INDEX operations_active ON operations (created_at, id) WHERE status IN ('PENDING', 'RUNNING', 'PENDING_RECONCILIATION');
CREATE INDEX operations_run    ON operations (run, generation) WHERE run <> '' AND status IN ('PENDING', 'RUNNING', 'PENDING_RECONCILIATION');
CREATE INDEX operations_ended  ON operations (queue, session) WHERE queue <> '' AND status IN ('COMPLETED', 'FAILED', 'CANCELLED');
