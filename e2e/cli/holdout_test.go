package cli

import (
	"io"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/research"
)

// A worker's token opens the bars of what workers train, while they do, and not
// those that the research keeps sealed.
func TestServe_AWorkersTokenDoesNotOpenTheHoldout(t *testing.T) {
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

	token := decode[api.NewTokenReply](t, l.must("token", "create", "box", "--scope", "worker", "--json"))
	c, err := client.New(l.url, ktrdr.Secret(token.Secret), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
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
