-- +goose Up

-- Who may probe a half-open breaker, and until when. Each taking has a greater
-- token, so that only the last one ends what it took.
CREATE TABLE breaker_probes (
    name  TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE breaker_probes;
