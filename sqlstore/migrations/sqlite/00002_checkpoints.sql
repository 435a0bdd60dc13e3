-- +goose Up

-- One table for the checkpoints of operations and of others. An operation's
-- have tenant '' and namespace '', its id as thread_id, and a checkpoint_type;
-- the others have slots: for each channel its version and, unless the channel
-- is empty, the hash of its value. Large columns come last, so that a reader of
-- the others does not walk through them.
CREATE TABLE checkpoints (
    tenant          TEXT    NOT NULL,
    thread_id       TEXT    NOT NULL,
    ns              TEXT    NOT NULL,
    id              TEXT    NOT NULL,
    parent_id       TEXT    NOT NULL DEFAULT '',
    put_at          INTEGER NOT NULL,

    checkpoint_type TEXT,                         -- from here on of operations
    epoch           INTEGER,
    seq             INTEGER,
    step            INTEGER,
    size            INTEGER,                      -- of the state and the artifacts
    skipped         INTEGER NOT NULL DEFAULT 0,   -- could not be used; an older one is

    format          INTEGER,                      -- from here on of others
    run_id          TEXT,
    slots           TEXT,

    fingerprint     TEXT,
    artifacts       TEXT,
    state_blob      TEXT,                         -- of a state that is not in the row
    metadata        TEXT,
    checkpoint      TEXT,
    state           TEXT,

    PRIMARY KEY (tenant, thread_id, ns, id),
    CHECK ((checkpoint_type IS NULL) = (slots IS NOT NULL AND checkpoint IS NOT NULL))
) STRICT;

-- checkpoints_newest is for lists over all threads. Its condition is always
-- true and only those lists say it: a planner that has no statistics yet must
-- not take it for what finds the checkpoints of one thread.
CREATE INDEX checkpoints_newest ON checkpoints (tenant, id, thread_id, ns) WHERE put_at > 0;
CREATE INDEX checkpoints_runs   ON checkpoints (tenant, run_id, thread_id, ns, id) WHERE run_id IS NOT NULL;
CREATE INDEX checkpoints_age    ON checkpoints (put_at, checkpoint_type, size) WHERE checkpoint_type IS NOT NULL;

-- threads holds what is true of all of a foreign thread. Its row is locked by
-- whoever adds to the thread or takes from it.
CREATE TABLE threads (
    tenant     TEXT    NOT NULL,
    thread_id  TEXT    NOT NULL,
    expires_at INTEGER,                           -- NULL: never

    PRIMARY KEY (tenant, thread_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX threads_expiry ON threads (expires_at) WHERE expires_at IS NOT NULL;

-- contents holds every value once, by its hash.
CREATE TABLE contents (
    hash    BLOB    NOT NULL PRIMARY KEY,
    used_at INTEGER NOT NULL,                     -- about when it was last put
    type    TEXT    NOT NULL,
    bytes   BLOB    NOT NULL
) STRICT;

-- thread_values says which values a thread has seen of a channel's version,
-- the first at the lowest place. It is what keeps contents alive.
CREATE TABLE thread_values (
    tenant    TEXT    NOT NULL,
    thread_id TEXT    NOT NULL,
    ns        TEXT    NOT NULL,
    channel   TEXT    NOT NULL,
    version   TEXT    NOT NULL,
    hash      BLOB    NOT NULL,
    place     INTEGER NOT NULL,

    PRIMARY KEY (tenant, thread_id, ns, channel, version, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX thread_values_hash ON thread_values (hash);

-- strays are contents that lost a reference and may have lost the last one.
CREATE TABLE strays (
    hash BLOB    NOT NULL PRIMARY KEY,
    at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX strays_age ON strays (at);

-- A write may come before its checkpoint.
CREATE TABLE checkpoint_writes (
    tenant        TEXT    NOT NULL,
    thread_id     TEXT    NOT NULL,
    ns            TEXT    NOT NULL,
    checkpoint_id TEXT    NOT NULL,
    task          TEXT    NOT NULL,
    idx           INTEGER NOT NULL,
    path          TEXT    NOT NULL,
    channel       TEXT    NOT NULL,
    type          TEXT    NOT NULL,
    bytes         BLOB    NOT NULL,

    PRIMARY KEY (tenant, thread_id, ns, checkpoint_id, task, idx)
) STRICT;

-- +goose Down
DROP TABLE checkpoint_writes;
DROP TABLE strays;
DROP TABLE thread_values;
DROP TABLE contents;
DROP TABLE threads;
DROP TABLE checkpoints;
