-- +goose Up

-- Whether prices were made up by a program: 1, 0, or NULL where that is not known.
-- A trial and a run carry what was known when they were created.
ALTER TABLE bars   ADD COLUMN made_up BIGINT CHECK (made_up IN (0, 1));
ALTER TABLE trials ADD COLUMN made_up BIGINT CHECK (made_up IN (0, 1));
ALTER TABLE runs   ADD COLUMN made_up BIGINT CHECK (made_up IN (0, 1));

-- Imported files may have been appended to a series that was made up. What was
-- resampled or renamed does not tell.
UPDATE bars SET made_up = 1 WHERE origin = 'synth';
UPDATE bars SET made_up = 0 WHERE origin = 'file' AND NOT EXISTS (
    SELECT 1 FROM bars AS other WHERE other.symbol = bars.symbol AND other.timeframe = bars.timeframe AND other.origin <> 'file');

-- +goose Down
ALTER TABLE runs   DROP COLUMN made_up;
ALTER TABLE trials DROP COLUMN made_up;
ALTER TABLE bars   DROP COLUMN made_up;
