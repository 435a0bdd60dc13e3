-- +goose Up

-- The bars that the lab holds. A series that was replaced keeps its row, and so
-- its file, until it is deleted.
CREATE TABLE bars (
    symbol     TEXT COLLATE "C" NOT NULL,
    timeframe  TEXT COLLATE "C" NOT NULL,
    bars_hash  TEXT COLLATE "C" NOT NULL,
    bars       BIGINT  NOT NULL,
    first_at   BIGINT  NOT NULL,
    last_at    BIGINT  NOT NULL,
    file       TEXT    NOT NULL, -- name, sha256 and size of the bars file in the blob store
    origin     TEXT    NOT NULL CHECK (origin IN ('file', 'synth', 'resample', 'rename', 'folder')),
    source     TEXT    NOT NULL DEFAULT '', -- the files, the series or the folder that it was made of
    added_at   BIGINT  NOT NULL,
    is_current BIGINT  NOT NULL CHECK (is_current IN (0, 1)),
    PRIMARY KEY (symbol, timeframe, bars_hash)
);

CREATE UNIQUE INDEX bars_current ON bars (symbol, timeframe) WHERE is_current = 1;

-- Texts that people wrote and that every backend needs: strategies, and the
-- file of instruments.
CREATE TABLE documents (
    kind     TEXT COLLATE "C" NOT NULL CHECK (kind IN ('strategy', 'instruments')),
    name     TEXT COLLATE "C" NOT NULL,
    content  TEXT    NOT NULL,
    origin   TEXT    NOT NULL CHECK (origin IN ('user', 'folder')),
    source   TEXT    NOT NULL DEFAULT '', -- the file that it was read from
    owner    TEXT    NOT NULL DEFAULT '', -- the backend whose folder it is, for origin folder
    saved_at BIGINT  NOT NULL,
    PRIMARY KEY (kind, name)
);

-- +goose Down
DROP TABLE documents;
DROP TABLE bars;
