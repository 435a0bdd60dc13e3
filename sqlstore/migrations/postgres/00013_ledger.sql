-- +goose Up

-- A run is a row. The counts are kept by the triggers below as its researches
-- are created and end.
CREATE TABLE runs (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    goal            TEXT    NOT NULL DEFAULT '',
    request         TEXT    NOT NULL DEFAULT '{}',
    created_at      BIGINT NOT NULL,
    until           BIGINT,
    generation_size BIGINT NOT NULL,
    planned         BIGINT NOT NULL,

    state           TEXT    NOT NULL CHECK (state IN ('RUNNING', 'COMPLETED', 'CANCELLED', 'GIVEN_UP')),
    cancelled_at    BIGINT,
    cancelled_by    TEXT    NOT NULL DEFAULT '',
    cancel_reason   TEXT    NOT NULL DEFAULT '',
    given_up        TEXT    NOT NULL DEFAULT '',
    ended_at        BIGINT,
    told_at         BIGINT,
    tell_lease      BIGINT NOT NULL DEFAULT 0, -- until when one backend alone tells the webhook

    generations     BIGINT NOT NULL DEFAULT 0,
    closed          BIGINT NOT NULL DEFAULT 0,
    created         BIGINT NOT NULL DEFAULT 0,
    open            BIGINT NOT NULL DEFAULT 0,
    completed       BIGINT NOT NULL DEFAULT 0,
    rejected        BIGINT NOT NULL DEFAULT 0,
    failed          BIGINT NOT NULL DEFAULT 0,
    cancelled       BIGINT NOT NULL DEFAULT 0,
    finalists       BIGINT NOT NULL DEFAULT 0,
    looks           BIGINT NOT NULL DEFAULT 0,
    claims          BIGINT NOT NULL DEFAULT 0,

    CHECK ((state = 'CANCELLED') = (cancelled_at IS NOT NULL)),
    CHECK (state <> 'COMPLETED' OR ended_at IS NOT NULL)
);

CREATE INDEX runs_page   ON runs (created_at, id);
CREATE INDEX runs_open   ON runs (created_at, id) WHERE ended_at IS NULL;
CREATE INDEX runs_untold ON runs (told_at, ended_at) WHERE ended_at IS NOT NULL AND told_at IS NULL;

-- A market is a series of prices by its content. Its counts are those of the
-- rows below.
CREATE TABLE markets (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    symbol       TEXT COLLATE "C" NOT NULL, -- under which it was first seen
    created_at   BIGINT NOT NULL,
    holdout_from BIGINT,          -- bars that close after this are the holdout
    trials       BIGINT NOT NULL DEFAULT 0,
    looks        BIGINT NOT NULL DEFAULT 0,
    merged_into  TEXT COLLATE "C"
);

CREATE TABLE market_series (
    symbol    TEXT COLLATE "C" NOT NULL,
    timeframe TEXT COLLATE "C" NOT NULL,
    bars_hash TEXT COLLATE "C" NOT NULL,
    market_id TEXT COLLATE "C" NOT NULL,
    first_at  BIGINT NOT NULL,
    last_at   BIGINT NOT NULL,
    bars      BIGINT NOT NULL,
    prices    TEXT    NOT NULL, -- the blob that other series are compared with
    reason    TEXT    NOT NULL,
    added_at  BIGINT NOT NULL,

    PRIMARY KEY (symbol, timeframe, bars_hash)
);

CREATE INDEX market_series_market ON market_series (market_id, symbol, timeframe, added_at);

-- Every strategy that met the prices of a market. Of the rows of an operation one
-- has main = 1: lists show that one.
CREATE TABLE trials (
    market_id    TEXT COLLATE "C" NOT NULL,
    key          TEXT COLLATE "C" NOT NULL,
    main         BIGINT NOT NULL,
    operation_id TEXT COLLATE "C" NOT NULL,
    run          TEXT COLLATE "C" NOT NULL,
    generation   BIGINT NOT NULL,
    idx          BIGINT NOT NULL,
    symbols      TEXT    NOT NULL,
    timeframes   TEXT    NOT NULL,
    created_at   BIGINT NOT NULL,

    ended        BIGINT NOT NULL DEFAULT 0,
    strategy     TEXT    NOT NULL DEFAULT '',
    sharpe       DOUBLE PRECISION,
    sharpe_z     DOUBLE PRECISION,
    alpha        DOUBLE PRECISION,
    alpha_z      DOUBLE PRECISION,
    score        DOUBLE PRECISION, -- the smaller of the two z values
    net_return   DOUBLE PRECISION,
    max_drawdown DOUBLE PRECISION,
    trades       BIGINT NOT NULL DEFAULT 0,
    cheap_costs  BIGINT NOT NULL DEFAULT 0,
    result_hash  TEXT    NOT NULL DEFAULT '',

    PRIMARY KEY (market_id, key)
);

