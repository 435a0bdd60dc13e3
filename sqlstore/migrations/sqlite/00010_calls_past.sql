-- +goose Up

-- What is left of calls that are no longer kept one by one: their sums, by
-- research, UTC day, model and how they ended. A call that is deleted goes
-- there by itself, so that what was paid stays in the journal whoever deletes.
CREATE TABLE llm_spent (
    root_id       TEXT NOT NULL,
    day           INTEGER NOT NULL, -- when it began
    model         TEXT NOT NULL,
    status        TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    charged       INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,

    PRIMARY KEY (root_id, day, model, status)
) STRICT;

CREATE INDEX llm_spent_day ON llm_spent (day, charged, calls);

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

-- +goose StatementBegin
CREATE TRIGGER llm_spent_delete BEFORE DELETE ON llm_spent
BEGIN
    SELECT RAISE(ABORT, 'llm_spent: what was paid stays in the journal');
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER llm_calls_delete;
DROP TABLE llm_spent;

-- +goose StatementBegin
CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls
BEGIN
    SELECT RAISE(ABORT, 'llm_calls: what was paid stays in the journal');
END;
-- +goose StatementEnd
