-- +goose Up

-- A transaction pays for every page that it changes, and an index is a page.

-- Whether an operation has ended is asked of completed_at: a claim, which
-- changes the status of what stays open, then has nothing to do in these
-- indexes. What is open is counted one by one; completed_at is in the index of
-- the others only because SQLite would look it up.
DROP INDEX operations_active;
DROP INDEX operations_run;
DROP INDEX operations_ended;
DROP INDEX operations_counts;
CREATE INDEX operations_active ON operations (created_at, id) WHERE completed_at IS NULL;
CREATE INDEX operations_run    ON operations (run, generation) WHERE run <> '' AND completed_at IS NULL;
CREATE INDEX operations_ended  ON operations (queue, session) WHERE queue <> '' AND completed_at IS NOT NULL;
CREATE INDEX operations_counts ON operations (operation_type, status, completed_at) WHERE completed_at IS NOT NULL;

-- A page of one type passes over the others without looking at their rows.
DROP INDEX operations_page;
DROP INDEX operations_type;
CREATE INDEX operations_page ON operations (created_at, id, operation_type);

-- The end of an operation's id begins with the second in which it was made.
-- Under it the events of what is at work are neighbours, whatever their types.
DROP INDEX events_operation;
CREATE INDEX events_operation ON events (substr(operation_id, -24), id);

-- +goose Down
DROP INDEX events_operation;
CREATE INDEX events_operation ON events (operation_id, id);
DROP INDEX operations_page;
CREATE INDEX operations_page ON operations (created_at, id);
CREATE INDEX operations_type ON operations (operation_type, created_at, id);

DROP INDEX operations_active;
DROP INDEX operations_run;
DROP INDEX operations_ended;
DROP INDEX operations_counts;
CREATE INDEX operations_active ON operations (created_at, id) WHERE status IN ('PENDING', 'RUNNING', 'PENDING_RECONCILIATION');
CREATE INDEX operations_run    ON operations (run, generation) WHERE run <> '' AND status IN ('PENDING', 'RUNNING', 'PENDING_RECONCILIATION');
CREATE INDEX operations_ended  ON operations (queue, session) WHERE queue <> '' AND status IN ('COMPLETED', 'FAILED', 'CANCELLED');
CREATE INDEX operations_counts ON operations (operation_type, status);