CREATE INDEX trials_operation ON trials (operation_id);
CREATE INDEX trials_page      ON trials (created_at, market_id, key) WHERE main = 1;
CREATE INDEX trials_run       ON trials (run, created_at, market_id, key) WHERE main = 1;
CREATE INDEX trials_best      ON trials (market_id, score DESC NULLS LAST, sharpe DESC NULLS LAST, created_at, key) WHERE main = 1 AND ended = 1;
CREATE INDEX trials_best_run  ON trials (run, market_id, score DESC NULLS LAST, sharpe DESC NULLS LAST, created_at, key) WHERE main = 1 AND ended = 1;

CREATE TABLE looks (
    key          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    operation_id TEXT COLLATE "C" NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind IN ('confirmation', 'by_hand')),
    research_id  TEXT COLLATE "C" NOT NULL,
    run          TEXT COLLATE "C" NOT NULL,
    generation   BIGINT NOT NULL,
    strategy     TEXT    NOT NULL,
    before       BIGINT NOT NULL, -- looks on the market that had most
    spans        TEXT    NOT NULL,
    reserved_at  BIGINT NOT NULL,

    ended_at     BIGINT,
    p            DOUBLE PRECISION,
    adjusted_p   DOUBLE PRECISION,
    claim        BIGINT NOT NULL DEFAULT 0,
    hash         TEXT    NOT NULL DEFAULT '',
    result       TEXT,

    CHECK (ended_at IS NOT NULL OR claim = 0)
);

CREATE INDEX looks_page      ON looks (reserved_at, key);
CREATE INDEX looks_research  ON looks (research_id, reserved_at, key) WHERE research_id <> '';
CREATE INDEX looks_run       ON looks (run, reserved_at, key) WHERE run <> '';
CREATE INDEX looks_claims    ON looks (reserved_at, key) WHERE claim = 1;

CREATE TABLE look_markets (
    market_id TEXT COLLATE "C" NOT NULL,
    number    BIGINT NOT NULL,
    look_key  TEXT COLLATE "C" NOT NULL,

    PRIMARY KEY (market_id, number)
);

CREATE INDEX look_markets_look ON look_markets (look_key);

-- What a research came to, how many trials are counted against it, and the key of
-- its look.
ALTER TABLE operations ADD COLUMN rung   TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN score  DOUBLE PRECISION;
ALTER TABLE operations ADD COLUMN trials BIGINT NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN look   TEXT COLLATE "C" NOT NULL DEFAULT '';

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

-- What an earlier version wrote. PostgreSQL does not look into JSON with an escaped
-- NUL, so it is left out; no text must keep the database from being opened.

