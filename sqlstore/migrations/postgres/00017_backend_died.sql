-- +goose Up

-- Whether a backend died while it ran the operation in process. Compute work
-- runs in a child process from then on, so that what kills a process does not
-- kill the next backend too.
ALTER TABLE operations ADD COLUMN backend_died INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE operations DROP COLUMN backend_died;
