package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// The market of the demo: large enough that an edge can be told from luck.
const (
	demoSymbol = "SYNTH"
	demoBars   = 20_000
	demoEdge   = 0.3
	demoCosts  = demoSymbol + "=0.5/0/0"
	maxDemo    = 1000
)

// ownData is what to do after the demo.
const ownData = `next, on your own prices:
  ktrdr serve                                   a lab that stays; it prints the link to its page
  ktrdr data import FILE.csv --symbol EURUSD    in another terminal: your bars, such as 1h ones
  ktrdr research "trend on EURUSD" --follow     design, train, backtest and judge
  ktrdr help getting-started                    the same in detail`

// researchDemo is the show in which a planted edge is looked for.
type researchDemo struct {
	researches int
	seed       uint64
	edge       float64 // how strong the planted rule is; 0 plants none
	costs      string  // cost floors of the run; empty means demoCosts
	exit       bool    // end with the result, also on a terminal
	open       bool    // show the page in a browser
}

func (f *researchDemo) show(ctx context.Context, d *demo) error {
	if err := f.makeMarket(ctx, d); err != nil {
		return err
	}
	if err := d.serve(ctx, "127.0.0.1:0", 2); err != nil {
		return err
	}
	d.say("the page, live: %s", d.link)
	d.sayBackend()
	rule := "prices far from their mean drift back"
	if f.edge == 0 {
		rule = "there is nothing to be found"
	}
	d.say("made up a market: %d hourly bars of %s in which %s, seed %d", demoBars, demoSymbol, rule, f.seed)
	stays := term.IsTerminal(d.a.out) && !d.a.json && !f.exit
	if f.open {
		if err := openBrowser(ctx, d.link); err != nil {
			return err
		}
	}
	made, err := d.client.Trigger(ctx, research.Request{
		Brief: "find an edge that is left after costs", TriggerReason: "demo",
		Count: f.researches, Force: true, Seed: &f.seed, Symbols: []string{demoSymbol}, Timeframe: string(market.H1), Costs: f.costs,
	}, "")
	if err != nil {
		return err
	}
	d.say("started %s, %s", text.Counted(len(made.Operations), "research", "researches"), made.Run)
	d.screen = nil // the watcher has its own
	if err := d.a.followRun(ctx, d.client, made.Run); err != nil {
		return err
	}
	if stays {
		d.say("the backend stays up at %s until Ctrl-C. Elsewhere, try\n  export KTRDR_URL=%s KTRDR_DATA=%s\n"+
			"  ktrdr top; ktrdr leaderboard; ktrdr memory hypotheses", d.url, d.url, d.data())
	}
	d.say("%s", ownData)
	if !stays {
		return nil
	}
	<-ctx.Done()
	fmt.Fprintln(d.a.out) // after the ^C that the terminal shows
	if errors.Is(context.Cause(ctx), errStopped) {
		return nil // it was the user's to end
	}
	return context.Cause(ctx)
}

// makeMarket puts the market into the backend's lab.
func (f *researchDemo) makeMarket(ctx context.Context, d *demo) error {
	backend.Private()
	if err := backend.MakeFolder(d.data()); err != nil {
		return fmt.Errorf("demo market: %w", err)
	}
	st, err := backend.MakeStorage(ctx, backend.Config{Data: d.data()})
	if err != nil {
		return fmt.Errorf("demo market: %w", err)
	}
	l := local.Of(st)
	if err := st.Bind(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	b := market.Synth(market.SynthConfig{
		Symbol: demoSymbol, Timeframe: market.H1, Bars: demoBars, Seed: f.seed, Edge: f.edge,
		Start: time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC),
	})
	_, err = l.Add(ctx, library.Import{Bars: b, Origin: ktrdr.BarsSynthetic, Source: "demo", MadeUp: new(true)}, true, "")
	return errors.Join(err, l.Close())
}
