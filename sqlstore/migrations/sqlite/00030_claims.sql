-- +goose Up

-- Looks that succeeded, and what the bars after each have shown.
CREATE TABLE claims (
    operation_id  TEXT NOT NULL PRIMARY KEY, -- the confirmation
    research_id   TEXT NOT NULL,
    strategy      TEXT NOT NULL,
    symbols       TEXT NOT NULL, -- separated by blanks
    timeframe     TEXT NOT NULL,
    made_up       INTEGER, -- NULL: not known
    sharpe        REAL,
    shrunk        REAL,
    p             REAL,
    adjusted_p    REAL,
    claimed_at    INTEGER NOT NULL,

    rung          TEXT NOT NULL DEFAULT 'confirmed',
    hold          TEXT NOT NULL DEFAULT '',
    reason        TEXT NOT NULL DEFAULT '',
    from_at       INTEGER NOT NULL DEFAULT 0,
    bars          INTEGER NOT NULL DEFAULT 0,
    last_bar      INTEGER NOT NULL DEFAULT 0,
    e             REAL NOT NULL DEFAULT 1,
    max_e         REAL NOT NULL DEFAULT 1,
    detected_bar  INTEGER NOT NULL DEFAULT 0,
    retire_e      REAL NOT NULL DEFAULT 1,
    max_retire_e  REAL NOT NULL DEFAULT 1,
    retired_bar   INTEGER NOT NULL DEFAULT 0,
    net_return    REAL,
    living_sharpe REAL,
    step_id       TEXT NOT NULL DEFAULT '',
    stepped_at    INTEGER NOT NULL DEFAULT 0,
    seen          TEXT NOT NULL DEFAULT '', -- hash of the series that were looked at last
    state         TEXT
) STRICT;

CREATE INDEX claims_page ON claims (claimed_at, operation_id);

-- +goose Down
DROP TABLE claims;
