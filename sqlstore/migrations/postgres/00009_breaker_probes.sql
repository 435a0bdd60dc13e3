-- +goose Up

-- Who may probe a half-open breaker, and until when. Each taking has a greater
-- token, so that only the last one ends what it took.
CREATE TABLE breaker_probes (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner TEXT COLLATE "C" NOT NULL,
    token BIGINT NOT NULL,
    until BIGINT NOT NULL
);

-- +goose Down
DROP TABLE breaker_probes;
