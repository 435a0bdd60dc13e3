package sqlstore

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"runtime/debug"
	"time"

	"github.com/ktrdr/ktrdr"
)

// A backup is a tar archive that either database can be restored from:
//
//	manifest.json           what made it, the schema, the tables and their columns
//	tables/NAME/000001.ndjson  rows, one JSON array each, in pieces of about a megabyte
//	blobs/SHA256            the bytes of every blob that a row names
//	end.json                how much there was, and which blobs were damaged
//	sha256                  the proof of all that: an archive without it is cut off
//
// In a row, text is a string, an integer a number, bytes are {"b": base64} and
// other numbers {"f": number}; true and false are 1 and 0.

// backupFormat is the version of the above.
const backupFormat = 2

// pieceSize bounds what is held in memory: tar wants to know the size of what
// follows.
const pieceSize = 1 << 20

const (
	manifestName = "manifest.json"
	endName      = "end.json"
	sumName      = "sha256"
	tablesDir    = "tables/"
	blobsDir     = "blobs/"
)

type manifest struct {
	Format    int       `json:"format"`
	Schema    int64     `json:"schema_version"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"` // on the database's clock
	Tables    []table   `json:"tables"`
}

type ending struct {
	Rows    map[string]int64 `json:"rows"` // by table
	Blobs   int64            `json:"blobs"`
	Damaged []ktrdr.Hash     `json:"damaged,omitempty"` // blobs that were missing or not what their name says
}

// BlobSource is where a backup finds blobs.
type BlobSource interface {
	Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error)
}

// Backup writes everything that s holds, as of one instant. Others read and write
// meanwhile, but no backend deletes blobs. A blob that is missing or damaged does
// not stop the backup: it is noted in the archive, and returned.
func Backup(ctx context.Context, s *Store, blobs BlobSource, w io.Writer) (damaged []ktrdr.Hash, err error) {
	unmark, err := s.markBackup(ctx, backupRenew, backupLasts)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer unmark()
	b := &backup{store: s, archive: tar.NewWriter(w), sum: sha256.New(), blobs: blobs, end: ending{Rows: map[string]int64{}}}
	err = s.db.readOnce(ctx, func(r queryer) error {
		if err := b.write(ctx, r); err != nil {
			return err
		}
		return b.archive.Close()
	})
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return b.end.Damaged, nil
}

// backup is one that is being written.
type backup struct {
	store   *Store
	archive *tar.Writer
	sum     hash.Hash // over what was written; see archive
	blobs   BlobSource
	at      time.Time
	end     ending
}

func (b *backup) write(ctx context.Context, r queryer) error {
	if err := r.row(ctx, `SELECT {now}`).Scan((*moment)(&b.at)); err != nil {
		return err
	}
	tables, err := b.store.tables(ctx, r)
	if err != nil {
		return err
	}
	for i := range tables {
		if err := b.store.loadSequence(ctx, r, &tables[i]); err != nil {
			return fmt.Errorf("table %s: %w", tables[i].Name, err)
		}
	}
	m := manifest{Format: backupFormat, Schema: b.store.schema, CreatedBy: createdBy(), CreatedAt: b.at, Tables: tables}
	if err := b.addJSON(manifestName, m); err != nil {
		return err
	}
	for _, t := range tables {
		if err := b.addTable(ctx, r, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	hashes, err := blobsNamed(ctx, r)
	if err != nil {
		return err
	}
	for _, h := range hashes {
		if err := b.addBlob(ctx, h); err != nil {
			return fmt.Errorf("blob %s: %w", h, err)
		}
	}
	if err := b.addJSON(endName, b.end); err != nil {
		return err
	}
	return b.add(sumName, []byte(hex.EncodeToString(b.sum.Sum(nil))+"\n"))
}

func createdBy() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return "ktrdr " + info.Main.Version
	}
	return "ktrdr"
}

func (b *backup) addJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return b.add(name, append(text, '\n'))
}

func (b *backup) add(name string, data []byte) error {
	if err := b.header(name, int64(len(data))); err != nil {
		return err
	}
	_, err := b.Write(data)
	return err
}

