-- +goose Up

-- Values that are blobs, by what names the blob.
CREATE INDEX contents_blobs ON contents (type) WHERE substr(type, 1, 14) = '{"ktrdr_blob":';
CREATE INDEX writes_blobs   ON checkpoint_writes (type) WHERE substr(type, 1, 14) = '{"ktrdr_blob":';

-- +goose Down
DROP INDEX writes_blobs;
DROP INDEX contents_blobs;
