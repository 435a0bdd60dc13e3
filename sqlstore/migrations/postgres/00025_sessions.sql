-- +goose Up

-- Browsers that are signed in, and links that sign one in. Only the sha256 of a
-- secret is stored. A row speaks for a token and ends with it.
CREATE TABLE sessions (
    hash       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    token_id   TEXT COLLATE "C" NOT NULL REFERENCES tokens (id),
    link       INTEGER NOT NULL, -- 1: signs in once
    created_at BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL
);

CREATE INDEX sessions_expired ON sessions (expires_at);

-- +goose Down
DROP TABLE sessions;
