-- +goose Up

-- Holdouts that a later one of the same market has replaced. The newest is in markets.
CREATE TABLE earlier_holdouts (
    market_id   TEXT    NOT NULL,
    from_at     INTEGER NOT NULL, -- bars that close after this are in it
    looks_past  INTEGER NOT NULL, -- looks of the market that a look at it does not pay for
    replaced_at INTEGER NOT NULL,

    PRIMARY KEY (market_id, from_at)
) STRICT;

-- The close of the last bar that a look at the market used; 0 before the first. Of a
-- look that does not name its bars it is the time at which it was reserved.
ALTER TABLE markets ADD COLUMN looked_until INTEGER NOT NULL DEFAULT 0;
UPDATE markets SET looked_until = COALESCE((
    SELECT MAX(COALESCE((
        SELECT MAX(CAST(ROUND(unixepoch(span.value ->> '$.to', 'subsec') * 1000000.0) AS INTEGER)) FROM json_each(l.spans) AS span
        WHERE span.type = 'object'), l.reserved_at))
    FROM look_markets AS m JOIN looks AS l ON l.key = m.look_key WHERE m.market_id = markets.id), 0);

-- Where the holdout begins that a look is at; 0: the market had none.
ALTER TABLE look_markets ADD COLUMN holdout_from INTEGER NOT NULL DEFAULT 0;
UPDATE look_markets SET holdout_from = COALESCE((SELECT holdout_from FROM markets WHERE id = look_markets.market_id), 0);

-- +goose Down
ALTER TABLE look_markets DROP COLUMN holdout_from;
ALTER TABLE markets DROP COLUMN looked_until;
DROP TABLE earlier_holdouts;
