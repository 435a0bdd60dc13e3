-- +goose Up

-- The W3C traceparent of the request that created the operation; children have
-- their parent's. NULL where no request was traced.
ALTER TABLE operations ADD COLUMN trace TEXT;

-- +goose Down
ALTER TABLE operations DROP COLUMN trace;
