package library

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// scaled is a series whose prices are multiplied in a span of bars.
func scaled(b *market.Bars, factor float64, from, to int) *market.Bars {
	c := *b
	for _, column := range []*[]float64{&c.Open, &c.High, &c.Low, &c.Close} {
		*column = slices.Clone(*column)
		for i := from; i < to; i++ {
			(*column)[i] *= factor
		}
	}
	return &c
}

// rules are the findings in short: severity, rule, and whether they are sealed.
func rules(found []quality.ContentFinding) (list []string) {
	for _, f := range found {
		said := string(f.Severity) + " " + string(f.Rule)
		if f.Sealed {
			said += " sealed"
		}
		list = append(list, said)
	}
	return list
}

func TestImport_JudgesTheBars(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 4})
	other := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 5})
	for name, c := range map[string]struct {
		first *market.Bars // that the lab has before; nil: none
		bars  *market.Bars
		mode  jobs.ImportMode
		want  []string
	}{
		"clean":                   {nil, b, jobs.ImportNew, nil},
		"another unit from a bar": {nil, scaled(b, 10, 900, 2000), jobs.ImportNew, []string{"severe unit-jump"}},
		"the same in the holdout": {nil, scaled(b, 10, 1700, 2000), jobs.ImportNew, []string{"severe unit-jump sealed"}},
		"both": {
			nil, scaled(scaled(b, 10, 900, 2000), 10, 1700, 2000), jobs.ImportNew, []string{"severe unit-jump", "severe unit-jump sealed"},
		},
		"a unit jump at the joint": {
			b.Slice(0, 1500), scaled(b, 10, 1500, 2000).Slice(1500, 2000), jobs.ImportAppend, []string{"severe unit-jump sealed"},
		},
		"added bars of other units": {b.Slice(0, 1500), scaled(b, 10, 0, 2000), jobs.ImportAppend, []string{"severe unit-jump"}},
		"added bars that differ":    {b.Slice(0, 1500), scaled(b, 1.001, 700, 705), jobs.ImportAppend, []string{"warning revised"}},
		"added bars of another market": {
			b.Slice(0, 1500), other, jobs.ImportAppend, []string{"severe other-market"},
		},
		"bars that replace others": {scaled(b, 1e5, 0, 2000), b, jobs.ImportReplace, []string{"warning unit-jump"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			if c.first != nil {
				l.imports(Import{Bars: c.first, Origin: ktrdr.BarsFromFile})
			}
			done := l.imports(Import{Bars: c.bars, Mode: c.mode, Origin: ktrdr.BarsFromFile})
			got := rules(done.Entry.Findings)
			if c.bars == other { // its prices jump at the joint, too
				got = got[:min(1, len(got))]
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v: %v", got, c.want, done.Entry.Findings)
			}
			for _, f := range done.Entry.Findings {
				if f.Sealed && len(f.At) > 0 {
					t.Errorf("places in the holdout are told: %+v", f)
				}
			}
		})
	}
}

// Only shares split: what the name of a symbol says decides where instruments.yaml says nothing.
func TestImport_KnowsSharesByTheirName(t *testing.T) {
	for _, c := range []struct {
		symbol string
		tf     market.Timeframe
		want   string
	}{
		{"AAPL", market.H1, "severe split-missed"}, // all day from Monday to Friday, as contracts on shares are
		{"AAPL", market.D1, "severe split-missed"},
		{"EURUSD", market.H1, "severe level-jump"},
		{"EURUSD", market.D1, "severe level-jump"},
		{"BTCUSDT", market.D1, "severe level-jump"},
		{"SOMETHING-1", market.H1, "severe level-jump"}, // not known: the bars decide
		{"SOMETHING-1", market.D1, "severe split-missed"},
	} {
		b := scaled(market.Synth(market.SynthConfig{Symbol: c.symbol, Timeframe: c.tf, Bars: 2000, Seed: 4}), 0.25, 900, 2000)
		done := newLab(t).imports(Import{Bars: b, Origin: ktrdr.BarsFromFile})
		if got := rules(done.Entry.Findings); got == nil || got[0] != c.want {
			t.Errorf("%s %s: found %v, want %s first", c.symbol, c.tf, got, c.want)
		}
	}
}

func TestImport_RefusesNoBarsThatAreMadeUp(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 4})
	im := Import{Bars: scaled(b, 10, 900, 2000), Origin: ktrdr.BarsSynthetic, MadeUp: new(true)}
	done, err := newLab(t).library.Import(t.Context(), im)
	if err != nil {
		t.Fatal(err)
	}
	if got := rules(done.Entry.Findings); !slices.Equal(got, []string{"warning unit-jump"}) {
		t.Errorf("found %v, want a warning", got)
	}
}

