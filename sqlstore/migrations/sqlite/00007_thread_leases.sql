-- +goose Up

-- Who alone may write to a thread, and until when. A token outlives its lease:
-- the next is greater.
ALTER TABLE threads ADD COLUMN lease_token INTEGER;
ALTER TABLE threads ADD COLUMN lease_holder TEXT;
ALTER TABLE threads ADD COLUMN lease_until INTEGER;

-- +goose Down
ALTER TABLE threads DROP COLUMN lease_until;
ALTER TABLE threads DROP COLUMN lease_holder;
ALTER TABLE threads DROP COLUMN lease_token;
