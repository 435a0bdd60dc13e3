-- +goose Up

-- A run is a row. The counts are kept by the triggers below as its researches
-- are created and end.
CREATE TABLE runs (
    id              TEXT    NOT NULL PRIMARY KEY,
    goal            TEXT    NOT NULL DEFAULT '',
    request         TEXT    NOT NULL DEFAULT '{}',
    created_at      INTEGER NOT NULL,
    until           INTEGER,
    generation_size INTEGER NOT NULL,
    planned         INTEGER NOT NULL,

    state           TEXT    NOT NULL CHECK (state IN ('RUNNING', 'COMPLETED', 'CANCELLED', 'GIVEN_UP')),
    cancelled_at    INTEGER,
    cancelled_by    TEXT    NOT NULL DEFAULT '',
    cancel_reason   TEXT    NOT NULL DEFAULT '',
    given_up        TEXT    NOT NULL DEFAULT '',
    ended_at        INTEGER,
    told_at         INTEGER,
    tell_lease      INTEGER NOT NULL DEFAULT 0, -- until when one backend alone tells the webhook

    generations     INTEGER NOT NULL DEFAULT 0,
    closed          INTEGER NOT NULL DEFAULT 0,
    created         INTEGER NOT NULL DEFAULT 0,
    open            INTEGER NOT NULL DEFAULT 0,
    completed       INTEGER NOT NULL DEFAULT 0,
    rejected        INTEGER NOT NULL DEFAULT 0,
    failed          INTEGER NOT NULL DEFAULT 0,
    cancelled       INTEGER NOT NULL DEFAULT 0,
    finalists       INTEGER NOT NULL DEFAULT 0,
    looks           INTEGER NOT NULL DEFAULT 0,
    claims          INTEGER NOT NULL DEFAULT 0,

    CHECK ((state = 'CANCELLED') = (cancelled_at IS NOT NULL)),
    CHECK (state <> 'COMPLETED' OR ended_at IS NOT NULL)
) STRICT;

CREATE INDEX runs_page   ON runs (created_at, id);
CREATE INDEX runs_open   ON runs (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX runs_untold ON runs (told_at, ended_at) WHERE ended_at IS NOT NULL AND told_at IS NULL;

-- A market is a series of prices by its content. Its counts are those of the
-- rows below.
CREATE TABLE markets (
    id           TEXT    NOT NULL PRIMARY KEY,
    symbol       TEXT    NOT NULL, -- under which it was first seen
    created_at   INTEGER NOT NULL,
    holdout_from INTEGER,          -- bars that close after this are the holdout
    trials       INTEGER NOT NULL DEFAULT 0,
    looks        INTEGER NOT NULL DEFAULT 0,
    merged_into  TEXT
) STRICT;

CREATE TABLE market_series (
    symbol    TEXT    NOT NULL,
    timeframe TEXT    NOT NULL,
    bars_hash TEXT    NOT NULL,
    market_id TEXT    NOT NULL,
    first_at  INTEGER NOT NULL,
    last_at   INTEGER NOT NULL,
    bars      INTEGER NOT NULL,
    prices    TEXT    NOT NULL, -- the blob that other series are compared with
    reason    TEXT    NOT NULL,
    added_at  INTEGER NOT NULL,

    PRIMARY KEY (symbol, timeframe, bars_hash)
) STRICT;

CREATE INDEX market_series_market ON market_series (market_id, symbol, timeframe, added_at);

-- Every strategy that met the prices of a market. Of the rows of an operation one
-- has main = 1: lists show that one.
CREATE TABLE trials (
    market_id    TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    main         INTEGER NOT NULL,
    operation_id TEXT    NOT NULL,
    run          TEXT    NOT NULL,
    generation   INTEGER NOT NULL,
    idx          INTEGER NOT NULL,
    symbols      TEXT    NOT NULL,
    timeframes   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,

    ended        INTEGER NOT NULL DEFAULT 0,
    strategy     TEXT    NOT NULL DEFAULT '',
    sharpe       REAL,
    sharpe_z     REAL,
    alpha        REAL,
    alpha_z      REAL,
    score        REAL, -- the smaller of the two z values
    net_return   REAL,
    max_drawdown REAL,
    trades       INTEGER NOT NULL DEFAULT 0,
    cheap_costs  INTEGER NOT NULL DEFAULT 0,
    result_hash  TEXT    NOT NULL DEFAULT '',

    PRIMARY KEY (market_id, key)
) STRICT;

CREATE INDEX trials_operation ON trials (operation_id);
CREATE INDEX trials_page      ON trials (created_at, market_id, key) WHERE main = 1;
CREATE INDEX trials_run       ON trials (run, created_at, market_id, key) WHERE main = 1;
CREATE INDEX trials_best      ON trials (market_id, score DESC, sharpe DESC, created_at, key) WHERE main = 1 AND ended = 1;
CREATE INDEX trials_best_run  ON trials (run, market_id, score DESC, sharpe DESC, created_at, key) WHERE main = 1 AND ended = 1;

CREATE TABLE looks (
    key          TEXT    NOT NULL PRIMARY KEY,
    operation_id TEXT    NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind IN ('confirmation', 'by_hand')),
    research_id  TEXT    NOT NULL,
    run          TEXT    NOT NULL,
    generation   INTEGER NOT NULL,
    strategy     TEXT    NOT NULL,
    before       INTEGER NOT NULL, -- looks on the market that had most
    spans        TEXT    NOT NULL,
    reserved_at  INTEGER NOT NULL,

    ended_at     INTEGER,
    p            REAL,
    adjusted_p   REAL,
    claim        INTEGER NOT NULL DEFAULT 0,
    hash         TEXT    NOT NULL DEFAULT '',
    result       TEXT,

    CHECK (ended_at IS NOT NULL OR claim = 0)
) STRICT;

