-- +goose Up

-- What is left of calls that are no longer kept one by one: their sums, by
-- research, UTC day, model and how they ended. A call that is deleted goes
-- there by itself, so that what was paid stays in the journal whoever deletes.
CREATE TABLE llm_spent (
    root_id       TEXT COLLATE "C" NOT NULL,
    day           BIGINT NOT NULL, -- when it began
    model         TEXT COLLATE "C" NOT NULL,
    status        TEXT COLLATE "C" NOT NULL,
    calls         BIGINT NOT NULL,
    charged       BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,

    PRIMARY KEY (root_id, day, model, status)
);

CREATE INDEX llm_spent_day ON llm_spent (day, charged, calls);

DROP TRIGGER llm_calls_delete ON llm_calls;

-- +goose StatementBegin
CREATE FUNCTION llm_calls_add() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO llm_spent AS s (root_id, day, model, status, calls, charged, input_tokens, output_tokens)
    SELECT OLD.root_id, OLD.at - OLD.at % 86400000000, OLD.model, OLD.status, 1, OLD.charged, OLD.input_tokens, OLD.output_tokens
    WHERE OLD.error <> 'no model could be asked'
    ON CONFLICT (root_id, day, model, status) DO UPDATE SET calls = s.calls + 1, charged = s.charged + EXCLUDED.charged,
        input_tokens = s.input_tokens + EXCLUDED.input_tokens, output_tokens = s.output_tokens + EXCLUDED.output_tokens;
    RETURN OLD;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls FOR EACH ROW EXECUTE FUNCTION llm_calls_add();

CREATE TRIGGER llm_spent_delete BEFORE DELETE ON llm_spent FOR EACH ROW
EXECUTE FUNCTION llm_calls_refuse('what was paid stays in the journal');

-- +goose Down
DROP TRIGGER llm_calls_delete ON llm_calls;
DROP FUNCTION llm_calls_add();
DROP TABLE llm_spent;
CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls FOR EACH ROW
EXECUTE FUNCTION llm_calls_refuse('what was paid stays in the journal');
