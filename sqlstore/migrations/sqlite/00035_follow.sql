-- +goose Up

-- A series that is kept current is a document too: its source and how often it is fetched.
CREATE TABLE documents_new (
    kind     TEXT    NOT NULL CHECK (kind IN ('strategy', 'instruments', 'follow')),
    name     TEXT    NOT NULL,
    content  TEXT    NOT NULL,
    origin   TEXT    NOT NULL CHECK (origin IN ('user', 'folder')),
    source   TEXT    NOT NULL DEFAULT '', -- the file that it was read from
    owner    TEXT    NOT NULL DEFAULT '', -- the backend whose folder it is, for origin folder
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;
INSERT INTO documents_new SELECT kind, name, content, origin, source, owner, saved_at FROM documents;
DROP TABLE documents;
ALTER TABLE documents_new RENAME TO documents;

-- +goose Down
DELETE FROM documents WHERE kind = 'follow';