CREATE INDEX looks_page      ON looks (reserved_at, key);
CREATE INDEX looks_research  ON looks (research_id, reserved_at, key) WHERE research_id <> '';
CREATE INDEX looks_run       ON looks (run, reserved_at, key) WHERE run <> '';
CREATE INDEX looks_claims    ON looks (reserved_at, key) WHERE claim = 1;

CREATE TABLE look_markets (
    market_id TEXT    NOT NULL,
    number    INTEGER NOT NULL,
    look_key  TEXT    NOT NULL,

    PRIMARY KEY (market_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX look_markets_look ON look_markets (look_key);

-- What a research came to, how many trials are counted against it, and the key of
-- its look.
ALTER TABLE operations ADD COLUMN rung   TEXT NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN score  REAL;
ALTER TABLE operations ADD COLUMN trials INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN look   TEXT NOT NULL DEFAULT '';

-- The first of a queue is found without a look at those that have to wait: what
-- belongs to no run, or is a retry, and the researches of each generation.
CREATE INDEX operations_alone ON operations (queue, priority DESC, session)
    WHERE queue <> '' AND (run = '' OR retry_of IS NOT NULL) AND status = 'PENDING';
CREATE INDEX operations_turn ON operations (run, generation, priority DESC, session)
    WHERE run <> '' AND queue <> '' AND retry_of IS NULL AND status = 'PENDING';

-- The researches of a run, by their place and by their age.
CREATE INDEX operations_researches ON operations (run, generation, idx) WHERE run <> '' AND queue <> '';
CREATE INDEX operations_of_run     ON operations (run, created_at, id) WHERE run <> '' AND queue <> '';

DROP INDEX operations_queue;
CREATE INDEX operations_queue ON operations (operation_type, priority DESC, root_created_at, id, is_backend_local, not_before, run)
    WHERE status = 'PENDING' AND has_plan = 0;

-- What an earlier version wrote.

-- A child belongs to the run of its parent.
DROP TRIGGER operations_place;
UPDATE operations SET
    run        = (SELECT r.run FROM operations AS r WHERE r.id = operations.root_id),
    generation = (SELECT r.generation FROM operations AS r WHERE r.id = operations.root_id),
    idx        = (SELECT r.idx FROM operations AS r WHERE r.id = operations.root_id)
WHERE parent_id IS NOT NULL AND EXISTS (SELECT 1 FROM operations AS r WHERE r.id = operations.root_id AND r.run <> '');

UPDATE operations SET
    trials = COALESCE(spec ->> '$.trials.planned', 0),
    rung   = CASE
        WHEN status <> 'COMPLETED' THEN ''
        WHEN result ->> '$.outcome' = 'gate_rejected' THEN 'gate_rejected'
        WHEN (result ->> '$.holdout_opened') = 1 THEN 'finalist'
        ELSE 'nothing' END
WHERE queue <> '' AND run <> '';

-- A run for each name that researches have. It was cancelled if a research of it
-- was cancelled with the reason that stood for that, unless a person has resumed
-- another research since; then no more generations are started. A run that lasts
-- until a time goes on until then.
INSERT INTO runs (id, goal, created_at, until, generation_size, planned, state, cancelled_at, cancel_reason, ended_at, told_at,
        generations, closed, created, open, completed, rejected, failed, cancelled, finalists)
    SELECT id, goal, created_at, CASE WHEN stopped_at IS NOT NULL AND cancelled_at IS NULL THEN NULL ELSE until END, size, created,
        CASE WHEN cancelled_at IS NOT NULL THEN 'CANCELLED' WHEN open > 0 OR lasts = 1 THEN 'RUNNING' ELSE 'COMPLETED' END,
        cancelled_at, CASE WHEN cancelled_at IS NULL THEN '' ELSE 'The run was cancelled' END,
        CASE WHEN open > 0 OR lasts = 1 THEN NULL ELSE last END, CASE WHEN open > 0 OR lasts = 1 THEN NULL ELSE last END,
        generations, closed, created, open, completed, rejected, failed, cancelled, finalists
    FROM (SELECT *, CASE WHEN resumed_at > stopped_at THEN NULL ELSE stopped_at END AS cancelled_at,
            CASE WHEN stopped_at IS NULL AND until > CAST(unixepoch('subsec') * 1000000 AS INTEGER) THEN 1 ELSE 0 END AS lasts
        FROM (SELECT run AS id, COALESCE(MIN(metadata ->> '$.brief'), '') AS goal, MIN(created_at) AS created_at,
                MAX(CAST(ROUND(unixepoch(spec ->> '$.until', 'subsec') * 1000000.0) AS INTEGER)) AS until,
                MAX(1, COALESCE(MAX(spec ->> '$.generation_size'), 8)) AS size, MAX(completed_at) AS last,
                MAX(CASE WHEN cancel_reason = 'The run was cancelled'
                    THEN COALESCE(completed_at, CAST(unixepoch('subsec') * 1000000 AS INTEGER)) END) AS stopped_at,
                MAX(CASE WHEN completed_at IS NULL AND cancel_reason <> 'The run was cancelled' THEN claimed_at END) AS resumed_at,
                MAX(generation) + 1 AS generations,
                COALESCE(MIN(CASE WHEN completed_at IS NULL THEN generation END), MAX(generation) + 1) AS closed,
                SUM(retry_of IS NULL) AS created, SUM(completed_at IS NULL) AS open,
                SUM(status = 'COMPLETED' AND rung <> 'gate_rejected') AS completed, SUM(rung = 'gate_rejected') AS rejected,
                SUM(status = 'FAILED') AS failed, SUM(status = 'CANCELLED') AS cancelled, SUM(rung = 'finalist') AS finalists
            FROM operations WHERE queue <> '' AND run <> '' GROUP BY run) AS counted) AS judged;

-- A market for each symbol that was researched, tried or looked at. It has no
-- series yet: the first series of that symbol is this market. Its holdout begins
-- where no research has searched.
INSERT INTO markets (id, symbol, created_at)
    SELECT 'mkt_' || lower(hex(randomblob(6))), symbol, MIN(at) FROM (
        SELECT bars.value ->> '$.symbol' AS symbol, o.created_at AS at FROM operations AS o, json_each(o.spec, '$.bars') AS bars
            WHERE o.queue <> '' AND o.run <> '' OR o.id IN (SELECT operation_id FROM notes WHERE kind = 'trial')
        UNION ALL
        SELECT span.value ->> '$.symbol', n.at FROM notes AS n, json_each(n.data, '$.spans') AS span WHERE n.kind = 'opening')
    WHERE symbol <> '' GROUP BY symbol;
UPDATE markets SET holdout_from = (
    SELECT MAX(CAST(ROUND(unixepoch(span.value ->> '$.from', 'subsec') * 1000000.0) AS INTEGER))
    FROM operations AS o, json_each(o.spec, '$.sealed') AS span
    WHERE o.queue <> '' AND o.run <> '' AND span.value ->> '$.symbol' = markets.symbol);

-- Trials were noted when they had met the data. A research that can still meet it
-- is counted too.
INSERT INTO trials (market_id, key, main, operation_id, run, generation, idx, symbols, timeframes, created_at,
        ended, strategy, sharpe, net_return, max_drawdown, trades, result_hash)
    SELECT m.id, tried.key, MAX(m.symbol = COALESCE(o.spec ->> '$.symbol', o.spec ->> '$.bars[0].symbol')), o.id, o.run, o.generation, o.idx,
        m.symbol, COALESCE(replace(group_concat(DISTINCT bars.value ->> '$.timeframe' ORDER BY bars.value ->> '$.timeframe'), ',', ' '), ''), tried.at,
        o.status = 'COMPLETED', COALESCE(tried.data ->> '$.strategy_name', ''), tried.data ->> '$.sharpe_ratio',
        o.result ->> '$.backtest_result.net_return', o.result ->> '$.backtest_result.max_drawdown', COALESCE(tried.data ->> '$.total_trades', 0),
        COALESCE(o.result ->> '$.result_hash', tried.data ->> '$.backtest_hash', '')
    FROM (SELECT operation_id, key, at, data FROM notes WHERE kind = 'trial'
            UNION ALL
            SELECT id, id, created_at, '{}' FROM operations WHERE queue <> '' AND run <> ''
                AND (completed_at IS NULL OR status IN ('FAILED', 'CANCELLED') AND ckpt_id IS NOT NULL)
                AND id NOT IN (SELECT operation_id FROM notes WHERE kind = 'trial')) AS tried
        JOIN operations AS o ON o.id = tried.operation_id, json_each(o.spec, '$.bars') AS bars
        JOIN markets AS m ON m.symbol = bars.value ->> '$.symbol'
    GROUP BY m.id, tried.key;

INSERT INTO looks (key, operation_id, kind, research_id, run, generation, strategy, before, spans, reserved_at, ended_at)
    SELECT n.key, COALESCE(n.data ->> '$.by', ''), CASE WHEN n.run = '' THEN 'by_hand' ELSE 'confirmation' END,
        COALESCE(n.data ->> '$.of', ''), n.run, n.generation, COALESCE((SELECT o.result ->> '$.strategy_name' FROM operations AS o WHERE o.id = n.data ->> '$.of'), ''),
        0, COALESCE(n.data -> '$.spans', '[]'), n.at, n.at
    FROM notes AS n WHERE n.kind = 'opening';

INSERT INTO look_markets (market_id, number, look_key)
    SELECT market, ROW_NUMBER() OVER (PARTITION BY market ORDER BY id), key FROM (
        SELECT DISTINCT m.id AS market, n.id AS id, n.key AS key
        FROM notes AS n, json_each(n.data, '$.spans') AS span JOIN markets AS m ON m.symbol = span.value ->> '$.symbol'
        WHERE n.kind = 'opening');

UPDATE looks SET
    before     = COALESCE((SELECT MAX(number) - 1 FROM look_markets WHERE look_key = looks.key), 0),
    claim      = CASE WHEN kind = 'confirmation' THEN COALESCE((SELECT (o.result ->> '$.claim') = 1 FROM operations AS o WHERE o.id = looks.research_id), 0) ELSE 0 END,
    adjusted_p = CASE WHEN kind = 'confirmation' THEN (SELECT o.result ->> '$.backtest_result.luck_p' FROM operations AS o WHERE o.id = looks.research_id) END;
UPDATE operations SET look = (SELECT MIN(key) FROM looks WHERE operation_id = operations.id)
    WHERE id IN (SELECT operation_id FROM looks WHERE operation_id <> '');
UPDATE markets SET
    trials = (SELECT COUNT(*) FROM trials WHERE market_id = markets.id),
    looks  = (SELECT COUNT(*) FROM look_markets WHERE market_id = markets.id);
UPDATE runs SET
    looks  = (SELECT COUNT(*) FROM looks WHERE run = runs.id),
    claims = (SELECT COUNT(*) FROM looks WHERE run = runs.id AND claim = 1);

-- +goose StatementBegin
CREATE TRIGGER operations_place BEFORE UPDATE OF queue, run, generation, idx, session, trials, look ON operations
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'operations: where an operation stands in its queue and in the ledger cannot be changed');
END;
-- +goose StatementEnd

-- The ledger only grows.

-- +goose StatementBegin
CREATE TRIGGER markets_delete BEFORE DELETE ON markets
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'markets: a market stays');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER market_series_delete BEFORE DELETE ON market_series
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'market_series: a series stays assigned');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER trials_delete BEFORE DELETE ON trials
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'trials: what was tried stays counted');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER looks_delete BEFORE DELETE ON looks
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'looks: a look stays counted');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER look_markets_delete BEFORE DELETE ON look_markets
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'look_markets: a look stays counted');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER looks_update BEFORE UPDATE ON looks
WHEN (OLD.ended_at IS NOT NULL OR NEW.key <> OLD.key OR NEW.operation_id <> OLD.operation_id OR NEW.before <> OLD.before)
    AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'looks: a look ends once, and nothing else of it changes');
