-- +goose Up

-- A thread holds its values itself, beside what it says of them. One table for
-- all threads, by hash, cost every put three more trees, two of them in the
-- order of hashes, which is none, and saved little: what is large is a blob,
-- and blobs are shared anyway. The table has a rowid: without one, each step of
-- a search would read a whole value.
CREATE TABLE values_moved (
    tenant    TEXT    NOT NULL,
    thread_id TEXT    NOT NULL,
    ns        TEXT    NOT NULL,
    channel   TEXT    NOT NULL,
    version   TEXT    NOT NULL,
    hash      BLOB    NOT NULL,
    place     INTEGER NOT NULL,
    type      TEXT    NOT NULL,
    bytes     BLOB    NOT NULL,

    PRIMARY KEY (tenant, thread_id, ns, channel, version, hash)
) STRICT;

INSERT INTO values_moved SELECT v.tenant, v.thread_id, v.ns, v.channel, v.version, v.hash, v.place, c.type, c.bytes
    FROM thread_values v JOIN contents c ON c.hash = v.hash;
DROP TABLE strays;
DROP TABLE thread_values;
DROP TABLE contents;
ALTER TABLE values_moved RENAME TO thread_values;

CREATE INDEX values_blobs ON thread_values (type) WHERE substr(type, 1, 14) = '{"ktrdr_blob":';

-- +goose Down
CREATE TABLE contents (
    hash    BLOB    NOT NULL PRIMARY KEY,
    used_at INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    bytes   BLOB    NOT NULL
) STRICT;
CREATE INDEX contents_blobs ON contents (type) WHERE substr(type, 1, 14) = '{"ktrdr_blob":';
INSERT OR IGNORE INTO contents SELECT hash, 0, type, bytes FROM thread_values;
CREATE TABLE strays (
    hash BLOB    NOT NULL PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX strays_age ON strays (at);
DROP INDEX values_blobs;
ALTER TABLE thread_values DROP COLUMN bytes;
ALTER TABLE thread_values DROP COLUMN type;
CREATE INDEX thread_values_hash ON thread_values (hash);
