-- +goose Up

-- The result of a compacted operation, deflated; result is NULL then.
ALTER TABLE operations ADD COLUMN packed BYTEA;

-- +goose Down
ALTER TABLE operations DROP COLUMN packed;
