package library

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// adjustments are the events between two instants, as factors. as is the bars at the
// prices of each day, which say what a dividend was a share of.
func adjustments(events []instrument.Event, as *market.Bars, after, until int64) (list []market.Adjustment, err error) {
	for _, e := range events {
		at := e.On.Unix()
		i := sort.Search(as.Len(), func(i int) bool { return as.Time[i] >= at })
		if at <= after || at > until || i == 0 {
			continue
		}
		a := market.Adjustment{At: at}
		if a.Price, err = e.Factor(as.Close[i-1]); err != nil {
			return nil, wrong("%s: %w", as.Symbol, err)
		}
		if e.Kind == instrument.SplitEvent {
			a.Volume = a.Price
		}
		list = append(list, a)
	}
	return list, nil
}

// adjusted is bars of a file with the splits, dividends and rolls of their instrument,
// and how many of each there were.
func adjusted(b *market.Bars, events []instrument.Event) (*market.Bars, string, error) {
	if b.Len() == 0 || len(events) == 0 {
		return b, "", nil
	}
	until := b.Time[b.Len()-1]
	list, err := adjustments(events, b, b.Time[0], until)
	if err != nil || len(list) == 0 {
		return b, "", err
	}
	counts := map[instrument.EventKind]int{}
	for _, e := range events {
		if at := e.On.Unix(); at > b.Time[0] && at <= until {
			counts[e.Kind]++
		}
	}
	var said []string
	for _, kind := range []instrument.EventKind{instrument.SplitEvent, instrument.DividendEvent, instrument.RollEvent} {
		if n := counts[kind]; n > 0 {
			said = append(said, text.Counted(n, string(kind)))
		}
	}
	return market.Adjust(b, list), fmt.Sprintf("back-adjusted by %s: %s", instrument.FileName, strings.Join(said, ", ")), nil
}

// catchUp adjusts bars of the library for the events between their last bar and that of
// bars that are added, which are at the prices of each day. Earlier events were applied
// when they were imported.
func catchUp(old, add *market.Bars, events []instrument.Event) (*market.Bars, error) {
	if old.Len() == 0 || add.Len() == 0 {
		return old, nil
	}
	last := old.Time[old.Len()-1]
	joint, _, err := market.Merge(old, add)
	if err != nil {
		return old, err
	}
	list, err := adjustments(events, joint, last, add.Time[add.Len()-1])
	return market.Adjust(old, list), err
}

// knownOf is what the file of instruments says of a symbol, for a judgement, and what its
// name says where the file has no class.
func knownOf(x instrument.Instrument, symbol string, holdout time.Time) quality.Options {
	opt := quality.Options{Sealed: holdout, Class: judgedAs(x.Class)}
	if named, known := instrument.ClassOf(symbol); known {
		opt.Named = judgedAs(named)
	}
	if x.Session != nil {
		opt.Trades = x.Session.Trades
	}
	return opt
}

func judgedAs(c instrument.Class) quality.AssetClass {
	switch c {
	case instrument.Stock:
		return quality.Stock
	case instrument.Crypto:
		return quality.Crypto
	case instrument.MajorFX, instrument.MinorFX:
		return quality.Currency
	}
	return quality.AnyClass
}

// withAdjustment is a record that also says how bars were adjusted.
func withAdjustment(r ktrdr.BarsRecord, said string) ktrdr.BarsRecord {
	if said != "" {
		r.Adjustment = strings.TrimPrefix(r.Adjustment+"; "+said, "; ")
	}
	return r
}
