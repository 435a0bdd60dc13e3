-- +goose Up

-- The codes of the checks for which a gate stopped a trial, separated by blanks.
-- Trials that ended earlier have none.
ALTER TABLE trials ADD COLUMN stopped_by TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE trials DROP COLUMN stopped_by;
