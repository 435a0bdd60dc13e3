-- +goose Up

-- Nothing: this number repairs a trigger of SQLite, and both have every number.

-- +goose Down
