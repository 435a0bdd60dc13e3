package worker_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/worker"
	"github.com/ktrdr/ktrdr/worker/workertest"
)

// An operation reads the blobs that its spec names and no other, not even when
// its runner writes another spec.
func TestTask_OpensOnlyWhatItWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		put := func(text string) ktrdr.Artifact {
			return ktrdr.Artifact{Name: text, SHA256: sha256.Sum256([]byte(text)), Size: int64(len(text))}
		}
		given, holdout := put("bars"), put("holdout")
		b.Create("op_owner", ktrdr.Dummy, nil)
		spec := func(a ktrdr.Artifact) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"inputs":[{"name":%q,"sha256":%q,"size":%d}],"seen":%q}`, a.Name, a.SHA256, a.Size, holdout.SHA256))
		}
		var refused error
		runner := func(ctx context.Context, task *worker.Task) (json.RawMessage, error) {
			if task.Operation == "op_owner" {
				err := task.Final(1, 1, worker.File{Name: "a", Bytes: []byte("bars")}, worker.File{Name: "b", Bytes: []byte("holdout")})
				return json.RawMessage(`1`), err
			}
			task.Spec = spec(holdout)
			_, refused = task.Open(ctx, holdout)
			r, err := task.Open(ctx, given)
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			return json.Marshal(string(text))
		}
		start(t, b, worker.Config{Dir: t.TempDir(), Runners: oneRunner(runner)})
		ended(t, b, "op_owner")
		b.Create("op_reader", ktrdr.Dummy, spec(given))
		if op := ended(t, b, "op_reader"); string(op.Result) != `"bars"` {
			t.Errorf("read %s (%s), want the bars", op.Result, op.ErrorMessage)
		}
		if ktrdr.CodeOf(refused) != ktrdr.CodeForbidden || !strings.Contains(refused.Error(), "holdout") {
			t.Errorf("the holdout: %v, want %s", refused, ktrdr.CodeForbidden)
		}
	})
}
