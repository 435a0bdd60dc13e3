-- +goose Up

-- A thread holds its values itself, beside what it says of them. One table for
-- all threads, by hash, cost every put three more trees, two of them in the
-- order of hashes, which is none, and saved little: what is large is a blob,
-- and blobs are shared anyway.
CREATE TABLE values_moved (
    tenant    TEXT COLLATE "C" NOT NULL,
    thread_id TEXT COLLATE "C" NOT NULL,
    ns        TEXT COLLATE "C" NOT NULL,
    channel   TEXT COLLATE "C" NOT NULL,
    version   TEXT COLLATE "C" NOT NULL,
    hash      BYTEA   NOT NULL,
    place     BIGINT  NOT NULL,
    type      TEXT    NOT NULL,
    bytes     BYTEA   NOT NULL,

    CONSTRAINT thread_values_key PRIMARY KEY (tenant, thread_id, ns, channel, version, hash)
) WITH (toast_tuple_target = 8160);

INSERT INTO values_moved SELECT v.tenant, v.thread_id, v.ns, v.channel, v.version, v.hash, v.place, c.type, c.bytes
    FROM thread_values v JOIN contents c ON c.hash = v.hash;
DROP TABLE strays;
DROP TABLE thread_values;
DROP TABLE contents;
ALTER TABLE values_moved RENAME TO thread_values;

CREATE INDEX values_blobs ON thread_values (type) WHERE substr(type, 1, 14) = '{"ktrdr_blob":';

-- +goose Down
CREATE TABLE contents (
    hash    BYTEA   NOT NULL PRIMARY KEY,
    used_at BIGINT  NOT NULL,
    type    TEXT    NOT NULL,
    bytes   BYTEA   NOT NULL
) WITH (toast_tuple_target = 8160);
CREATE INDEX contents_blobs ON contents (type) WHERE substr(type, 1, 14) = '{"ktrdr_blob":';
INSERT INTO contents SELECT hash, 0, type, bytes FROM thread_values ON CONFLICT DO NOTHING;
CREATE TABLE strays (
    hash BYTEA   NOT NULL PRIMARY KEY,
    at   BIGINT  NOT NULL
);
CREATE INDEX strays_age ON strays (at);
DROP INDEX values_blobs;
ALTER TABLE thread_values DROP COLUMN bytes;
ALTER TABLE thread_values DROP COLUMN type;
CREATE INDEX thread_values_hash ON thread_values (hash);
