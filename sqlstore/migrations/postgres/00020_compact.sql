-- +goose Up

-- A compacted operation keeps its figures; its files and checkpoints are gone and
-- are computed again on demand. A pinned research is never compacted.
ALTER TABLE operations ADD COLUMN compacted BIGINT NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN pinned    BIGINT NOT NULL DEFAULT 0;

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
ALTER TABLE operations DROP COLUMN pinned;
ALTER TABLE operations DROP COLUMN compacted;
