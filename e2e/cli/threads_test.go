package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
	"github.com/ktrdr/ktrdr/thread"
)

// threads posts to /threads and returns the data of the answer.
func (l *lab) threads(what string, body any) json.RawMessage {
	l.t.Helper()
	return l.post("/api/v1/threads/"+what, http.StatusOK, body)
}

func TestThreads_InTheMainDatabaseByAnotherNameAreTheMainOnes(t *testing.T) {
	t.Parallel()
	large := thread.Value{Type: "s", Bytes: bytes.Repeat([]byte("x"), thread.InlineValue+1)}
	check := func(t *testing.T, l *lab, env ...string) {
		p, _ := l.serve("--workers", "0")
		l.threads("put", thread.Put{
			Thread: "t", Checkpoint: json.RawMessage(`{"v":4,"id":"1","channel_versions":{"c":1}}`),
			Values: map[string]thread.Value{"c": large}, NewVersions: map[string]json.RawMessage{"c": json.RawMessage("1")},
		})
		p.End(syscall.SIGTERM)

		l.env = append(l.env, env...)
		l.serve("--workers", "0")
		tuple := decode[thread.Tuple](t, string(l.threads("get", thread.Ref{Thread: "t"})))
		if got := tuple.Values["c"]; got.Type != large.Type || !bytes.Equal(got.Bytes, large.Bytes) {
			t.Errorf("the value came back as %.100q with %d bytes", got.Type, len(got.Bytes))
		}
	}
	t.Run("SQLite", func(t *testing.T) {
		l := newLab(t)
		if err := os.Symlink(l.data, l.data+"-link"); err != nil {
			t.Fatal(err)
		}
		check(t, l, "CHECKPOINTING_BACKEND=sqlite", "CHECKPOINTING_PATH="+filepath.Join(l.data+"-link", "ktrdr.db"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		url := pgtest.URL(t)
		check(t, newLab(t, "KTRDR_DB="+url), "CHECKPOINTING_BACKEND=postgres", "CHECKPOINTING_PATH="+url+"&application_name=threads")
	})
}

func TestThreads_InMemoryEndWithTheBackend(t *testing.T) {
	t.Parallel()
	l := newLab(t, "CHECKPOINTING_BACKEND=memory")
	p, _ := l.serve("--workers", "0")
	large := thread.Value{Type: "s", Bytes: bytes.Repeat([]byte("x"), thread.InlineValue+1)}
	l.threads("put", thread.Put{
		Thread: "t", Checkpoint: json.RawMessage(`{"v":4,"id":"1","channel_versions":{"c":1}}`),
		Values: map[string]thread.Value{"c": large}, NewVersions: map[string]json.RawMessage{"c": json.RawMessage("1")},
	})
	tuple := decode[thread.Tuple](t, string(l.threads("get", thread.Ref{Thread: "t"})))
	if got := tuple.Values["c"]; !bytes.Equal(got.Bytes, large.Bytes) {
		t.Errorf("the value came back with %d bytes", len(got.Bytes))
	}
	p.End(syscall.SIGTERM)
	l.serve("--workers", "0")
	l.post("/api/v1/threads/get", http.StatusNotFound, thread.Ref{Thread: "t"})
}

func TestRestore_SaysHowToStartWhatItMade(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	_, id, file := savedLab(t)
	elsewhere := filepath.Join(t.TempDir(), "blobs of the lab")
	pg := newLab(t, "KTRDR_DB="+url, "CHECKPOINT_DIR="+elsewhere)
	shown, _, _ := strings.Cut(url, "?")
	out := pg.must("restore", file)
	for _, want := range []string{
		"CHECKPOINT_DIR='" + elsewhere + "' ktrdr serve --data " + pg.data + " --db ", shown[strings.LastIndex(shown, "/"):],
	} {
		if !strings.Contains(out, want) {
			t.Errorf("restore said %q, want %q in it", out, want)
		}
	}
	// Without its database setting a backend makes no empty lab that takes the blobs over.
	forgetful := newLab(t, "KTRDR_DATA="+pg.data, "CHECKPOINT_DIR="+elsewhere)
	forgetful.refused(exitFailed, elsewhere+" holds blobs of another database", "serve", "--addr", "127.0.0.1:0")
	pg.serve("--workers", "1")
	if op := pg.op(id); op.Status != ktrdr.Failed || op.Checkpoint == nil {
		t.Errorf("restored operation: %+v", op)
	}
	second := newLab(t, "KTRDR_DB="+url, "CHECKPOINT_DIR="+elsewhere)
	second.serve("--workers", "0")
	if out := second.must("doctor", "--deep"); strings.Contains(out, "✗") {
		t.Errorf("a second backend on them:\n%s", out)
	}
}

func TestServe_TakesOverNoBlobsOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	l, _, file := savedLab(t)
	db := filepath.Join(l.data, "ktrdr.db")
	for _, name := range []string{db, db + "-wal", db + "-shm"} {
		if err := os.Rename(name, name+".away"); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	l.refused(exitFailed, "holds blobs of another database", "serve", "--addr", "127.0.0.1:0")
	l.refused(exitFailed, "holds blobs of another database", "serve", "--addr", "127.0.0.1:0") // nor after it was made
	for _, name := range []string{db, db + "-wal", db + "-shm"} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	l.must("restore", file) // a database that names them may have them
	l.serve("--workers", "0")
}
