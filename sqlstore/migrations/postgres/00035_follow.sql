-- +goose Up

-- A series that is kept current is a document too: its source and how often it is fetched.
ALTER TABLE documents DROP CONSTRAINT documents_kind_check;
ALTER TABLE documents ADD CONSTRAINT documents_kind_check CHECK (kind IN ('strategy', 'instruments', 'follow'));

-- +goose Down
DELETE FROM documents WHERE kind = 'follow';
ALTER TABLE documents DROP CONSTRAINT documents_kind_check;
ALTER TABLE documents ADD CONSTRAINT documents_kind_check CHECK (kind IN ('strategy', 'instruments'));