// Write adds to the entry.
func (b *backup) Write(p []byte) (int, error) {
	n, err := b.archive.Write(p)
	b.sum.Write(p[:n])
	return n, err
}

func (b *backup) header(name string, size int64) error {
	sumEntry(b.sum, name, size)
	return b.archive.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: b.at, Format: tar.FormatPAX})
}

// addTable writes the rows of t in pieces.
func (b *backup) addTable(ctx context.Context, r queryer, t table) error {
	text := "SELECT " + t.columnList() + " FROM " + t.quoted()
	if t.Name == metaTable { // which blobs these are is no property of the rows
		text += " WHERE key NOT IN ('" + metaBlobRoot + "', '" + metaUnfinished + "', '" + metaTraces + "') AND key NOT LIKE '" + metaProbe +
			"%' AND key NOT LIKE '" + metaBackup + "%'"
	}
	var piece bytes.Buffer
	pieces, encoder := 0, json.NewEncoder(&piece)
	flush := func() error {
		if piece.Len() == 0 {
			return nil
		}
		pieces++
		err := b.add(fmt.Sprintf("%s%s/%06d.ndjson", tablesDir, t.Name, pieces), piece.Bytes())
		piece.Reset()
		return err
	}
	values, dest := make([]cell, len(t.Columns)), make([]any, len(t.Columns))
	for i := range values {
		dest[i] = &values[i].value
	}
	err := eachRow(ctx, r, func(row scanner) error {
		err := row.Scan(dest...)
		if err == nil {
			err = encoder.Encode(values)
		}
		b.end.Rows[t.Name]++
		if err == nil && piece.Len() >= pieceSize {
			err = flush()
		}
		return err
	}, query(text))
	if err != nil {
		return err
	}
	return flush()
}

// addBlob copies one blob, looking at what it copies.
func (b *backup) addBlob(ctx context.Context, h ktrdr.Hash) error {
	blob, err := b.blobs.Open(ctx, h)
	switch ktrdr.CodeOf(err) {
	case "":
	case ktrdr.CodeNotFound, ktrdr.CodeCorrupt:
		b.end.Damaged = append(b.end.Damaged, h)
		return nil
	default:
		return err
	}
	defer blob.Close()
	if err := b.header(blobsDir+h.String(), blob.Size()); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(b, sum), blob); err != nil {
		return err
	}
	b.end.Blobs++
	if !bytes.Equal(sum.Sum(nil), h[:]) {
		b.end.Damaged = append(b.end.Damaged, h)
	}
	return nil
}

// sqlBlobs finds the texts that may name blobs, the same that BlobRefs looks
// at.
const sqlBlobs query = `SELECT artifacts FROM checkpoints WHERE artifacts IS NOT NULL
	UNION ALL SELECT state_blob FROM checkpoints WHERE state_blob IS NOT NULL
	UNION ALL SELECT spec FROM operations WHERE (compacted = 0 OR parent_id IS NULL) AND spec LIKE '%"sha256"%'
	UNION ALL SELECT state FROM operations WHERE compacted = 0 AND state LIKE '%"sha256"%'
	UNION ALL SELECT result FROM operations WHERE compacted = 0 AND result LIKE '%"sha256"%'
	UNION ALL SELECT data FROM notes WHERE data LIKE '%"sha256"%'
	UNION ALL SELECT prices FROM market_series WHERE prices NOT LIKE '%"size":0}'
	UNION ALL SELECT file FROM bars
	UNION ALL SELECT result FROM looks WHERE result LIKE '%"sha256"%'
	UNION ALL SELECT type FROM thread_values WHERE ` + isBlobValue + `
	UNION ALL SELECT type FROM checkpoint_writes WHERE ` + isBlobValue

// blobsNamed lists, once each and sorted, the blobs that rows of this snapshot
// name.
func blobsNamed(ctx context.Context, r queryer) ([]ktrdr.Hash, error) {
	named := blobSet{}
	err := eachRow(ctx, r, func(row scanner) error {
		var text json.RawMessage
		err := row.Scan((*document)(&text))
		named.add(text)
		return err
	}, sqlBlobs)
	return named.list(), err
}
