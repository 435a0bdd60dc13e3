-- +goose Up

-- The result of a compacted operation, deflated; result is NULL then.
ALTER TABLE operations ADD COLUMN packed BLOB;

-- +goose Down
ALTER TABLE operations DROP COLUMN packed;
