package backend

import (
	"context"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// answering is a backend that answers, and whose services are not watched: a test
// says how they are.
func answering(t *testing.T) (*Backend, *client.Client) {
	t.Helper()
	e := env{"KTRDR_DATA": t.TempDir(), "KTRDR_ADDR": "127.0.0.1:0", "KTRDR_AUTH": "none"}
	cfg, err := ReadConfig(nil, "", e.get)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), cfg, testProcess(e))
	if err != nil {
		t.Fatal(b.Close(t.Context(), err))
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ctx, b.listener) }()
	t.Cleanup(func() {
		stop()
		if err := b.Close(context.WithoutCancel(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New("http://"+b.listener.Addr().String(), "", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return b, c
}

func TestModels_NoResearchIsCreatedWhileTheServiceIsOffline(t *testing.T) {
	b, client := answering(t)
	if _, err := b.library.Import(t.Context(), library.Import{
		Bars: market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 3}), Origin: ktrdr.BarsSynthetic,
	}); err != nil {
		t.Fatal(err)
	}
	operations := func() int {
		page, err := client.List(t.Context(), ktrdr.OperationQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Operations)
	}
	goal := research.Request{Brief: "trend", Force: true} // also past a queue that is full
	if _, err := client.Trigger(t.Context(), goal, ""); err != nil {
		t.Fatalf("while all is well: %v", err)
	}
	before := operations()
	b.models.look(ktrdr.Health{}) // the store does not answer
	_, err := client.Trigger(t.Context(), goal, "")
	if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable ||
		!strings.Contains(err.Error(), "new_research is switched off while the service is OFFLINE (store is down") {
		t.Errorf("at OFFLINE: %v, want it refused as %s, with the reason", err, ktrdr.CodeUnavailable)
	}
	if after := operations(); before == 0 || after != before {
		t.Errorf("there were %d operations and are %d, want those from before", before, after)
	}
}
