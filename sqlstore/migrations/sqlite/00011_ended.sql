-- +goose Up

-- Who has left a queue, the newest first: a status shows some of them, and
-- before them in the table may stand thousands who wait.
CREATE INDEX operations_ended ON operations (queue, session) WHERE queue <> '' AND status IN ('COMPLETED', 'FAILED', 'CANCELLED');

-- +goose Down
DROP INDEX operations_ended;
