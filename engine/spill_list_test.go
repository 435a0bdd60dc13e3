package engine_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/thread"
)

func TestSaver_ADamagedBlobHidesNoOtherCheckpoint(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	for id, size := range map[string]int{"1": 10, "2": thread.InlineValue + 1, "3": 10} {
		p := putOf("t", thread.Value{Type: "s", Bytes: bytes.Repeat([]byte(id), size)})
		p.Checkpoint = json.RawMessage(`{"v":4,"id":"` + id + `","channel_versions":{"c":1}}`)
		if _, err := l.Saver().Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	two := thread.Ref{Thread: "t", Checkpoint: "2"}
	inRow, err := l.store.Saver().GetTuple(t.Context(), two)
	if err != nil {
		t.Fatal(err)
	}
	_, blob, _ := inRow.Values["c"].Blob()
	if err := os.Remove(l.path(blob.SHA256)); err != nil {
		t.Fatal(err)
	}
	all, err := l.Saver().List(t.Context(), thread.Query{Thread: new("t")})
	if err != nil || len(all) != 3 {
		t.Fatalf("list = %d checkpoints, %v; want 3", len(all), err)
	}
	for i, id := range []string{"3", "2", "1"} {
		lost := id == "2"
		if got := all[i]; got.ID != id || strings.Contains(got.Damaged, blob.SHA256.String()) != lost || (len(got.Values) == 0) != lost {
			t.Errorf("checkpoint %s is listed as %+v", id, got)
		}
	}
	if _, err := l.Saver().GetTuple(t.Context(), two); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
		t.Errorf("get: %v, want CodeCorrupt", err)
	}
}

func TestSaver_WithoutBlobsTakesNoForgedBlobEither(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *engine.Config) { c.Inline = 0 })
	forged := thread.BlobValue("s", ktrdr.Artifact{Name: "value", Size: 1})
	if _, err := l.Saver().Put(t.Context(), putOf("t", forged)); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
		t.Errorf("put: %v, want CodeInvalid", err)
	}
	large := thread.Value{Type: "s", Bytes: bytes.Repeat([]byte{1}, thread.InlineValue+1)}
	if _, err := l.Saver().Put(t.Context(), putOf("t", large)); err != nil {
		t.Fatal(err)
	}
	err := l.Saver().PutWrites(t.Context(), thread.Writes{
		Thread: "t", Checkpoint: "1", Task: "task", Writes: []thread.Write{{Channel: "c", Value: forged}},
	})
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
		t.Errorf("write: %v, want CodeInvalid", err)
	}
	if got, err := l.value(l.Saver(), "t"); err != nil || !bytes.Equal(got.Bytes, large.Bytes) {
		t.Errorf("a large value came back as %d bytes, %v", len(got.Bytes), err)
	}
	if _, err := os.Stat(l.blobs + "/tmp"); err == nil {
		t.Error("it became a blob, which nothing would name")
	}
}
