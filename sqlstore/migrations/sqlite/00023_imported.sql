-- +goose Up

-- The result of an import, written in the transaction that adds its bars. An
-- import that is run again answers with it and changes nothing.
ALTER TABLE operations ADD COLUMN imported TEXT;

-- +goose Down
ALTER TABLE operations DROP COLUMN imported;
