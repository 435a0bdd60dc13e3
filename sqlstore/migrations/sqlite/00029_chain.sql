-- +goose Up

-- The chain of a market's ledger: each link is the hash of the one before and of
-- its entry. Rows are added in the transaction that ends what they are about.
CREATE TABLE ledger_links (
    market_id TEXT    NOT NULL,
    position  INTEGER NOT NULL,
    hash      TEXT    NOT NULL,
    entry     TEXT    NOT NULL,
    added_at  INTEGER NOT NULL,

    PRIMARY KEY (market_id, position)
) STRICT;

-- The newest link, and what was counted before the chain began.
ALTER TABLE markets ADD COLUMN chain_links    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE markets ADD COLUMN chain_head     TEXT    NOT NULL DEFAULT '';
ALTER TABLE markets ADD COLUMN earlier_trials INTEGER NOT NULL DEFAULT 0;
ALTER TABLE markets ADD COLUMN earlier_looks  INTEGER NOT NULL DEFAULT 0;

-- Looks at earlier holdouts of the market, which later looks do not pay for.
ALTER TABLE markets ADD COLUMN looks_past INTEGER NOT NULL DEFAULT 0;

-- Where a trial stands in the chain: NULL while it is not in it, 0 if it ended
-- before the chain began.
ALTER TABLE trials ADD COLUMN link INTEGER;
UPDATE trials SET link = 0 WHERE EXISTS (SELECT 1 FROM operations AS o WHERE o.id = trials.operation_id AND o.completed_at IS NOT NULL)
    AND (run = '' OR NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.id = trials.run AND r.ended_at IS NULL AND r.closed <= trials.generation));
UPDATE markets SET earlier_looks = looks,
    earlier_trials = (SELECT COUNT(*) FROM trials WHERE market_id = markets.id AND link = 0);
CREATE INDEX trials_unlinked ON trials (market_id, run, generation) WHERE link IS NULL;

-- The heads of a run's markets when it last added a link.
ALTER TABLE runs ADD COLUMN heads TEXT NOT NULL DEFAULT '[]';

-- +goose StatementBegin
CREATE TRIGGER ledger_links_update BEFORE UPDATE ON ledger_links
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'ledger_links: a link stays as it is');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER ledger_links_delete BEFORE DELETE ON ledger_links
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = 'restoring')
BEGIN
    SELECT RAISE(ABORT, 'ledger_links: a link stays as it is');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE ledger_links;
DROP INDEX trials_unlinked;
ALTER TABLE runs DROP COLUMN heads;
ALTER TABLE trials DROP COLUMN link;
ALTER TABLE markets DROP COLUMN looks_past;
ALTER TABLE markets DROP COLUMN earlier_looks;
ALTER TABLE markets DROP COLUMN earlier_trials;
ALTER TABLE markets DROP COLUMN chain_head;
ALTER TABLE markets DROP COLUMN chain_links;
