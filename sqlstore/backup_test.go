package sqlstore

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// blobMap is a blob store for these tests.
type blobMap map[ktrdr.Hash][]byte

type blobBytes struct{ *bytes.Reader }

func (b blobBytes) Close() error { return nil }

func (m blobMap) Open(_ context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	data, ok := m[h]
	if !ok {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
	}
	return blobBytes{bytes.NewReader(data)}, nil
}

func (m blobMap) Put(_ context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	if sha256.Sum256(data) != want {
		return 0, ktrdr.Errorf(ktrdr.CodeCorrupt, "other bytes than %s", want)
	}
	m[want] = data
	return int64(len(data)), nil
}

// populate fills the real schema with rows of every kind, past the triggers,
// and returns the blobs that they name.
func populate(t *testing.T, s *Store) blobMap {
	t.Helper()
	ctx := t.Context()
	blobs := blobMap{}
	name := func(text string) string {
		h := ktrdr.Hash(sha256.Sum256([]byte(text)))
		blobs[h] = []byte(text)
		artifact, err := json.Marshal(ktrdr.Artifact{Name: "a", SHA256: h, Size: int64(len(text))})
		if err != nil {
			t.Fatal(err)
		}
		return string(artifact)
	}
	exec := func(tx *tx, q query, args ...any) {
		t.Helper()
		if _, err := tx.exec(ctx, q, args...); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	err := s.write(ctx, normal, func(tx *tx) error {
		exec(tx, `INSERT INTO meta (key, value) VALUES ($1, '1'), ($2, 'the root here'), ('paused', '1')`, metaRestoring, metaBlobRoot)
		for i := range 120 {
			exec(tx, `INSERT INTO operations (id, operation_type, status, epoch, root_id, root_created_at, spec, created_at, completed_at)
				VALUES ($1, 'dummy', 'COMPLETED', 3, $1, $2, $3, $2, $2)`,
				fmt.Sprintf("op_%03d", i), int64(1_700_000_000_000_000+i), strings.Repeat("ü\n\"\\ 🙂", i*20))
			exec(tx, `INSERT INTO events (tx, operation_id, kind, at, epoch, data) VALUES ($1, $2, 'created', $3, 0, '{}')`,
				int64(1000+i), fmt.Sprintf("op_%03d", i), int64(i))
		}
		exec(tx, `DELETE FROM events WHERE operation_id > 'op_100'`)
		exec(tx, `UPDATE operations SET result = $1 WHERE id = 'op_003'`, `{"model":`+name("model")+`}`)
		exec(tx, `UPDATE operations SET compacted = 1, packed = $1 WHERE id = 'op_004'`, []byte{packedVersion, 0, 255})
		exec(tx, `INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, checkpoint_type, artifacts, state_blob)
			VALUES ('', 'op_001', '', '1', 5, 'final', $1, NULL), ('', 'op_002', '', '1', 5, 'final', NULL, $2)`,
			"["+name("weights")+","+name("trades")+"]", name("state"))
		exec(tx, `INSERT INTO checkpoint_blobs (sha256, operation_id, checkpoint_id) VALUES ('0a', 'op_001', '1')`)
		exec(tx, `INSERT INTO thread_values (tenant, thread_id, ns, channel, version, place, hash, type, bytes)
			VALUES ('', 't', '', 'a', '1', 0, $1, 'json', $2), ('', 't', '', 'b', '1', 0, $3, 'none', $4)`,
			[]byte{0, 1, 255}, []byte("a\x00b"), []byte("empty"), []byte{})
		exec(tx, `INSERT INTO notes (id, kind, key, run, generation, idx, operation_id, at, data)
			VALUES (1, 'trial', 'a', 'r', 2, 3, 'op_003', 7, '{}'), (5, 'trial', 'b', 'r', 2, 4, 'op_004', 8, $1)`, `{"plot":`+name("plot")+`}`)
		exec(tx, `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, at, settled_at, answer)
			VALUES (1, 'op_003', 'op_004', 1, 'k', 'm', 'reserved', 9, 7, NULL, NULL),
				(2, 'op_003', 'op_004', 1, 'k', 'm', 'answered', 9, 7, 8, '{"é":1}')`)
		exec(tx, `INSERT INTO breakers (name, scope, state, forced, retry_at, trips, held, reason, changed_by, changed_at, version)
			VALUES ('agent:a', 'agent', 'OPEN', '', 9, 1, 0, 'r', '', 8, 2)`)
		exec(tx, `INSERT INTO breaker_history (name, version, from_state, to_state, reason, changed_by, at, detail)
			VALUES ('agent:a', 2, 'CLOSED', 'OPEN', 'r', '', 8, '{}')`)
		exec(tx, `INSERT INTO operations (id, operation_type, status, epoch, root_id, root_created_at, spec, created_at, not_before)
			VALUES ('op_waits', 'dummy', 'PENDING', 3, 'op_waits', 1, '{}', 1, 4000000000000000)`)
		exec(tx, `INSERT INTO operations (id, operation_type, status, epoch, root_id, root_created_at, spec, created_at, completed_at,
				queue, run, generation, idx, session, has_plan, rung, score, trials, look)
			VALUES ('op_research', 'agent_research', 'COMPLETED', 3, 'op_research', 1, '{}', 1, 2,
				'research', 'run', 1, 2, 7, 1, 'finalist', 0.1, 12, 'key')`)
		exec(tx, `INSERT INTO runs (id, goal, request, created_at, until, generation_size, planned, state, cancelled_at, cancelled_by,
				cancel_reason, given_up, ended_at, told_at, tell_lease, generations, closed, created, open, completed, rejected, failed,
				cancelled, finalists, looks, claims)
			VALUES ('run', 'goal', '{"é":1}', 1, 2, 8, 9, 'CANCELLED', 3, 'a', 'b', 'c', 4, 5, 6, 11, 10, 21, 22, 23, 24, 25, 26, 27, 28, 29)`)
		exec(tx, `INSERT INTO markets (id, symbol, created_at, holdout_from, trials, looks, merged_into)
			VALUES ('mkt_1', 'A', 1, 2, 31, 32, NULL), ('mkt_2', 'B', 1, NULL, 0, 0, 'mkt_1')`)
		exec(tx, `INSERT INTO market_series (symbol, timeframe, bars_hash, market_id, first_at, last_at, bars, prices, reason, added_at)
			VALUES ('A', '1h', $1, 'mkt_1', 1, 2, 3, $2, 'first', 4), ('B', '1h', $1, 'mkt_1', 1, 2, 3, '{}', 'the same', 4)`,
			ktrdr.Hash{1}.String(), name("prices"))
		exec(tx, `INSERT INTO trials (market_id, key, main, operation_id, run, generation, idx, symbols, timeframes, created_at, ended,
				strategy, sharpe, score)
			VALUES ('mkt_1', 'key', 1, 'op_research', 'run', 1, 2, 'A', '1h', 1, 1, 's', 0.30000000000000004, NULL),
				('mkt_1', 'k2', 0, 'op_003', '', 0, 0, 'A', '1h', 1, 0, '', 1, -3e-300)`)
		exec(tx, `INSERT INTO looks (key, operation_id, kind, research_id, run, generation, strategy, before, spans, reserved_at, ended_at,
				p, adjusted_p, claim, result)
			VALUES ('key', 'op_004', 'confirmation', 'op_research', 'run', 1, 's', 0, '[]', 1, 2, 0.1, 0.2, 1, $1)`, `{"curve":`+name("curve")+`}`)
		exec(tx, `INSERT INTO look_markets (market_id, number, look_key) VALUES ('mkt_1', 1, 'key')`)
		exec(tx, `INSERT INTO meta (key, value) VALUES ($1, '41')`, metaSessions)
		exec(tx, `INSERT INTO workers (id, name, types, slots, held_by, host, pid, version, registered_at, seen_at)
			VALUES ('w', '', '[]', 1, '', '', 1, '', 1, 1)`)
		exec(tx, `DELETE FROM meta WHERE key = $1`, metaRestoring)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return blobs
}

// contentsOfBackup returns the entries of an archive; rows are sorted, and
// without what may differ between two databases.
func contentsOfBackup(t *testing.T, archive []byte) map[string][]string {
	t.Helper()
	entries := map[string][]string{}
	tables := map[string]table{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case h.Name == manifestName:
			var m manifest
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			for _, table := range m.Tables {
				tables[table.Name] = table
				entries["table "+table.Name] = append(table.Columns, fmt.Sprint(table.Sequence))
			}
		case strings.HasPrefix(h.Name, tablesDir):
			name := path.Base(path.Dir(h.Name))
			for line := range strings.Lines(string(data)) {
				if name == eventsTable {
					line = withoutTx(t, line, tables[name])
				}
				entries["rows "+name] = append(entries["rows "+name], line)
			}
		case h.Name == sumName: // of another instant, so another sum
		default:
			entries[h.Name] = []string{string(data)}
		}
	}
	for _, lines := range entries {
		slices.Sort(lines)
	}
	return entries
}

func withoutTx(t *testing.T, line string, events table) string {
	t.Helper()
	var row []json.RawMessage
	if err := json.Unmarshal([]byte(line), &row); err != nil {
		t.Fatal(err)
	}
	row[slices.Index(events.Columns, "tx")] = json.RawMessage("0")
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustBackup(t *testing.T, s *Store, blobs BlobSource) []byte {
	t.Helper()
	var archive bytes.Buffer
	if _, err := Backup(t.Context(), s, blobs, &archive); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func TestBackup_RestoresToTheSameRows(t *testing.T) {
	places := map[string]func(testing.TB) string{"SQLite": InstalledSQLite, "PostgreSQL": InstalledPostgres}
	for from, fromURL := range places {
		for to, toURL := range places {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				source := openTest(t, fromURL(t), migrations)
				blobs := populate(t, source)
				archive := mustBackup(t, source, blobs)

				target, restored := openTest(t, toURL(t), migrations), blobMap{}
				if _, err := Restore(t.Context(), target, restored, bytes.NewReader(archive)); err != nil {
					t.Fatal(err)
				}
				want, got := contentsOfBackup(t, archive), contentsOfBackup(t, mustBackup(t, target, restored))
				for _, table := range []string{
					"llm_calls", "breakers", "breaker_history", "runs", "markets", "market_series", "trials", "looks", "look_markets", "checkpoint_blobs",
				} {
					if len(want["rows "+table]) == 0 {
						t.Errorf("the backup has no rows of %s", table)
					}
				}
				if len(want["rows operations"]) != 122 || len(want["rows events"]) != 101 || len(want["rows notes"]) != 2 || len(restored) != 7 {
					t.Errorf("the backup holds %d operations, %d events, %d notes and %d blobs, want 122, 101, 2 and 7",
						len(want["rows operations"]), len(want["rows events"]), len(want["rows notes"]), len(restored))
				}
				for name := range want {
					if !slices.Equal(got[name], want[name]) {
						t.Errorf("%s differs after restoring", name)
					}
				}
				if len(got) != len(want) {
					t.Errorf("%d entries after restoring, want %d", len(got), len(want))
				}
				checkRestored(t, target)
			})
		}
	}
}

// checkRestored looks at what a second backup would not show.
func checkRestored(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	err := s.write(ctx, normal, func(tx *tx) error {
		var next, txs, left, session int64
		if err := tx.row(ctx, nextSession, metaSessions).Scan(&session); err != nil || session != 42 {
			t.Errorf("the next session is %d, %v, want 42", session, err)
		}
		if err := tx.row(ctx, `INSERT INTO events (operation_id, kind, at, epoch, data) VALUES ('op_new', 'x', 0, 0, '{}') RETURNING id`).Scan(
			&next); err != nil {
			return err
		}
		if next != 121 {
			t.Errorf("the next event has id %d, want 121: later than all there ever were", next)
		}
		if err := tx.row(ctx, `SELECT COUNT(*) FROM events WHERE tx <> 0 AND operation_id <> 'op_new'`).Scan(&txs); err != nil {
			return err
		}
		if txs != 0 {
			t.Errorf("%d events kept a transaction id of another database", txs)
		}
		if err := tx.row(ctx, `SELECT (SELECT COUNT(*) FROM meta WHERE key IN ('restoring', 'blob_root')) + (SELECT COUNT(*) FROM workers)`).Scan(
			&left); err != nil {
			return err
		}
		if left != 0 {
			t.Errorf("%d rows were restored that belong to the other place", left)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(ctx, "run")
	if err != nil || run.Created != 21 || run.Looks != 28 || run.Claims != 29 {
		t.Errorf("the run is %+v, %v, want its counts as they were", run, err)
	}
	if m, err := s.Market(ctx, "mkt_2"); err != nil || m.ID != "mkt_1" || m.Trials != 31 || m.Looks != 32 {
		t.Errorf("the market is %+v, %v, want its counts as they were", m, err)
	}
	if horizon, err := s.Horizon(ctx); err != nil || horizon != "5" {
		t.Errorf("the horizon is %q, %v, want the 5 of the other place", horizon, err)
	}
}

func TestBackup_IsOneInstantWhileOthersWrite(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": InstalledSQLite, "PostgreSQL": InstalledPostgres} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, url(t), migrations)
			blobs := populate(t, s)
			// The write comes when the backup has written its first bytes and read
			// no table yet.
			during := &hookedBuffer{hook: func() error {
				return s.write(t.Context(), normal, func(tx *tx) error {
					_, err := tx.exec(t.Context(), `INSERT INTO tokens (id, name, scope, hash, created_at) VALUES ('t', '', 'read', 'h', 1)`)
					return err
				})
			}}
			if _, err := Backup(t.Context(), s, blobs, during); err != nil {
				t.Fatal(err)
			}
			archive := during.Bytes()
			if rows := contentsOfBackup(t, archive)["rows tokens"]; len(rows) != 0 {
				t.Errorf("the backup holds a later row: %v", rows)
			}
		})
	}
}

// hookedBuffer calls its hook at the first write.
type hookedBuffer struct {
	bytes.Buffer
	hook func() error
}

func (b *hookedBuffer) Write(p []byte) (int, error) {
	if hook := b.hook; hook != nil {
		b.hook = nil
		if err := hook(); err != nil {
			return 0, err
		}
	}
	return b.Buffer.Write(p)
}

func TestBackup_NotesDamagedBlobsAndContinues(t *testing.T) {
	s := openTest(t, InstalledSQLite(t), migrations)
	blobs := populate(t, s)
	missing, flipped := ktrdr.Hash(sha256.Sum256([]byte("weights"))), ktrdr.Hash(sha256.Sum256([]byte("trades")))
	delete(blobs, missing)
	blobs[flipped] = []byte("tradez")
	want := []ktrdr.Hash{missing, flipped}
	slices.SortFunc(want, func(a, b ktrdr.Hash) int { return bytes.Compare(a[:], b[:]) })

	var archive bytes.Buffer
	if damaged, err := Backup(t.Context(), s, blobs, &archive); err != nil || !slices.Equal(damaged, want) {
		t.Errorf("the backup reports %v, %v; want %v", damaged, err, want)
	}
	target, restored := openTest(t, InstalledSQLite(t), migrations), blobMap{}
	if damaged, err := Restore(t.Context(), target, restored, &archive); err != nil || !slices.Equal(damaged, want) {
		t.Errorf("the restore reports %v, %v; want %v", damaged, err, want)
	}
	if len(restored) != 5 {
		t.Errorf("%d blobs were restored, want the five that were whole", len(restored))
	}
}

func TestRestore_RefusesAndChangesNothing(t *testing.T) {
	source := openTest(t, InstalledSQLite(t), migrations)
	blobs := populate(t, source)
	archive := mustBackup(t, source, blobs)
	changed := func(old, now string) []byte {
		if len(old) != len(now) || !bytes.Contains(archive, []byte(old)) {
			t.Fatalf("%q cannot become %q", old, now)
		}
		return bytes.Replace(archive, []byte(old), []byte(now), 1)
	}
	entry := func(name string) int { return bytes.Index(archive, []byte(name)) }
	var added bytes.Buffer
	added.Write(bytes.TrimRight(archive, "\x00"))
	added.Write(make([]byte, -added.Len()&511)) // to the end of the last entry's block
	more := tar.NewWriter(&added)
	if err := errors.Join(more.WriteHeader(&tar.Header{Name: "more", Mode: 0o600}), more.Close()); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		archive []byte
		code    ktrdr.Code
		says    string
	}{
		"not a backup":            {[]byte("hello"), ktrdr.CodeInvalid, "not a backup"},
		"a later format":          {changed(`"format": 2`, `"format": 9`), ktrdr.CodeInvalid, "format 9"},
		"cut off":                 {archive[:len(archive)/2], ktrdr.CodeCorrupt, "cut off"},
		"cut off between entries": {archive[:entry(endName)], ktrdr.CodeCorrupt, "cut off"},
		"without its proof":       {archive[:bytes.LastIndex(archive, []byte(sumName))], ktrdr.CodeCorrupt, "cut off"},
		"a changed row":           {changed(`"op_003"`, `"op_999"`), ktrdr.CodeCorrupt, "changed or damaged"},
		"a changed count":         {changed(`"blobs": 7`, `"blobs": 6`), ktrdr.CodeCorrupt, "changed or damaged"},
		"a changed name":          {changed("tables/events/", "tables/tokens/"), ktrdr.CodeCorrupt, "cannot be read"},
		"a changed blob":          {changed("weights", "weightz"), ktrdr.CodeCorrupt, "changed or damaged"},
		"a changed proof":         {changed(sumOf(t, archive), strings.Repeat("0", 64)), ktrdr.CodeCorrupt, "changed or damaged"},
		"something added":         {added.Bytes(), ktrdr.CodeCorrupt, "added"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, VerifyBackup(t.Context(), bytes.NewReader(c.archive)), c.code, c.says)
			target := openTest(t, InstalledSQLite(t), migrations)
			_, err := Restore(t.Context(), target, blobMap{}, bytes.NewReader(c.archive))
			refused(t, err, c.code, c.says)
			leftEmpty(t, target)
		})
	}
	t.Run("another schema", func(t *testing.T) {
		target := openTest(t, InstalledSQLite(t), migrations)
		other := changed(fmt.Sprintf(`"schema_version": %d`, source.schema), fmt.Sprintf(`"schema_version": %d`, source.schema+1))
		_, err := Restore(t.Context(), target, blobMap{}, bytes.NewReader(other))
		refused(t, err, ktrdr.CodeInvalid, fmt.Sprintf("schema %d", source.schema+1))
		leftEmpty(t, target)
	})
	t.Run("not empty", func(t *testing.T) {
		_, err := Restore(t.Context(), source, blobs, bytes.NewReader(archive))
		if ktrdr.CodeOf(err) != ktrdr.CodeConflict || !strings.Contains(err.Error(), "not empty") {
			t.Errorf("err = %v, want CodeConflict", err)
		}
	})
}

func refused(t *testing.T, err error, code ktrdr.Code, says string) {
	t.Helper()
	if ktrdr.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		t.Errorf("err = %v, want %s that says %q", err, code, says)
	}
}

func leftEmpty(t *testing.T, s *Store) {
	t.Helper()
	for name, rows := range contentsOfBackup(t, mustBackup(t, s, blobMap{})) {
		if strings.HasPrefix(name, "rows ") {
			t.Errorf("%s: %d were left behind", name, len(rows))
		}
	}
}

// sumOf is what the last entry of an archive holds.
func sumOf(t *testing.T, archive []byte) string {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == sumName {
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(text))
		}
	}
}