-- +goose StatementBegin
CREATE FUNCTION ledger_json(given text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF strpos(given, '\u0000') > 0 THEN
        given := regexp_replace(given, '(?<!\\)((\\\\)*)\\u0000', '\1', 'g');
    END IF;
    RETURN given::json;
EXCEPTION WHEN others THEN
    RETURN '{}'::json;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION ledger_list(given json) RETURNS SETOF json LANGUAGE sql IMMUTABLE AS $$
    SELECT json_array_elements(CASE WHEN json_typeof(given) = 'array' THEN given ELSE '[]'::json END);
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION ledger_micros(given text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (EXTRACT(EPOCH FROM given::timestamptz) * 1000000)::bigint;
$$;
-- +goose StatementEnd

-- A child belongs to the run of its parent.
DROP TRIGGER operations_place ON operations;
UPDATE operations AS o SET run = r.run, generation = r.generation, idx = r.idx
FROM operations AS r WHERE o.parent_id IS NOT NULL AND r.id = o.root_id AND r.run <> '';

UPDATE operations SET
    trials = COALESCE((ledger_json(spec) -> 'trials' ->> 'planned')::bigint, 0),
    rung   = CASE
        WHEN status <> 'COMPLETED' THEN ''
        WHEN ledger_json(result) ->> 'outcome' = 'gate_rejected' THEN 'gate_rejected'
        WHEN ledger_json(result) ->> 'holdout_opened' = 'true' THEN 'finalist'
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
            CASE WHEN stopped_at IS NULL AND until > ledger_micros(now()::text) THEN 1 ELSE 0 END AS lasts
        FROM (SELECT run AS id, COALESCE(MIN(ledger_json(metadata) ->> 'brief'), '') AS goal, MIN(created_at) AS created_at,
                MAX(ledger_micros(ledger_json(spec) ->> 'until')) AS until,
                GREATEST(1, COALESCE(MAX((ledger_json(spec) ->> 'generation_size')::bigint), 8)) AS size, MAX(completed_at) AS last,
                MAX(CASE WHEN cancel_reason = 'The run was cancelled' THEN COALESCE(completed_at, ledger_micros(now()::text)) END) AS stopped_at,
                MAX(CASE WHEN completed_at IS NULL AND cancel_reason <> 'The run was cancelled' THEN claimed_at END) AS resumed_at,
                MAX(generation) + 1 AS generations,
                COALESCE(MIN(CASE WHEN completed_at IS NULL THEN generation END), MAX(generation) + 1) AS closed,
                COUNT(*) FILTER (WHERE retry_of IS NULL) AS created, COUNT(*) FILTER (WHERE completed_at IS NULL) AS open,
                COUNT(*) FILTER (WHERE status = 'COMPLETED' AND rung <> 'gate_rejected') AS completed,
                COUNT(*) FILTER (WHERE rung = 'gate_rejected') AS rejected, COUNT(*) FILTER (WHERE status = 'FAILED') AS failed,
                COUNT(*) FILTER (WHERE status = 'CANCELLED') AS cancelled, COUNT(*) FILTER (WHERE rung = 'finalist') AS finalists
            FROM operations WHERE queue <> '' AND run <> '' GROUP BY run) AS counted) AS judged;

-- A market for each symbol that was researched, tried or looked at. It has no
-- series yet: the first series of that symbol is this market. Its holdout begins
-- where no research has searched.
INSERT INTO markets (id, symbol, created_at)
    SELECT 'mkt_' || substr(md5(random()::text || symbol), 1, 12), symbol, MIN(at) FROM (
        SELECT bars ->> 'symbol' AS symbol, o.created_at AS at FROM operations AS o, ledger_list(ledger_json(o.spec) -> 'bars') AS bars
            WHERE o.queue <> '' AND o.run <> '' OR o.id IN (SELECT operation_id FROM notes WHERE kind = 'trial')
        UNION ALL
        SELECT span ->> 'symbol', n.at FROM notes AS n, ledger_list(ledger_json(n.data) -> 'spans') AS span WHERE n.kind = 'opening') AS seen
    WHERE symbol <> '' GROUP BY symbol;
UPDATE markets SET holdout_from = (
    SELECT MAX(ledger_micros(span ->> 'from')) FROM operations AS o, ledger_list(ledger_json(o.spec) -> 'sealed') AS span
    WHERE o.queue <> '' AND o.run <> '' AND span ->> 'symbol' = markets.symbol);

-- Trials were noted when they had met the data. A research that can still meet it
-- is counted too.
INSERT INTO trials (market_id, key, main, operation_id, run, generation, idx, symbols, timeframes, created_at,
        ended, strategy, sharpe, net_return, max_drawdown, trades, result_hash)
    SELECT m.id, tried.key, MAX(CASE WHEN m.symbol = COALESCE(read.spec ->> 'symbol', read.spec -> 'bars' -> 0 ->> 'symbol') THEN 1 ELSE 0 END),
        MIN(o.id), MIN(o.run), MIN(o.generation), MIN(o.idx), MIN(m.symbol), COALESCE(string_agg(DISTINCT bars ->> 'timeframe', ' '), ''), MIN(tried.at),
        MAX(CASE WHEN o.status = 'COMPLETED' THEN 1 ELSE 0 END), COALESCE(MIN(read.data ->> 'strategy_name'), ''), MIN((read.data ->> 'sharpe_ratio')::double precision),
        MIN((read.result -> 'backtest_result' ->> 'net_return')::double precision), MIN((read.result -> 'backtest_result' ->> 'max_drawdown')::double precision),
        COALESCE(MIN((read.data ->> 'total_trades')::bigint), 0), COALESCE(MIN(read.result ->> 'result_hash'), MIN(read.data ->> 'backtest_hash'), '')
    FROM (SELECT operation_id, key, at, data FROM notes WHERE kind = 'trial'
            UNION ALL
            SELECT id, id, created_at, '{}' FROM operations WHERE queue <> '' AND run <> ''
                AND (completed_at IS NULL OR status IN ('FAILED', 'CANCELLED') AND ckpt_id IS NOT NULL)
                AND id NOT IN (SELECT operation_id FROM notes WHERE kind = 'trial')) AS tried
        JOIN operations AS o ON o.id = tried.operation_id
        CROSS JOIN LATERAL (SELECT ledger_json(tried.data) AS data, ledger_json(o.spec) AS spec, ledger_json(o.result) AS result) AS read
        CROSS JOIN LATERAL ledger_list(read.spec -> 'bars') AS bars
        JOIN markets AS m ON m.symbol = bars ->> 'symbol'
    GROUP BY m.id, tried.key;

INSERT INTO looks (key, operation_id, kind, research_id, run, generation, strategy, before, spans, reserved_at, ended_at)
    SELECT n.key, COALESCE(n.data ->> 'by', ''), CASE WHEN n.run = '' THEN 'by_hand' ELSE 'confirmation' END,
        COALESCE(n.data ->> 'of', ''), n.run, n.generation, COALESCE((SELECT ledger_json(o.result) ->> 'strategy_name' FROM operations AS o WHERE o.id = n.data ->> 'of'), ''),
        0, COALESCE((n.data -> 'spans')::text, '[]'), n.at, n.at
    FROM (SELECT key, run, generation, at, ledger_json(data) AS data FROM notes WHERE kind = 'opening') AS n;

INSERT INTO look_markets (market_id, number, look_key)
    SELECT market, ROW_NUMBER() OVER (PARTITION BY market ORDER BY id), key FROM (
        SELECT DISTINCT m.id AS market, n.id AS id, n.key AS key
        FROM notes AS n CROSS JOIN ledger_list(ledger_json(n.data) -> 'spans') AS span JOIN markets AS m ON m.symbol = span ->> 'symbol'
        WHERE n.kind = 'opening') AS seen;

UPDATE looks SET
    before     = COALESCE((SELECT MAX(number) - 1 FROM look_markets WHERE look_key = looks.key), 0),
    claim      = CASE WHEN kind = 'confirmation' THEN
        COALESCE((SELECT CASE WHEN ledger_json(o.result) ->> 'claim' = 'true' THEN 1 ELSE 0 END FROM operations AS o WHERE o.id = looks.research_id), 0) ELSE 0 END,
    adjusted_p = CASE WHEN kind = 'confirmation' THEN
        (SELECT (ledger_json(o.result) -> 'backtest_result' ->> 'luck_p')::double precision FROM operations AS o WHERE o.id = looks.research_id) END;
UPDATE operations SET look = (SELECT MIN(key) FROM looks WHERE operation_id = operations.id)
    WHERE id IN (SELECT operation_id FROM looks WHERE operation_id <> '');
UPDATE markets SET
    trials = (SELECT COUNT(*) FROM trials WHERE market_id = markets.id),
    looks  = (SELECT COUNT(*) FROM look_markets WHERE market_id = markets.id);
UPDATE runs SET
    looks  = (SELECT COUNT(*) FROM looks WHERE run = runs.id),
    claims = (SELECT COUNT(*) FROM looks WHERE run = runs.id AND claim = 1);

DROP FUNCTION ledger_micros(text);
DROP FUNCTION ledger_list(json);
DROP FUNCTION ledger_json(text);

CREATE TRIGGER operations_place BEFORE UPDATE OF queue, run, generation, idx, session, trials, look ON operations FOR EACH ROW
EXECUTE FUNCTION operations_refuse('where an operation stands in its queue and in the ledger cannot be changed');

-- The ledger only grows.

-- +goose StatementBegin
CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring') THEN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER markets_delete BEFORE DELETE ON markets FOR EACH ROW
EXECUTE FUNCTION ledger_refuse('markets: a market stays');

CREATE TRIGGER market_series_delete BEFORE DELETE ON market_series FOR EACH ROW
EXECUTE FUNCTION ledger_refuse('market_series: a series stays assigned');

CREATE TRIGGER trials_delete BEFORE DELETE ON trials FOR EACH ROW
EXECUTE FUNCTION ledger_refuse('trials: what was tried stays counted');

CREATE TRIGGER looks_delete BEFORE DELETE ON looks FOR EACH ROW
EXECUTE FUNCTION ledger_refuse('looks: a look stays counted');

CREATE TRIGGER look_markets_delete BEFORE DELETE ON look_markets FOR EACH ROW
EXECUTE FUNCTION ledger_refuse('look_markets: a look stays counted');

CREATE TRIGGER looks_update BEFORE UPDATE ON looks FOR EACH ROW
WHEN (OLD.ended_at IS NOT NULL OR NEW.key <> OLD.key OR NEW.operation_id <> OLD.operation_id OR NEW.before <> OLD.before)
EXECUTE FUNCTION ledger_refuse('looks: a look ends once, and nothing else of it changes');

-- The counts of a market and of a run.

-- +goose StatementBegin
CREATE FUNCTION markets_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring') THEN
        UPDATE markets SET trials = trials + 1 WHERE id = NEW.market_id;
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER trials_created AFTER INSERT ON trials FOR EACH ROW
EXECUTE FUNCTION markets_count();

-- +goose StatementBegin
CREATE FUNCTION runs_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM meta WHERE key = 'restoring') THEN
        RETURN NULL;
    END IF;
    IF TG_TABLE_NAME = 'looks' AND TG_OP = 'INSERT' THEN
        UPDATE runs SET looks = looks + 1 WHERE id = NEW.run;
    ELSIF TG_TABLE_NAME = 'looks' THEN
        UPDATE runs SET claims = claims + NEW.claim - OLD.claim WHERE id = NEW.run;
    ELSIF TG_OP = 'INSERT' THEN
        UPDATE runs SET created = created + (NEW.retry_of IS NULL)::int, open = open + 1,
            generations = GREATEST(generations, NEW.generation + 1)
        WHERE id = NEW.run;
    ELSE
        UPDATE runs SET
            open      = open + (NEW.completed_at IS NULL)::int - (OLD.completed_at IS NULL)::int,
            completed = completed + (NEW.status = 'COMPLETED' AND NEW.rung <> 'gate_rejected')::int,
            rejected  = rejected + (NEW.status = 'COMPLETED' AND NEW.rung = 'gate_rejected')::int,
            finalists = finalists + (NEW.status = 'COMPLETED' AND NEW.rung = 'finalist')::int,
            failed    = failed + (NEW.status = 'FAILED')::int - (OLD.status = 'FAILED')::int,
            cancelled = cancelled + (NEW.status = 'CANCELLED')::int - (OLD.status = 'CANCELLED')::int
        WHERE id = NEW.run;
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER looks_created AFTER INSERT ON looks FOR EACH ROW
WHEN (NEW.run <> '')
EXECUTE FUNCTION runs_count();

