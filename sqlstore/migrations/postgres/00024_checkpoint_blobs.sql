-- +goose Up

-- Which checkpoints of operations name a blob. It is what the columns artifacts and
-- state_blob of checkpoints say, by blob, so that "does any checkpoint still name
-- it?" is one look at the key. Triggers keep it.
CREATE TABLE checkpoint_blobs (
    sha256        TEXT COLLATE "C" NOT NULL,
    operation_id  TEXT COLLATE "C" NOT NULL,
    checkpoint_id TEXT COLLATE "C" NOT NULL,

    PRIMARY KEY (sha256, operation_id, checkpoint_id)
);

INSERT INTO checkpoint_blobs (sha256, operation_id, checkpoint_id)
SELECT a.value ->> 'sha256', c.thread_id, c.id FROM checkpoints c, jsonb_array_elements(c.artifacts::jsonb) a WHERE c.checkpoint_type IS NOT NULL
UNION SELECT c.state_blob::jsonb ->> 'sha256', c.thread_id, c.id FROM checkpoints c WHERE c.checkpoint_type IS NOT NULL AND c.state_blob IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION checkpoints_named() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring') THEN
        INSERT INTO checkpoint_blobs (sha256, operation_id, checkpoint_id)
        SELECT a.value ->> 'sha256', NEW.thread_id, NEW.id FROM jsonb_array_elements(NEW.artifacts::jsonb) a
        UNION SELECT NEW.state_blob::jsonb ->> 'sha256', NEW.thread_id, NEW.id WHERE NEW.state_blob IS NOT NULL;
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION checkpoints_unnamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM checkpoint_blobs WHERE operation_id = OLD.thread_id AND checkpoint_id = OLD.id AND sha256 = ANY (ARRAY(
        SELECT a.value ->> 'sha256' FROM jsonb_array_elements(OLD.artifacts::jsonb) a UNION SELECT OLD.state_blob::jsonb ->> 'sha256'));
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER checkpoints_named AFTER INSERT ON checkpoints FOR EACH ROW
WHEN (NEW.checkpoint_type IS NOT NULL AND (NEW.artifacts IS NOT NULL OR NEW.state_blob IS NOT NULL))
EXECUTE FUNCTION checkpoints_named();

CREATE TRIGGER checkpoints_unnamed AFTER DELETE ON checkpoints FOR EACH ROW
WHEN (OLD.checkpoint_type IS NOT NULL AND (OLD.artifacts IS NOT NULL OR OLD.state_blob IS NOT NULL))
EXECUTE FUNCTION checkpoints_unnamed();

-- +goose Down
DROP TRIGGER checkpoints_unnamed ON checkpoints;
DROP TRIGGER checkpoints_named ON checkpoints;
DROP FUNCTION checkpoints_unnamed();
DROP FUNCTION checkpoints_named();
DROP TABLE checkpoint_blobs;
