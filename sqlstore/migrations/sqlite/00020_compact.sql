-- +goose Up

-- A compacted operation keeps its figures; its files and checkpoints are gone and
-- are computed again on demand. A pinned research is never compacted.
ALTER TABLE operations ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN pinned    INTEGER NOT NULL DEFAULT 0;

-- An earlier version computed these. This one may compute them differently.
UPDATE operations SET pinned = 1 WHERE queue <> '' AND completed_at IS NOT NULL;

CREATE INDEX operations_whole ON operations (id) WHERE compacted = 0;
CREATE INDEX operations_compactable ON operations (completed_at, id)
    WHERE queue <> '' AND compacted = 0 AND pinned = 0 AND rung <> 'finalist' AND completed_at IS NOT NULL;
CREATE INDEX checkpoints_naming ON checkpoints (thread_id, id)
    WHERE checkpoint_type IS NOT NULL AND (state_blob IS NOT NULL OR artifacts IS NOT NULL);

-- +goose Down
DROP INDEX checkpoints_naming;
DROP INDEX operations_compactable;
DROP INDEX operations_whole;

-- SQLite reads every trigger when a column is dropped, and cannot read this one
-- as migration 00010 wrote it.
DROP TRIGGER llm_calls_delete;
ALTER TABLE operations DROP COLUMN pinned;
ALTER TABLE operations DROP COLUMN compacted;

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
