-- +goose Up

-- Which checkpoints of operations name a blob. It is what the columns artifacts and
-- state_blob of checkpoints say, by blob, so that "does any checkpoint still name
-- it?" is one look at the key. Triggers keep it. A row whose text is damaged can be
-- deleted like any other.
CREATE TABLE checkpoint_blobs (
    sha256        TEXT NOT NULL,
    operation_id  TEXT NOT NULL,
    checkpoint_id TEXT NOT NULL,

    PRIMARY KEY (sha256, operation_id, checkpoint_id)
) STRICT, WITHOUT ROWID;

-- Only the text of a member sha256 is a name. What is damaged or is no artifact
-- names nothing.
INSERT INTO checkpoint_blobs (sha256, operation_id, checkpoint_id)
SELECT h, thread_id, id FROM (
    SELECT CASE a.type WHEN 'object' THEN CASE json_type(a.value, '$.sha256') WHEN 'text' THEN a.value ->> '$.sha256' END END AS h, c.thread_id, c.id
        FROM checkpoints c, json_each(CASE WHEN json_valid(c.artifacts) THEN c.artifacts END) a WHERE c.checkpoint_type IS NOT NULL
    UNION SELECT CASE WHEN json_valid(c.state_blob) THEN CASE json_type(c.state_blob, '$.sha256') WHEN 'text' THEN c.state_blob ->> '$.sha256' END END, c.thread_id, c.id
        FROM checkpoints c WHERE c.checkpoint_type IS NOT NULL
) WHERE h IS NOT NULL;

-- +goose StatementBegin
CREATE TRIGGER checkpoints_named AFTER INSERT ON checkpoints
WHEN NEW.checkpoint_type IS NOT NULL AND (NEW.artifacts IS NOT NULL OR NEW.state_blob IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    INSERT INTO checkpoint_blobs (sha256, operation_id, checkpoint_id)
    SELECT h, NEW.thread_id, NEW.id FROM (
        SELECT CASE a.type WHEN 'object' THEN CASE json_type(a.value, '$.sha256') WHEN 'text' THEN a.value ->> '$.sha256' END END AS h
            FROM json_each(CASE WHEN json_valid(NEW.artifacts) THEN NEW.artifacts END) a
        UNION SELECT CASE WHEN json_valid(NEW.state_blob) THEN CASE json_type(NEW.state_blob, '$.sha256') WHEN 'text' THEN NEW.state_blob ->> '$.sha256' END END
    ) WHERE h IS NOT NULL;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER checkpoints_unnamed AFTER DELETE ON checkpoints
WHEN OLD.checkpoint_type IS NOT NULL AND (OLD.artifacts IS NOT NULL OR OLD.state_blob IS NOT NULL)
BEGIN
    DELETE FROM checkpoint_blobs WHERE operation_id = OLD.thread_id AND checkpoint_id = OLD.id AND sha256 IN (
        SELECT CASE a.type WHEN 'object' THEN a.value ->> '$.sha256' END
            FROM json_each(CASE WHEN json_valid(OLD.artifacts) THEN OLD.artifacts END) a
        UNION SELECT CASE WHEN json_valid(OLD.state_blob) THEN OLD.state_blob ->> '$.sha256' END);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER checkpoints_unnamed;
DROP TRIGGER checkpoints_named;
DROP TABLE checkpoint_blobs;
