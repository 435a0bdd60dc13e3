-- +goose Up

-- Whether a backend died while it ran the operation in process. Compute work
-- runs in a child process from then on, so that what kills a process does not
-- kill the next backend too.
ALTER TABLE operations ADD COLUMN backend_died INTEGER NOT NULL DEFAULT 0;

-- +goose Down

-- SQLite reads every trigger when a column is dropped, and cannot read this one.
DROP TRIGGER llm_calls_delete;
ALTER TABLE operations DROP COLUMN backend_died;

-- +goose StatementBegin
CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls
BEGIN
    INSERT INTO llm_spent AS s (root_id, day, model, status, calls, charged, input_tokens, output_tokens)
    SELECT OLD.root_id, OLD.at - OLD.at % 86400000000, OLD.model, OLD.status, 1, OLD.charged, OLD.input_tokens, OLD.output_tokens
    WHERE OLD.error <> 'no model could be asked'
    ON CONFLICT (root_id, day, model, status) DO UPDATE SET calls = s.calls + 1, charged = s.charged + EXCLUDED.charged,
        input_tokens = s.input_tokens + EXCLUDED.input_tokens, output_tokens = s.output_tokens + EXCLUDED.output_tokens;
END;
-- +goose StatementEnd
