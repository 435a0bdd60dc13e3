package sqlstore

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
	"github.com/ktrdr/ktrdr/thread"
)

// stepsUpTo are the migrations of an older binary.
func stepsUpTo(t *testing.T, last string) fs.FS {
	t.Helper()
	old := fstest.MapFS{}
	err := fs.WalkDir(migrations, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() > last && strings.HasSuffix(path, ".sql") {
			return err
		}
		text, err := migrations.ReadFile(path)
		old[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return old
}

func TestOpen_MovesTheValuesOfOlderThreads(t *testing.T) {
	value := func(text string) thread.Value { return thread.Value{Type: "json", Bytes: []byte(text)} }
	shared, own := value(`"shared"`), value(`"own"`)
	blob := thread.BlobValue("json", ktrdr.Artifact{Name: "value", SHA256: ktrdr.Hash{7}, Size: 70_000})
	lost := value("no slot has it any more")
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			where := url(t)
			old, err := open(t.Context(), Config{URL: where}, stepsUpTo(t, "00007~"))
			if err != nil {
				t.Fatal(err)
			}
			x := &saved{T: t, s: old}
			for _, v := range []thread.Value{shared, own, blob} {
				h := contentHash(v)
				x.sql(`INSERT INTO contents (hash, used_at, type, bytes) VALUES ($1, 1, $2, $3)`, h[:], v.Type, v.Bytes)
			}
			for threadID, held := range map[string]map[string]thread.Value{
				"t": {"a": shared, "b": own}, "u": {"a": shared, "b": blob}, "v": {"a": shared, "b": lost},
			} {
				x.sql(`INSERT INTO threads (tenant, thread_id) VALUES ('', $1)`, threadID)
				kept := map[string]storedSlot{}
				for channel, v := range held {
					h := contentHash(v)
					kept[channel] = storedSlot{Version: "1", Hash: h.String()}
					x.sql(`INSERT INTO thread_values (tenant, thread_id, ns, channel, version, hash, place) VALUES ('', $1, '', $2, '1', $3, 0)`,
						threadID, channel, h[:])
				}
				text, err := json.Marshal(kept)
				if err != nil {
					t.Fatal(err)
				}
				x.sql(`INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, format, slots, checkpoint)
					VALUES ('', $1, '', '1', 1, 4, $2, '{"id":"1","v":4,"channel_versions":{"a":1,"b":1}}')`, threadID, string(text))
			}
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}

			now := openStore(t, where, nil)
			for threadID, want := range map[string]thread.Value{"t": own, "u": blob} {
				got, err := now.Saver().GetTuple(t.Context(), thread.Ref{Thread: threadID})
				if err != nil || string(got.Values["a"].Bytes) != string(shared.Bytes) || got.Values["b"].Type != want.Type ||
					string(got.Values["b"].Bytes) != string(want.Bytes) {
					t.Errorf("thread %s = %+v, %v", threadID, got.Values, err)
				}
			}
			if _, err := now.Saver().GetTuple(t.Context(), thread.Ref{Thread: "v"}); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
				t.Errorf("a value that was lost before: %v, want code corrupt", err)
			}
			var refs []ktrdr.Hash
			for ref, err := range now.BlobRefs(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				refs = append(refs, ref.SHA256)
			}
			if len(refs) != 1 || refs[0] != (ktrdr.Hash{7}) {
				t.Errorf("blobs %v, want the one that a value is", refs)
			}
		})
	}
}
