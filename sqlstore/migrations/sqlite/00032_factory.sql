-- +goose Up

-- The test of a whole run on permuted copies of its bars. test_reserved_at is NULL while
-- there is none, tested_at until it has ended.
ALTER TABLE runs ADD COLUMN test_reserved_at INTEGER;
ALTER TABLE runs ADD COLUMN test_before      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN test_id          TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN test_p           REAL;
ALTER TABLE runs ADD COLUMN test_threshold   REAL NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN test_copies      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN test_best        TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN test_passed      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN tested_at        INTEGER;

-- How many runs on a market were tested so.
ALTER TABLE markets ADD COLUMN tests INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE markets DROP COLUMN tests;
ALTER TABLE runs DROP COLUMN tested_at;
ALTER TABLE runs DROP COLUMN test_passed;
ALTER TABLE runs DROP COLUMN test_best;
ALTER TABLE runs DROP COLUMN test_copies;
ALTER TABLE runs DROP COLUMN test_threshold;
ALTER TABLE runs DROP COLUMN test_p;
ALTER TABLE runs DROP COLUMN test_id;
ALTER TABLE runs DROP COLUMN test_before;
ALTER TABLE runs DROP COLUMN test_reserved_at;
