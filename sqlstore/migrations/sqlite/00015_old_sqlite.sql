-- +goose Up

-- The trigger of 00010 gave the table of its INSERT an alias. The sqlite3 of
-- Debian 12 (3.40) cannot read that in a trigger, and then opens nothing of the
-- file. This is the same trigger without the alias.
DROP TRIGGER llm_calls_delete;

-- +goose StatementBegin
CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls
BEGIN
    INSERT INTO llm_spent (root_id, day, model, status, calls, charged, input_tokens, output_tokens)
    SELECT OLD.root_id, OLD.at - OLD.at % 86400000000, OLD.model, OLD.status, 1, OLD.charged, OLD.input_tokens, OLD.output_tokens
    WHERE OLD.error <> 'no model could be asked'
    ON CONFLICT (root_id, day, model, status) DO UPDATE SET calls = calls + 1, charged = charged + EXCLUDED.charged,
        input_tokens = input_tokens + EXCLUDED.input_tokens, output_tokens = output_tokens + EXCLUDED.output_tokens;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER llm_calls_delete;

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
