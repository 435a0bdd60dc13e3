-- +goose Up

-- The examination of a finalist, and what it came to: robust, fragile, too_few_bars,
-- too_long or failed. Trials of earlier generations have none.
ALTER TABLE trials ADD COLUMN examination_id TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN examined       TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE trials DROP COLUMN examined;
ALTER TABLE trials DROP COLUMN examination_id;
