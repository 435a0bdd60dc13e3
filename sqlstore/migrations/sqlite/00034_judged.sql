-- +goose Up

-- How the prices of a series were read (JSON; NULL: not recorded), what is doubtful
-- in its content (a JSON list; NULL: not judged yet), and which of that a person
-- accepts, with the name and the time (a JSON list; NULL: nothing).
ALTER TABLE bars ADD COLUMN record   TEXT;
ALTER TABLE bars ADD COLUMN findings TEXT;
ALTER TABLE bars ADD COLUMN accepted TEXT;

-- +goose Down
ALTER TABLE bars DROP COLUMN accepted;
ALTER TABLE bars DROP COLUMN findings;
ALTER TABLE bars DROP COLUMN record;
