-- +goose Up

-- When the last reported step was another than the one before: what beats but
-- does not move is shown.
ALTER TABLE operations ADD COLUMN last_step BIGINT NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN moved_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE operations DROP COLUMN moved_at;
ALTER TABLE operations DROP COLUMN last_step;
