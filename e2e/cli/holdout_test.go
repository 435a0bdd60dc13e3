package cli

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/research"
)

// A worker's token opens the bars of what workers train, while they do, and not
// those that the research keeps sealed. People read no blobs.
func TestServe_NoTokenOpensTheBlobOfAHoldout(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_INJECT=hang:training:")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "1500", "--seed", "7")
	l.serve("--workers", "0")
	l.worker("--types", "training,backtesting")
	made := decode[research.Triggered](t, l.must("research", "--symbol", "EURUSD", "--json"))
	l.until(string(made.Operation), "training", func(op ktrdr.Operation) bool { return op.Phase == string(research.Training) })
	children := l.ops("--parent", string(made.Operation), "--type", "training")
	l.until(string(children[0].ID), "running", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
	spec, err := ktrdr.ParseSpec[research.Spec](l.op(string(made.Operation)).Spec)
	if err != nil {
		t.Fatal(err)
	}

	reader, admin := l.clientWith(ktrdr.ScopeRead), l.client()
	for _, h := range l.blobs() {
		for name, c := range map[string]*client.Client{"a reader": reader, "an admin": admin} {
			if _, err := c.OpenBlob(t.Context(), h); ktrdr.CodeOf(err) != ktrdr.CodeForbidden && (c == reader || h != spec.Bars[0].SHA256) {
				t.Errorf("%s opens blob %s: %v, want CodeForbidden", name, h, err)
			}
		}
	}

	c := l.clientWith(ktrdr.ScopeWorker)
	read := func(h ktrdr.Hash) error {
		r, err := c.OpenBlob(t.Context(), h)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
		}
		return err
	}
	if err := read(spec.Bars[0].SHA256); err != nil {
		t.Errorf("the bars that are trained on: %v", err)
	}
	if err := read(spec.Holdout[0].SHA256); ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
		t.Errorf("the holdout: %v, want CodeForbidden", err)
	}
	l.must("cancel", string(made.Operation), "--follow")
	if err := read(spec.Bars[0].SHA256); err == nil {
		t.Error("the bars can be read although no training uses them any more")
	}
}

// clientWith calls with a new token of a scope.
func (l *lab) clientWith(scope ktrdr.Scope) *client.Client {
	l.t.Helper()
	token := decode[api.NewTokenReply](l.t, l.must("token", "create", string(scope), "--scope", string(scope), "--json"))
	c, err := client.New(l.url, ktrdr.Secret(token.Secret), client.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// blobs are the hashes of all blobs of the lab.
func (l *lab) blobs() (list []ktrdr.Hash) {
	l.t.Helper()
	files, err := filepath.Glob(filepath.Join(l.data, "blobs", "??", "??", "*"))
	if err != nil || len(files) == 0 {
		l.t.Fatalf("%d blobs, %v", len(files), err)
	}
	for _, f := range files {
		h, err := ktrdr.ParseHash(filepath.Base(f))
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}
