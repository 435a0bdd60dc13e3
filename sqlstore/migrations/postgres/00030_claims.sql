-- +goose Up

-- Looks that succeeded, and what the bars after each have shown.
CREATE TABLE claims (
    operation_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- the confirmation
    research_id   TEXT COLLATE "C" NOT NULL,
    strategy      TEXT NOT NULL,
    symbols       TEXT NOT NULL, -- separated by blanks
    timeframe     TEXT NOT NULL,
    made_up       INTEGER, -- NULL: not known
    sharpe        DOUBLE PRECISION,
    shrunk        DOUBLE PRECISION,
    p             DOUBLE PRECISION,
    adjusted_p    DOUBLE PRECISION,
    claimed_at    BIGINT NOT NULL,

    rung          TEXT NOT NULL DEFAULT 'confirmed',
    hold          TEXT NOT NULL DEFAULT '',
    reason        TEXT NOT NULL DEFAULT '',
    from_at       BIGINT NOT NULL DEFAULT 0,
    bars          INTEGER NOT NULL DEFAULT 0,
    last_bar      BIGINT NOT NULL DEFAULT 0,
    e             DOUBLE PRECISION NOT NULL DEFAULT 1,
    max_e         DOUBLE PRECISION NOT NULL DEFAULT 1,
    detected_bar  BIGINT NOT NULL DEFAULT 0,
    retire_e      DOUBLE PRECISION NOT NULL DEFAULT 1,
    max_retire_e  DOUBLE PRECISION NOT NULL DEFAULT 1,
    retired_bar   BIGINT NOT NULL DEFAULT 0,
    net_return    DOUBLE PRECISION,
    living_sharpe DOUBLE PRECISION,
    step_id       TEXT NOT NULL DEFAULT '',
    stepped_at    BIGINT NOT NULL DEFAULT 0,
    seen          TEXT NOT NULL DEFAULT '', -- hash of the series that were looked at last
    state         TEXT
);

CREATE INDEX claims_page ON claims (claimed_at, operation_id);

-- +goose Down
DROP TABLE claims;
