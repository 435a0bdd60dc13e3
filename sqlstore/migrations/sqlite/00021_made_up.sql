-- +goose Up

-- Whether prices were made up by a program: 1, 0, or NULL where that is not known.
-- A trial and a run carry what was known when they were created.
ALTER TABLE bars   ADD COLUMN made_up INTEGER CHECK (made_up IN (0, 1));
ALTER TABLE trials ADD COLUMN made_up INTEGER CHECK (made_up IN (0, 1));
ALTER TABLE runs   ADD COLUMN made_up INTEGER CHECK (made_up IN (0, 1));

-- Imported files may have been appended to a series that was made up. What was
-- resampled or renamed does not tell.
UPDATE bars SET made_up = 1 WHERE origin = 'synth';
UPDATE bars SET made_up = 0 WHERE origin = 'file' AND NOT EXISTS (
    SELECT 1 FROM bars AS other WHERE other.symbol = bars.symbol AND other.timeframe = bars.timeframe AND other.origin <> 'file');

-- +goose Down

-- SQLite reads every trigger when a column is dropped, and cannot read this one
-- as migration 00010 wrote it.
DROP TRIGGER llm_calls_delete;
ALTER TABLE runs   DROP COLUMN made_up;
ALTER TABLE trials DROP COLUMN made_up;
ALTER TABLE bars   DROP COLUMN made_up;

-- +goose StatementBegin
CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls
BEGIN
    INSERT INTO llm_spent (root_id, day, model, status, calls, charged, input_tokens, output_tokens)
    SELECT OLD.root_id, OLD.at - OLD.at % 86400000000, OLD.model, OLD.status, 1, OLD.charged, OLD.input_tokens, OLD.output_tokens
    WHERE OLD.error <> 'no model could be asked'
    ON CONFLICT (root_id, day, model, status) DO UPDATE SET calls = llm_spent.calls + 1, charged = llm_spent.charged + EXCLUDED.charged,
        input_tokens = llm_spent.input_tokens + EXCLUDED.input_tokens, output_tokens = llm_spent.output_tokens + EXCLUDED.output_tokens;
END;
-- +goose StatementEnd
