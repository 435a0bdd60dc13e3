package factory

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
)

// World is the bars of a search: every series, symbol by symbol.
type World struct {
	Bars    []*market.Bars // what the search sees
	Holdout []*market.Bars // the same series after these; none: the search makes no look
	From    time.Time      // trading of the holdout begins here; zero: at its first bar
	Context []string       // symbols of these series that designs may read and do not trade
}

// Split cuts series where the holdouts of new markets begin: at the last share of the
// bars of each symbol. A share of 0 means 0.2.
func Split(series []*market.Bars, share float64) (World, error) {
	var w World
	var earliest int64
	for _, b := range series {
		if b.Len() == 0 {
			return w, fmt.Errorf("there are no %s bars of %s", b.Timeframe, b.Symbol)
		}
		at := library.HoldoutStart(research.ShortestOf(series, b.Symbol), ktrdr.Market{}, cmp.Or(share, library.UsualHoldout))
		if earliest == 0 || at.Unix() < earliest {
			earliest = at.Unix()
		}
		if at.After(w.From) {
			w.From = at
		}
	}
	for _, b := range series {
		i := research.CutAt(b, earliest)
		if i == 0 || i == b.Len() {
			return w, fmt.Errorf("the %s bars of %s are all on one side of %s, where the holdout begins", b.Timeframe, b.Symbol,
				time.Unix(earliest, 0).UTC().Format("2006-01-02 15:04"))
		}
		w.Bars, w.Holdout = append(w.Bars, b.Slice(0, i)), append(w.Holdout, b.Slice(i, b.Len()))
	}
	return w, nil
}

// Settings say how a world is searched. The zero Settings are those of a backend
// without configuration: 8 researches of one generation, without a goal.
type Settings struct {
	Researches int    // 0 means 8
	Generation int    // researches that do not know each other's results; 0 means 8
	Seed       uint64 // of the run
	Goal       string
	Costs      instrument.Table // cost floors; a symbol that is not named has those of its asset class
	Gates      *research.Gates  // nil means the defaults
	Rules      evidence.Rules   // zero fields mean the defaults
	Kernel     neural.Kernel    // zero means the fastest

	Before      []int // trials of others that are counted against the i-th research; the last counts for the rest
	LooksBefore int   // looks at the market before the first of this search
}

// NewSpec is the spec that all researches of a search share: see research.Spec.At.
func NewSpec(w World, s Settings) (research.Spec, error) {
	var known designer.Known
	var chosen designer.Chosen
	var symbols []string
	for _, b := range w.Bars {
		if slices.Contains(w.Context, b.Symbol) {
			continue
		}
		if len(symbols) == 0 || symbols[len(symbols)-1] != b.Symbol {
			symbols = append(symbols, b.Symbol)
		}
		known.Series = append(known.Series, designer.KnownSeries{Symbol: b.Symbol, Timeframe: b.Timeframe, Bars: b.Len()})
		if b.Symbol == symbols[0] {
			chosen.Timeframes = append(chosen.Timeframes, b.Timeframe)
		}
	}
	chosen.Symbols, chosen.Context = symbols, w.Context
	gates := research.DefaultGates()
	if s.Gates != nil {
		gates = *s.Gates
	}
	spec := research.Spec{
		Brief: s.Goal, Understanding: chosen.Read(s.Goal, known), Model: research.Builtin, TriggerReason: "factory",
		KernelClass: kernel(s).Class(), Gates: gates, Rules: s.Rules.WithDefaults(),
		RunSeed: s.Seed, Size: cmp.Or(s.Generation, 8), RunPosition: research.RunPosition{Run: "search"},
	}
	for _, symbol := range symbols { // there is no ledger to count in; a look asks for the name
		spec.Markets = append(spec.Markets, research.SymbolMarket{Symbol: symbol, Market: symbol})
	}
	for _, symbol := range w.Context {
		spec.ContextMarkets = append(spec.ContextMarkets, research.SymbolMarket{Symbol: symbol, Market: symbol})
	}
	spec.SymbolCosts = research.CostsOfTable(s.Costs, symbols)
	spec.Costs = research.Dearest(spec.SymbolCosts)
	return spec, nil
}

func kernel(s Settings) neural.Kernel {
	if s.Kernel == (neural.Kernel{}) {
		return neural.Best()
	}
	return s.Kernel
}

// pin puts the bars of a world into a search, and names them in its spec.
func pin(w World, spec *research.Spec, f files) error {
	spec.Bars, spec.Searched, spec.Holdout, spec.Sealed = nil, nil, nil, nil
	spec.HoldoutFrom = w.From
	one := func(b *market.Bars, kind string, bars *[]jobs.Bars, spans *[]research.Span) error {
		if b.Len() == 0 {
			return fmt.Errorf("there are no %s bars of %s", b.Timeframe, b.Symbol)
		}
		var file bytes.Buffer
		if err := market.Encode(&file, b); err != nil {
			return err
		}
		span := research.SpanOf(b)
		*spans = append(*spans, span)
		made := jobs.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe, Hash: span.Hash, Artifact: ktrdr.Artifact{
			Name:   fmt.Sprintf("%s_%s%s%s", b.Symbol, b.Timeframe, kind, market.Suffix),
			SHA256: f.put(file.Bytes()), Size: int64(file.Len()),
		}}
		made.Context = slices.ContainsFunc(spec.ContextMarkets, func(m research.SymbolMarket) bool { return m.Symbol == b.Symbol })
		*bars = append(*bars, made)
		return nil
	}
	for _, b := range w.Bars {
		if err := one(b, "", &spec.Bars, &spec.Searched); err != nil {
			return err
		}
	}
	for _, b := range w.Holdout {
		if err := one(b, "_holdout", &spec.Holdout, &spec.Sealed); err != nil {
			return err
		}
		if from := time.Unix(b.Time[0], 0).UTC(); w.From.IsZero() && from.After(spec.HoldoutFrom) {
			spec.HoldoutFrom = from
		}
	}
	if len(w.Holdout) == 0 { // a spec must name one; no step but a look reads it
		spec.Holdout = spec.Bars
	}
	return nil
}
