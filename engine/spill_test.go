package engine_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/thread"
)

func putOf(threadID string, v thread.Value) thread.Put {
	return thread.Put{
		Thread: threadID, Checkpoint: json.RawMessage(`{"v":4,"id":"1","channel_versions":{"c":1}}`),
		Values: map[string]thread.Value{"c": v}, NewVersions: map[string]json.RawMessage{"c": json.RawMessage("1")},
	}
}

func (l *lab) value(s thread.Saver, threadID string) (thread.Value, error) {
	tuple, err := s.GetTuple(l.t.Context(), thread.Ref{Thread: threadID})
	return tuple.Values["c"], err
}

func TestSaver_LargeValuesAreBlobsAsLongAsARowNamesThem(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	for _, size := range []int{thread.InlineValue, thread.InlineValue + 1} {
		want := thread.Value{Type: "msgpack", Bytes: bytes.Repeat([]byte{7}, size)}
		if _, err := l.Saver().Put(t.Context(), putOf("t", want)); err != nil {
			t.Fatal(err)
		}
		got, err := l.value(l.Saver(), "t")
		if err != nil || got.Type != want.Type || !bytes.Equal(got.Bytes, want.Bytes) {
			t.Errorf("%d bytes came back as %d bytes of %q, %v", size, len(got.Bytes), got.Type, err)
		}
		inRow, err := l.value(l.store.Saver(), "t")
		if _, _, isBlob := inRow.Blob(); err != nil || isBlob != (size > thread.InlineValue) || isBlob && len(inRow.Bytes) > 100 {
			t.Errorf("of %d bytes the row holds %d, %v", size, len(inRow.Bytes), err)
		}
	}

	if err := l.Saver().CopyThread(t.Context(), "", "t", "copy"); err != nil {
		t.Fatal(err)
	}
	if err := l.Saver().DeleteThread(t.Context(), "", "t"); err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), l.blobs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blobs.Close() }()
	for range 2 { // the second pass deletes what the first put aside
		if _, err := blob.Collect(t.Context(), blobs, l.store.BlobRefs(t.Context()), 0, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := l.value(l.Saver(), "copy"); err != nil || len(got.Bytes) != thread.InlineValue+1 {
		t.Errorf("the copy holds %d bytes, %v", len(got.Bytes), err)
	}
	report, err := blob.Check(t.Context(), blobs, l.store.BlobRefs(t.Context()), true)
	if err != nil || !report.OK() || report.Checked != 1 || len(report.Unreferenced) != 0 {
		t.Errorf("check: %+v, %v", report, err)
	}
}

func TestSaver_LargeWritesAreBlobsToo(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	if _, err := l.Saver().Put(t.Context(), putOf("t", thread.Value{Type: "s", Bytes: []byte("small")})); err != nil {
		t.Fatal(err)
	}
	large := thread.Value{Type: "s", Bytes: bytes.Repeat([]byte{1}, thread.InlineValue+1)}
	err := l.Saver().PutWrites(t.Context(), thread.Writes{
		Thread: "t", Checkpoint: "1", Task: "task", Writes: []thread.Write{{Channel: "c", Value: large}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tuple, err := l.Saver().GetTuple(t.Context(), thread.Ref{Thread: "t"})
	if err != nil || len(tuple.PendingWrites) != 1 || !bytes.Equal(tuple.PendingWrites[0].Value.Bytes, large.Bytes) {
		t.Errorf("read back: %d writes, %v", len(tuple.PendingWrites), err)
	}
	refs := 0
	for _, err := range l.store.BlobRefs(t.Context()) {
		if refs++; err != nil {
			t.Fatal(err)
		}
	}
	if refs != 1 {
		t.Errorf("%d references, want 1", refs)
	}
}

func TestSaver_DamagedValueIsToldAndAForgedOneRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	large := thread.Value{Type: "s", Bytes: bytes.Repeat([]byte{1}, thread.InlineValue+1)}
	if _, err := l.Saver().Put(t.Context(), putOf("t", large)); err != nil {
		t.Fatal(err)
	}
	inRow, err := l.value(l.store.Saver(), "t")
	if err != nil {
		t.Fatal(err)
	}
	_, named, _ := inRow.Blob()
	if err := os.WriteFile(l.path(named.SHA256), bytes.Repeat([]byte{2}, thread.InlineValue+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.value(l.Saver(), "t"); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt || !strings.Contains(err.Error(), named.SHA256.String()) {
		t.Errorf("with other bytes: %v, want CodeCorrupt that names the blob", err)
	}
	if err := os.Remove(l.path(named.SHA256)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.value(l.Saver(), "t"); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
		t.Errorf("without its blob: %v, want CodeCorrupt", err)
	}
	if _, err := l.Saver().Put(t.Context(), putOf("t", inRow)); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
		t.Errorf("a client's own reference: %v, want CodeInvalid", err)
	}
	if _, err := l.Saver().Put(t.Context(), putOf("t", large)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.value(l.Saver(), "t"); err != nil || !bytes.Equal(got.Bytes, large.Bytes) {
		t.Errorf("put again it is not whole: %v", err)
	}
}
