package designer

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// threeSeries are EURUSD and two others of the same time.
func threeSeries() Known {
	var k Known
	for i, symbol := range []string{"EURUSD", "GBPUSD", "USDCHF"} {
		k.Series = append(k.Series, KnownSeries{Symbol: symbol, Timeframe: market.H1, Bars: 4000 - i, Last: 4000 * 3600})
	}
	return k
}

func TestRead_TellsContextFromWhatIsTraded(t *testing.T) {
	for goal, want := range map[string]string{
		"lead-lag with GBPUSD on EURUSD 1h":           "EURUSD; GBPUSD; lead-lag",
		"EURUSD, led by GBPUSD":                       "EURUSD; GBPUSD; ",
		"EURUSD lags USDCHF and GBPUSD":               "EURUSD; USDCHF GBPUSD; ",
		"trend on EURUSD with GBPUSD as context":      "EURUSD; GBPUSD; trend",
		"GBPUSD leads EURUSD":                         "EURUSD; GBPUSD; ",
		"mean reversion on EURUSD, context USDCHF":    "EURUSD; USDCHF; mean reversion",
		"lead-lag with EURUSD":                        "GBPUSD; EURUSD; lead-lag", // the longest of the others is traded
		"lead-lag on EURUSD":                          "EURUSD; GBPUSD USDCHF; lead-lag",
		"trend on EURUSD and GBPUSD":                  "EURUSD GBPUSD; ; trend",
		"EURUSD, no lead-lag":                         "EURUSD; ; ",
		"lead-lag on EURUSD, GBPUSD and USDCHF on 1h": "EURUSD GBPUSD USDCHF; ; ", // no other symbol is left
	} {
		b := Chosen{}.Read(goal, threeSeries())
		var families []string
		for _, f := range b.Families {
			families = append(families, string(f))
		}
		got := strings.Join(b.Symbols, " ") + "; " + strings.Join(b.Context, " ") + "; " + strings.Join(families, " ")
		if got != want {
			t.Errorf("%q: %q, want %q (not understood %q)", goal, got, want, b.NotUnderstood)
		}
		if len(b.NotUnderstood) > 0 {
			t.Errorf("%q: not understood %q", goal, b.NotUnderstood)
		}
	}
	chosen := Chosen{Symbols: []string{"EURUSD"}}
	warnings, err := CheckBrief("lead-lag with GBPUSD", threeSeries(), chosen)
	if err != nil || len(warnings) > 0 {
		t.Errorf("%v %v", warnings, err)
	}
	if b := chosen.Read("lead-lag with GBPUSD", threeSeries()); !slices.Equal(b.Context, []string{"GBPUSD"}) {
		t.Errorf("context %v", b.Context)
	}
	short := threeSeries()
	short.Series[1].Last /= 2
	if b := (Chosen{}).Read("lead-lag on EURUSD", short); !slices.Equal(b.Context, []string{"USDCHF"}) {
		t.Errorf("context %v, want only bars of the same time", b.Context)
	}
}

// contextFrame is that of EURUSD with two context symbols.
func contextFrame(t testing.TB) *frame {
	t.Helper()
	b := Chosen{}.Read("lead-lag with GBPUSD and BRK.B on EURUSD", Known{Series: []KnownSeries{
		{Symbol: "EURUSD", Timeframe: market.H1, Bars: 4000}, {Symbol: "GBPUSD", Timeframe: market.H1, Bars: 4000},
	}})
	b.Context = []string{"GBPUSD", "BRK.B"}
	var series []*market.Bars
	for i, symbol := range []string{"EURUSD", "GBPUSD", "BRK.B"} {
		series = append(series, market.Synth(market.SynthConfig{Symbol: symbol, Bars: 2000, Seed: uint64(i)}))
	}
	if err := b.Measure(series); err != nil {
		t.Fatal(err)
	}
	return newFrame(&b, instrument.Costs{Commission: 0.00005})
}

func TestDesign_ReadsContextSymbols(t *testing.T) {
	f := contextFrame(t)
	read := map[string]int{}
	for index := range 16 {
		p, err := Design(*f.brief, 1, 0, index, nil, instrument.Costs{Commission: 0.00005})
		if err != nil {
			t.Fatal(err)
		}
		for _, symbol := range f.contextSymbols(&p.Genome) {
			read[symbol]++
			if !strings.Contains(p.Strategy, "context_symbols: [") || !strings.Contains(p.Hypothesis, " of "+symbol) {
				t.Errorf("%s\n%s", p.Hypothesis, p.Strategy)
			}
		}
	}
	if read["GBPUSD"] == 0 || read["BRK.B"] == 0 {
		t.Errorf("of 16 designs %v read the context symbols", read)
	}
}

// Whatever happens to a genome, it is written to a valid strategy, and one without a
// context symbol reads none.
func TestRepair_KeepsContextWithinTheBrief(t *testing.T) {
	f, alone := contextFrame(t), openFrame()
	rapid.Check(t, func(t *rapid.T) {
		r := num.NewRand(rapid.Uint64().Draw(t, "seed"))
		g := f.repair(Genome{Inputs: []Gene{{
			Reading: rapid.SampledFrom(append(Catalog(), "move")).Draw(t, "reading"), Period: 24, Partition: Thirds,
			Context: rapid.IntRange(-1, 4).Draw(t, "context"),
		}}})
		for range rapid.IntRange(0, 10).Draw(t, "mutations") {
			f.mutate(&g, r)
		}
		g = f.repair(g)
		if again := f.repair(g); again.fingerprint() != g.fingerprint() {
			t.Fatalf("repaired twice: %+v, then %+v", g, again)
		}
		if _, _, err := f.write(&g, ""); err != nil {
			t.Fatal(err)
		}
		for _, x := range alone.repair(g).Inputs {
			if x.Context != 0 || x.Reading == "move" {
				t.Fatalf("without context symbols a design reads %+v", x)
			}
		}
	})
}

func TestCheckContext_RefusesWhatWasNotMeasured(t *testing.T) {
	f := contextFrame(t)
	b := *f.brief
	b.ContextStats = b.ContextStats[:1]
	if _, err := Design(b, 1, 0, 0, nil, instrument.Costs{}); err == nil ||
		!strings.Contains(err.Error(), "2 context symbols and the statistics of 1") {
		t.Errorf("err = %v", err)
	}
	b = *f.brief
	b.Context = []string{"EURUSD", "BRK.B"}
	if _, err := Design(b, 1, 0, 0, nil, instrument.Costs{}); err == nil ||
		!strings.Contains(err.Error(), "EURUSD is traded and read as context") {
		t.Errorf("err = %v", err)
	}
}