// Bars of an earlier version are judged when research asks for them, once.
func TestUsable_JudgesBarsThatWereNotJudged(t *testing.T) {
	l := newLab(t)
	b := scaled(market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 4}), 10, 900, 2000)
	n, err := l.library.newBars(t.Context(), candidateOf(b), ktrdr.BarsFromFile, "old.csv")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.store.AddBars(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	markets := NewMarkets(l.store, l.blobs)
	e, err := l.library.Info(t.Context(), "EURUSD", market.H1)
	if err != nil || e.Findings != nil {
		t.Fatalf("findings before: %v (%v)", e.Findings, err)
	}
	err = l.library.Usable(t.Context(), []jobs.SeriesInfo{e}, []*market.Bars{b}, 0, markets.Of)
	if ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		t.Errorf("usable: %v, want CodeConflict", err)
	}
	e, err = l.library.Info(t.Context(), "EURUSD", market.H1)
	if err != nil || !slices.Equal(rules(e.Findings), []string{"severe unit-jump"}) {
		t.Errorf("stored findings: %v (%v)", rules(e.Findings), err)
	}
	if e, err = l.library.Accept(t.Context(), e, ktrdr.Market{}, []string{"unit-jump"}, "ann"); err != nil || len(e.Accepted) != 1 {
		t.Fatalf("accepted %v (%v)", e.Accepted, err)
	}
	if err := l.library.Usable(t.Context(), []jobs.SeriesInfo{e}, []*market.Bars{b}, 0, markets.Of); err != nil {
		t.Errorf("usable once accepted: %v", err)
	}
}

// What an import finds in the holdout that a market has already is not told, however
// the new bars come to the market.
func TestImport_SealsTheHoldoutThatTheMarketHas(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 4000, Seed: 4})
	for name, im := range map[string]Import{
		"longer bars that replace others": {Bars: scaled(b, 3, 2000, 2001), Mode: jobs.ImportReplace},
		"under another name":              {Bars: renamed(scaled(b, 3, 2000, 2001), "EUR"), Mode: jobs.ImportNew},
		"bars that differ":                {Bars: scaled(b, 1.01, 2000, 2001), Mode: jobs.ImportReplace},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			markets := NewMarkets(l.store, l.blobs)
			first, err := l.library.Import(t.Context(), Import{Bars: b.Slice(0, 2500), Origin: ktrdr.BarsFromFile, Markets: markets})
			if err != nil {
				t.Fatal(err)
			}
			from := time.Unix(b.Time[1000], 0)
			if _, err := markets.FixHoldout(t.Context(), first.Market.ID, from); err != nil {
				t.Fatal(err)
			}
			im.Origin, im.Markets = ktrdr.BarsFromFile, markets
			done := l.imports(im)
			if done.Market.ID != first.Market.ID || len(done.Entry.Findings) == 0 {
				t.Fatalf("market %q, want %q: %s; findings %v", done.Market.ID, first.Market.ID, done.Question, done.Entry.Findings)
			}
			for _, f := range done.Entry.Findings {
				if !f.Sealed {
					t.Errorf("reported for the holdout: %s", f)
				}
			}
		})
	}
}

func renamed(b *market.Bars, symbol string) *market.Bars {
	c := *b
	c.Symbol = symbol
	return &c
}

// A research that is refused is told no prices of a holdout that began after the import.
func TestUsable_SealsALaterHoldout(t *testing.T) {
	l := newLab(t)
	b := scaled(market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 4}), 3, 1000, 1001)
	markets := NewMarkets(l.store, l.blobs)
	done, err := l.library.Import(t.Context(), Import{Bars: b, Origin: ktrdr.BarsFromFile, Markets: markets})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := markets.FixHoldout(t.Context(), done.Market.ID, time.Unix(b.Time[900], 0)); err != nil {
		t.Fatal(err)
	}
	err = l.library.Usable(t.Context(), []jobs.SeriesInfo{done.Entry}, []*market.Bars{b}, 0, markets.Of)
	if ktrdr.CodeOf(err) != ktrdr.CodeConflict || strings.Contains(err.Error(), "away from") ||
		!strings.Contains(err.Error(), "ktrdr data accept EURUSD 1h spike") {
		t.Errorf("%v, want a refusal without prices", err)
	}
}
