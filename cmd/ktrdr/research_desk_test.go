package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// answering is a backend that answers, and whose services nobody watches: a test
// says how they are.
func answering(t *testing.T) (*backend, *httpapi.Client) {
	t.Helper()
	a := &app{getenv: env{"KTRDR_DATA": t.TempDir(), "KTRDR_ADDR": "127.0.0.1:0", "KTRDR_AUTH": "none"}.get}
	cfg, err := a.serveConfig(newServe(a), "")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{cfg: cfg, log: slog.New(slog.DiscardHandler)}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(b.opened.Rollback(t.Context(), err))
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ctx, b.listener) }()
	t.Cleanup(func() {
		stop()
		if err := b.opened.Rollback(context.WithoutCancel(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	c, err := httpapi.NewClient("http://"+b.listener.Addr().String(), "", httpapi.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return b, c
}

func TestLifelines_NoResearchIsCreatedWhileTheServiceIsOffline(t *testing.T) {
	b, client := answering(t)
	if _, err := b.library.Import(t.Context(), jobs.Import{Bars: market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 3}), Origin: ktrdr.BarsSynthetic}); err != nil {
		t.Fatal(err)
	}
	operations := func() int {
		page, err := client.List(t.Context(), ktrdr.OperationQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Operations)
	}
	goal := httpapi.ResearchRequest{Brief: "trend", Force: true} // also past a queue that is full
	if _, err := client.Trigger(t.Context(), goal, ""); err != nil {
		t.Fatalf("while all is well: %v", err)
	}
	before := operations()
	b.lifelines.look(ktrdr.Health{}) // the store does not answer
	_, err := client.Trigger(t.Context(), goal, "")
	if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || !strings.Contains(err.Error(), "new_research is switched off while the service is OFFLINE (store is down") {
		t.Errorf("at OFFLINE: %v, want it refused as %s, with the reason", err, ktrdr.CodeUnavailable)
	}
	if after := operations(); before == 0 || after != before {
		t.Errorf("there were %d operations and are %d, want those from before", before, after)
	}
}
