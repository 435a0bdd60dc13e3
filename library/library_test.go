package library

import (
	"context"
	"errors"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// busy is a library in which something happens just before a rename is written.
type busy struct {
	ktrdr.Library
	meanwhile func()
}

func (b *busy) RenameBars(ctx context.Context, symbol string, renamed []ktrdr.NewBars) error {
	b.meanwhile()
	return b.Library.RenameBars(ctx, symbol, renamed)
}

func TestRename_TakesWhatIsImportedMeanwhile(t *testing.T) {
	o := newLab(t, "EURUSD")
	times := 0
	o.library.store = &busy{o.store, func() {
		if times++; times == 1 {
			o.synth("EURUSD", market.H4, 300, 9)
		}
	}}
	renamed, err := o.library.Rename(t.Context(), NewMarkets(o.store, o.blobs), "EURUSD", "EUR")
	if err != nil || len(renamed) != 2 {
		t.Errorf("renamed %v, %v; want both series", renamed, err)
	}
	for _, tf := range []market.Timeframe{market.H1, market.H4} {
		if _, err := o.library.Info(t.Context(), "EURUSD", tf); !errors.Is(err, market.ErrNoData) {
			t.Errorf("%s of the old symbol: %v, want none", tf, err)
		}
		if _, err := o.library.Get(t.Context(), "EUR", tf); err != nil {
			t.Error(err)
		}
	}
}

func TestRename_GivesUpWhereTheSeriesNeverStayTheSame(t *testing.T) {
	o := newLab(t, "EURUSD")
	seed := uint64(10)
	o.library.store = &busy{o.store, func() {
		seed++
		o.synth("EURUSD", market.H1, 300, seed)
	}}
	_, err := o.library.Rename(t.Context(), NewMarkets(o.store, o.blobs), "EURUSD", "EUR")
	if ktrdr.CodeOf(err) != ktrdr.CodeConflict || seed != 10+importTries {
		t.Errorf("after %d tries: %v; want a conflict after %d", seed-10, err, importTries)
	}
}