CREATE TRIGGER looks_claimed AFTER UPDATE OF claim ON looks FOR EACH ROW
WHEN (NEW.run <> '' AND NEW.claim <> OLD.claim)
EXECUTE FUNCTION runs_count();

CREATE TRIGGER runs_count_new AFTER INSERT ON operations FOR EACH ROW
WHEN (NEW.queue <> '' AND NEW.run <> '')
EXECUTE FUNCTION runs_count();

CREATE TRIGGER runs_count_end AFTER UPDATE OF completed_at ON operations FOR EACH ROW
WHEN (NEW.queue <> '' AND NEW.run <> '' AND (NEW.completed_at IS NULL) <> (OLD.completed_at IS NULL))
EXECUTE FUNCTION runs_count();

-- +goose Down
DROP TRIGGER runs_count_end ON operations;
DROP TRIGGER runs_count_new ON operations;
DROP TRIGGER operations_place ON operations;
DROP TABLE look_markets;
DROP TABLE looks;
DROP TABLE trials;
DROP TABLE market_series;
DROP TABLE markets;
DROP TABLE runs;
DROP FUNCTION runs_count();
DROP FUNCTION markets_count();
DROP FUNCTION ledger_refuse();
DROP INDEX operations_alone;
DROP INDEX operations_turn;
DROP INDEX operations_researches;
DROP INDEX operations_of_run;
DROP INDEX operations_queue;
CREATE INDEX operations_queue ON operations (operation_type, priority DESC, root_created_at, id, is_backend_local, not_before)
    WHERE status = 'PENDING' AND has_plan = 0;
UPDATE operations SET run = '', generation = 0, idx = 0 WHERE parent_id IS NOT NULL AND run <> '';
ALTER TABLE operations DROP COLUMN look;
ALTER TABLE operations DROP COLUMN trials;
ALTER TABLE operations DROP COLUMN score;
ALTER TABLE operations DROP COLUMN rung;
CREATE TRIGGER operations_place BEFORE UPDATE OF queue, run, generation, idx, session ON operations FOR EACH ROW
EXECUTE FUNCTION operations_refuse('where an operation stands in its queue cannot be changed');
