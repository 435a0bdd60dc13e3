-- +goose Up

-- What the operation of a trial is, and what a trial that ended came to. Neither
-- changes any more, so that a figure of all trials need not look up every
-- operation: their rows are large.
ALTER TABLE trials ADD COLUMN operation_type TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN rung           TEXT NOT NULL DEFAULT '';
UPDATE trials SET
    operation_type = COALESCE((SELECT o.operation_type FROM operations AS o WHERE o.id = trials.operation_id), ''),
    rung           = COALESCE((SELECT o.rung FROM operations AS o WHERE o.id = trials.operation_id AND trials.ended = 1), '');

-- +goose Down
ALTER TABLE trials DROP COLUMN rung;
ALTER TABLE trials DROP COLUMN operation_type;
