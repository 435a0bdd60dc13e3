-- +goose Up

-- Which checkpoints of operations name a blob. It is what the columns artifacts and
-- state_blob of checkpoints say, by blob, so that "does any checkpoint still name
-- it?" is one look at the key. Triggers keep it. A row whose text is damaged can be
-- deleted like any other.
CREATE TABLE checkpoint_blobs (
    sha256        TEXT COLLATE "C" NOT NULL,
    operation_id  TEXT COLLATE "C" NOT NULL,
    checkpoint_id TEXT COLLATE "C" NOT NULL,

    PRIMARY KEY (sha256, operation_id, checkpoint_id)
);

-- +goose StatementBegin
CREATE FUNCTION blobs_in(artifacts TEXT) RETURNS SETOF TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT m[1] FROM regexp_matches(artifacts, '"sha256": ?"([0-9a-f]{64})"', 'g') AS m
$$;
-- +goose StatementEnd

INSERT INTO checkpoint_blobs (sha256, operation_id, checkpoint_id)
SELECT h, c.thread_id, c.id FROM checkpoints c, blobs_in(c.artifacts) h WHERE c.checkpoint_type IS NOT NULL
UNION SELECT h, c.thread_id, c.id FROM checkpoints c, blobs_in(c.state_blob) h WHERE c.checkpoint_type IS NOT NULL;

-- +goose StatementBegin
CREATE FUNCTION checkpoints_named() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring') THEN
        INSERT INTO checkpoint_blobs (sha256, operation_id, checkpoint_id)
        SELECT h, NEW.thread_id, NEW.id FROM blobs_in(NEW.artifacts) h UNION SELECT h, NEW.thread_id, NEW.id FROM blobs_in(NEW.state_blob) h;
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION checkpoints_unnamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM checkpoint_blobs WHERE operation_id = OLD.thread_id AND checkpoint_id = OLD.id AND sha256 = ANY (ARRAY(
        SELECT h FROM blobs_in(OLD.artifacts) h UNION SELECT h FROM blobs_in(OLD.state_blob) h));
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
DROP FUNCTION blobs_in(TEXT);
DROP TABLE checkpoint_blobs;
