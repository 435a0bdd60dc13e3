-- +goose Up

-- The bars that the lab holds. A series that was replaced keeps its row, and so
-- its file, until it is deleted.
CREATE TABLE bars (
    symbol     TEXT    NOT NULL,
    timeframe  TEXT    NOT NULL,
    bars_hash  TEXT    NOT NULL,
    bars       INTEGER NOT NULL,
    first_at   INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    file       TEXT    NOT NULL, -- name, sha256 and size of the bars file in the blob store
    origin     TEXT    NOT NULL CHECK (origin IN ('file', 'synth', 'resample', 'rename', 'folder')),
    source     TEXT    NOT NULL DEFAULT '', -- the files, the series or the folder that it was made of
    added_at   INTEGER NOT NULL,
    is_current INTEGER NOT NULL CHECK (is_current IN (0, 1)),
    PRIMARY KEY (symbol, timeframe, bars_hash)
) STRICT;

CREATE UNIQUE INDEX bars_current ON bars (symbol, timeframe) WHERE is_current = 1;

-- Texts that people wrote and that every backend needs: strategies, and the
-- file of instruments.
CREATE TABLE documents (
    kind     TEXT    NOT NULL CHECK (kind IN ('strategy', 'instruments')),
    name     TEXT    NOT NULL,
    content  TEXT    NOT NULL,
    origin   TEXT    NOT NULL CHECK (origin IN ('user', 'folder')),
    source   TEXT    NOT NULL DEFAULT '', -- the file that it was read from
    owner    TEXT    NOT NULL DEFAULT '', -- the backend whose folder it is, for origin folder
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;

-- +goose Down
DROP TABLE documents;
DROP TABLE bars;