END;
-- +goose StatementEnd

-- The counts of a market and of a run.

-- +goose StatementBegin
CREATE TRIGGER trials_created AFTER INSERT ON trials
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    UPDATE markets SET trials = trials + 1 WHERE id = NEW.market_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER looks_created AFTER INSERT ON looks
WHEN NEW.run <> '' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    UPDATE runs SET looks = looks + 1 WHERE id = NEW.run;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER looks_claimed AFTER UPDATE OF claim ON looks
WHEN NEW.run <> '' AND NEW.claim <> OLD.claim AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    UPDATE runs SET claims = claims + NEW.claim - OLD.claim WHERE id = NEW.run;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER runs_count_new AFTER INSERT ON operations
WHEN NEW.queue <> '' AND NEW.run <> '' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    UPDATE runs SET created = created + (NEW.retry_of IS NULL), open = open + 1,
        generations = MAX(generations, NEW.generation + 1)
    WHERE id = NEW.run;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER runs_count_end AFTER UPDATE OF completed_at ON operations
WHEN NEW.queue <> '' AND NEW.run <> '' AND (NEW.completed_at IS NULL) <> (OLD.completed_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    UPDATE runs SET
        open      = open + (NEW.completed_at IS NULL) - (OLD.completed_at IS NULL),
        completed = completed + (NEW.status = 'COMPLETED' AND NEW.rung <> 'gate_rejected'),
        rejected  = rejected + (NEW.status = 'COMPLETED' AND NEW.rung = 'gate_rejected'),
        finalists = finalists + (NEW.status = 'COMPLETED' AND NEW.rung = 'finalist'),
        failed    = failed + (NEW.status = 'FAILED') - (OLD.status = 'FAILED'),
        cancelled = cancelled + (NEW.status = 'CANCELLED') - (OLD.status = 'CANCELLED')
    WHERE id = NEW.run;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER runs_count_end;
DROP TRIGGER runs_count_new;
DROP TRIGGER operations_place;
DROP TABLE look_markets;
DROP TABLE looks;
DROP TABLE trials;
DROP TABLE market_series;
DROP TABLE markets;
DROP TABLE runs;
DROP INDEX operations_alone;
DROP INDEX operations_turn;
DROP INDEX operations_researches;
DROP INDEX operations_of_run;
DROP INDEX operations_queue;
CREATE INDEX operations_queue ON operations (operation_type, priority DESC, root_created_at, id, is_backend_local, not_before)
    WHERE status = 'PENDING' AND has_plan = 0;
UPDATE operations SET run = '', generation = 0, idx = 0 WHERE parent_id IS NOT NULL AND run <> '';

-- SQLite reads every trigger when a column is dropped, and cannot read this one.
DROP TRIGGER llm_calls_delete;
ALTER TABLE operations DROP COLUMN look;
ALTER TABLE operations DROP COLUMN trials;
ALTER TABLE operations DROP COLUMN score;
ALTER TABLE operations DROP COLUMN rung;

-- +goose StatementBegin
CREATE TRIGGER llm_calls_delete BEFORE DELETE ON llm_calls
BEGIN
    INSERT INTO llm_spent AS s (root_id, day, model, status, calls, charged, input_tokens, output_tokens)
    SELECT OLD.root_id, OLD.at - OLD.at % 86400000000, OLD.model, OLD.status, 1, OLD.charged, OLD.input_tokens, OLD.output_tokens
    WHERE OLD.error <> 'no model could be asked'
    ON CONFLICT (root_id, day, model, status) DO UPDATE SET calls = s.calls + 1, charged = s.charged + EXCLUDED.charged,
        input_tokens = s.input_tokens + EXCLUDED.input_tokens, output_tokens = s.output_tokens + EXCLUDED.output_tokens;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER operations_place BEFORE UPDATE OF queue, run, generation, idx, session ON operations
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'operations: where an operation stands in its queue cannot be changed');
END;
-- +goose StatementEnd
