-- +goose Up

-- Why a breaker last opened by itself. A person's decision replaces reason and
-- changed_by, and must not hide it.
ALTER TABLE breakers ADD COLUMN trip_reason TEXT NOT NULL DEFAULT '';

UPDATE breakers SET trip_reason = COALESCE((
    SELECT h.reason FROM breaker_history AS h
    WHERE h.name = breakers.name AND h.to_state = 'OPEN' AND h.changed_by = ''
    ORDER BY h.version DESC LIMIT 1), '');

-- +goose Down
ALTER TABLE breakers DROP COLUMN trip_reason;
