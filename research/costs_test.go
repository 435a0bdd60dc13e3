package research

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
)

// free is a position that costs nothing to hold.
var free instrument.Carry

func points(commission, slippage, spread float64) instrument.Costs {
	const bp = instrument.BasisPoints
	return instrument.Costs{Commission: commission / bp, Slippage: slippage / bp, Spread: spread / bp}
}

func table(t *testing.T, text string) instrument.Table {
	t.Helper()
	x, err := instrument.ParseTable(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func instruments(t *testing.T, text string) instrument.File {
	t.Helper()
	f, err := instrument.Parse(instrument.FileName, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCosts_TheFirstSourceThatNamesTheSymbolDecides(t *testing.T) {
	file := instruments(t,
		"instruments:\n  EURUSD: {costs: {commission: 2, slippage: 0, spread: 0}}\n  SYNTHETIC: {class: index}\n  AAPL: {class: crypto}\n")
	all := costSources{table(t, "EURUSD=1/0/0"), table(t, "EURUSD=3/0/0"), file}
	every := costSources{run: table(t, "*=1/0/0"), settings: table(t, "*=3/0/0"), file: file}
	settings := costSources{settings: table(t, "*=3/0/0"), file: file}
	none := costSources{file: instruments(t, "")}
	for name, c := range map[string]struct {
		from   costSources
		symbol string
		want   SymbolCosts
	}{
		"the run": {all, "EURUSD", SymbolCosts{"EURUSD", instrument.MajorFX, ClassByName, CostsOfRun, points(1, 0, 0), 0, free}},
		"all symbols of the run": {
			every, "EURUSD", SymbolCosts{"EURUSD", instrument.MajorFX, ClassByName, CostsOfRun, points(1, 0, 0), 0, free},
		},
		"the file before the settings": {
			settings, "EURUSD", SymbolCosts{"EURUSD", instrument.MajorFX, ClassByName, CostsOfFile, points(2, 0, 0), 0, free},
		},
		"the file in other capitals": {
			settings, "eurusd", SymbolCosts{"eurusd", instrument.MajorFX, ClassByName, CostsOfFile, points(2, 0, 0), 0, free},
		},
		"the settings": {
			settings, "GBPUSD", SymbolCosts{"GBPUSD", instrument.MajorFX, ClassByName, CostsOfSettings, points(3, 0, 0), 0, free},
		},
		"the settings, class of a file": {
			settings, "AAPL", SymbolCosts{"AAPL", instrument.Crypto, ClassOfFile, CostsOfSettings, points(3, 0, 0), 0, free},
		},
		"the default of the name": {
			none, "EURGBP", SymbolCosts{"EURGBP", instrument.MinorFX, ClassByName, CostsByDefault, instrument.MinorFX.Costs(), 0, free},
		},
		"the default of the file": {
			costSources{file: file},
			"SYNTHETIC",
			SymbolCosts{"SYNTHETIC", instrument.Index, ClassOfFile, CostsByDefault, instrument.Index.Costs(), 0, free},
		},
		"a name that no rule recognises": {
			none, "SYNTHETIC", SymbolCosts{"SYNTHETIC", instrument.Stock, ClassGuess, CostsByDefault, instrument.Stock.Costs(), 0, free},
		},
		"no source at all": {
			costSources{}, "XAUUSD", SymbolCosts{"XAUUSD", instrument.Metal, ClassByName, CostsByDefault, instrument.Metal.Costs(), 0, free},
		},
	} {
		if d := cmp.Diff(c.want, c.from.of(c.symbol)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// costed triggers one research and returns its spec and what was said.
func costed(t *testing.T, d *Desk, x Request) (Spec, string) {
	t.Helper()
	order, err := d.Trigger(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	return specOf(t, order.Operations[0]), strings.Join(order.Warnings, "\n")
}

func TestDesk_PinsCostsWithTheirSource(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200, "XAUUSD": 1200})
	spec, said := costed(t, d, Request{Symbols: []string{"EURUSD", "XAUUSD"}, Costs: "xauusd=1/2/3"})
	want := []SymbolCosts{
		{"EURUSD", instrument.MajorFX, ClassByName, CostsByDefault, instrument.MajorFX.Costs(), 0, free},
		{"XAUUSD", instrument.Metal, ClassByName, CostsOfRun, points(1, 2, 3), 0, free},
	}
	if diff := cmp.Diff(want, spec.SymbolCosts); diff != "" || spec.Costs != points(1, 2, 3) {
		t.Errorf("a design is written for %s, want that of the dearest; %s", spec.Costs, diff)
	}
	if again, err := ktrdr.ParseSpec[Spec](mustEncode(t, spec)); err != nil || !slices.Equal(again.SymbolCosts, want) {
		t.Errorf("read again: %+v, %v", again.SymbolCosts, err)
	}
	for _, w := range []string{
		"No costs are set for EURUSD, so it pays the default for major FX: 1.5 basis points a side. " +
			"Set its costs with --costs EURUSD=0.5/0.5/1, in instruments.yaml or with KTRDR_COSTS.",
	} {
		if said != w {
			t.Errorf("said %q, want %q", said, w)
		}
	}
}

func mustEncode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestDesk_WarnsOfCosts(t *testing.T) {
	text, _ := simple(t)
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200, "SYNTHETIC": 1200})
	for name, c := range map[string]struct {
		trigger Request
		want    string // empty: nothing is said of costs
	}{
		"set": {Request{Symbols: []string{"EURUSD"}, Costs: "EURUSD=5/0/0"}, ""},
		"an unknown class": {
			Request{Symbols: []string{"SYNTHETIC"}},
			"No costs are set for SYNTHETIC, so it pays the default for stocks: 10 basis points a side. " +
				"Its asset class is not known from its name, so this is a class with the highest default; set the class in instruments.yaml.",
		},
		"below the default": {
			Request{Symbols: []string{"EURUSD"}, Costs: "*=0.01/0/0"},
			"The costs of EURUSD (set for this run) are below the default for major FX: 0.01 basis points a side, where the default is 1.5. " +
				"Its results are marked.",
		},
		"costs of another symbol": {
			Request{Symbols: []string{"EURUSD"}, Costs: "EURUSD=5/0/0,SYNTHETIC=1/1/1"},
			"costs: SYNTHETIC is not traded in this run, so its costs have no effect.",
		},
		"a strategy below the floor": {
			Request{StrategyYAML: cheapened(text), Costs: "EURUSD=5/0/0"},
			"The strategy's backtest section (0.0001 basis points a side) is below the cost floor of EURUSD, so it is traded at the floor: " +
				"5 basis points a side (set for this run).",
		},
	} {
		_, said := costed(t, d, c.trigger)
		if c.want == "" && strings.Contains(strings.ToLower(said), "cost") || !strings.Contains(said, c.want) {
			t.Errorf("%s: said %q, want %q", name, said, c.want)
		}
	}
}

// section matches the backtest section of a strategy, in either style of YAML.
var section = regexp.MustCompile(`(?m)^backtest:.*\n(?:[ \t].*\n)*`)

// with is a strategy with these costs in its backtest section.
func with(text string, c instrument.Costs) string {
	return section.ReplaceAllString(text, "") + fmt.Sprintf("\nbacktest: {commission: %v, slippage: %v, spread: %v}\n", c.Commission,
		c.Slippage, c.Spread)
}

// cheapened is a strategy that would trade for almost nothing.
func cheapened(text string) string { return with(text, instrument.Costs{Commission: 1e-8}) }

func TestDesk_RefusesCostsThatItCannotRead(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 1200})
	for name, c := range map[string]struct {
		costs, file string
		want        []string
	}{
		"no table":             {"EURUSD=1", "", []string{"costs: must be SYMBOL=COMMISSION/SLIPPAGE/SPREAD"}},
		"a negative rate":      {"EURUSD=-1/0/0", "", []string{"costs: EURUSD: commission is -1 basis points; it must be 0 to 2000"}},
		"a misspelt symbol":    {"EURUDS=1/1/1", "", []string{"costs: there are no bars of EURUDS; did you mean EURUSD?"}},
		"a symbol far from it": {"Q=1/1/1", "", []string{"costs: there are no bars of Q: `ktrdr data list` shows the symbols"}},
		"a file with a misspelt key": {"", "instruments:\n  EURUSD: {klass: index}\n", []string{
			"correct instruments.yaml in the data folder of the backend", "instruments.yaml:2:12", "did you mean class?",
		}},
	} {
		d.cfg.Instruments = func(context.Context) (instrument.File, error) {
			return instrument.Parse(instrument.FileName, []byte(c.file))
		}
		order, err := d.Trigger(t.Context(), Request{Costs: c.costs})
		if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || len(order.Operations) > 0 || len(a.blobs) > 0 {
			t.Errorf("%s: %v, %d operations and %d blobs, want it refused and nothing made", name, err, len(order.Operations), len(a.blobs))
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
	}
}

func TestDesk_ReadsTheFileForEachRequest(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	commission := 0
	d.cfg.Instruments = func(context.Context) (instrument.File, error) {
		commission++
		return instruments(t, fmt.Sprintf("instruments:\n  EURUSD: {costs: {commission: %d, slippage: 0, spread: 0}}\n", commission)), nil
	}
	for want := 1; want <= 2; want++ {
		if spec, _ := costed(t, d, Request{}); spec.SymbolCosts[0].Costs != points(float64(want), 0, 0) ||
			spec.SymbolCosts[0].Source != CostsOfFile {
			t.Errorf("request %d pays %+v, want what the file says now", want, spec.SymbolCosts)
		}
	}
}

func TestPlan_ABacktestPaysAtLeastTheFloor(t *testing.T) {
	text, s := simple(t)
	own, floor := costsOf(s), points(30, 20, 10)
	for name, c := range map[string]struct {
		text    string
		pinned  []SymbolCosts
		dearest instrument.Costs
		want    instrument.Costs // zero: as the strategy says
	}{
		"a strategy below the floor": {
			cheapened(text), []SymbolCosts{{Symbol: s.Data.Symbols[0], Class: instrument.MajorFX, Costs: floor}}, floor, floor,
		},
		"a floor below the strategy": {
			text, []SymbolCosts{{Symbol: s.Data.Symbols[0], Class: instrument.MajorFX}}, instrument.Costs{}, instrument.Costs{},
		},
		"a strategy at the floor": {
			text, []SymbolCosts{{Symbol: s.Data.Symbols[0], Class: instrument.MajorFX, Costs: own}}, own, instrument.Costs{},
		},
		"the floor of another symbol": {
			cheapened(text),
			[]SymbolCosts{
				{
					Symbol: "OTHER", Class: instrument.MajorFX, Costs: floor,
				}, {Symbol: s.Data.Symbols[0], Class: instrument.MajorFX, Costs: points(1, 1, 1)},
			},
			floor, points(1, 1, 1),
		},
		"a research of an older version":  {cheapened(text), nil, floor, floor},
		"a research of tests, which pays": {cheapened(text), nil, instrument.Costs{}, instrument.Costs{}},
	} {
		spec := someSpec(t)
		spec.Strategy, spec.SymbolCosts, spec.Costs = c.text, c.pinned, c.dearest
		tr := reach(t, spec, ktrdr.Backtesting)
		var b jobs.BacktestSpec
		if err := json.Unmarshal(tr.newest().Spec, &b); err != nil {
			t.Fatal(err)
		}
		var got instrument.Costs
		if o := b.Overrides; o.Commission != nil && o.Slippage != nil && o.Spread != nil {
			got = instrument.Costs{Commission: *o.Commission, Slippage: *o.Slippage, Spread: *o.Spread}
		}
		if got != c.want || b.Overrides.InitialCapital != nil {
			t.Errorf("%s: overrides %s, want %s", name, got, c.want)
		}
	}
}

func TestResult_SaysWhatWasPaid(t *testing.T) {
	text, s := simple(t)
	symbol, usual := s.Data.Symbols[0], instrument.MajorFX.Costs()
	for name, c := range map[string]struct {
		text         string
		floor        SymbolCosts
		paid         instrument.Costs
		source       CostSource
		below, raise bool
		summary      string // "" means: nothing of costs
		warning      string
	}{
		"a default": {
			with(text, usual),
			SymbolCosts{symbol, instrument.MajorFX, ClassByName, CostsByDefault, usual, 0, free},
			usual, CostsByDefault, false, false,
			"", "No costs are set for " + symbol + ", so it paid the default for major FX: ",
		},
		"overruled": {
			cheapened(text),
			SymbolCosts{symbol, instrument.MajorFX, ClassByName, CostsOfFile, points(2, 1, 2), 0, free},
			points(2, 1, 2), CostsOfFile, false, true,
			"so it was traded at the floor: 4 basis points a side (instruments.yaml).", "",
		},
		"below the default": {
			cheapened(text),
			SymbolCosts{symbol, instrument.Stock, ClassOfFile, CostsOfSettings, points(2, 1, 2), 0, free},
			points(2, 1, 2), CostsOfSettings, true, true,
			"The costs of " + symbol + " (KTRDR_COSTS) are below the default for stocks: 4 basis points a side, where the default is 10.", "",
		},
		"dearer than the floor": {
			with(text, usual),
			SymbolCosts{symbol, instrument.MajorFX, ClassByName, CostsOfRun, points(0.1, 0, 0), 0, free},
			usual, CostsOfStrategy, false,
			false, "", "",
		},
	} {
		spec := someSpec(t)
		spec.Strategy, spec.SymbolCosts = c.text, []SymbolCosts{c.floor}
		tr := reach(t, spec, ktrdr.Backtesting)
		tr.complete(func(v any) {
			cfg := &v.(*jobs.BacktestResult).Config
			cfg.Commission, cfg.Slippage, cfg.Spread = c.paid.Commission, c.paid.Slippage, c.paid.Spread
		})
		tr.ask(ktrdr.WhyChild)
		var a AssessmentSpec
		if err := json.Unmarshal(tr.newest().Spec, &a); err != nil {
			t.Fatal(err)
		}
		tr.complete(nil)
		tr.ask(ktrdr.WhyChild)
		r := tr.result()
		if len(r.Costs) != 1 || a.Files == nil || !cmp.Equal(a.Files.Costs, r.Costs) {
			t.Fatalf("%s: the result says %+v, and the assessment was given %+v", name, r.Costs, a.Files)
		}
		p := r.Costs[0]
		if p.Costs != c.paid || p.Source != c.source || p.BelowDefault != c.below || r.Figures.CostBelowDefault != c.below ||
			(p.Overruled != nil) != c.raise {
			t.Errorf("%s: paid %+v (marked %t), want %s of %s, below %t, overruled %t", name, p, r.Figures.CostBelowDefault, c.paid,
				c.source, c.below, c.raise)
		}
		if c.summary == "" && r.Summary != "No edge is claimed." || !strings.Contains(r.Summary, c.summary) {
			t.Errorf("%s: the summary is %q, want %q", name, r.Summary, c.summary)
		}
		if said := strings.Join(r.Warnings, " "); !strings.Contains(said, c.warning) || c.warning == "" && said != "" {
			t.Errorf("%s: warnings %q, want %q", name, said, c.warning)
		}
		var e Experiment
		if err := json.Unmarshal(tr.notes[NoteExperiment+" "+spec.Key()].Data, &e); err != nil || e.Figures.CostBelowDefault != c.below {
			t.Errorf("%s: memory keeps %+v, %v", name, e.Figures, err)
		}
	}
}

func TestCharge_BoundsTheSummary(t *testing.T) {
	spec := someSpec(t)
	tr := plant(t, spec)
	r := &research{plan: tr.plan, spec: spec, state: PlanState{Strategy: tr.texts.strategy}}
	for accounts, left := range map[int]string{mostSentences: "", mostSentences + 1: "1 more sentences", 20: "16 more sentences"} {
		var run jobs.BacktestResult
		for i := range accounts {
			run.Accounts = append(run.Accounts, jobs.AccountResult{Symbol: fmt.Sprintf("EURUSD%d", i)})
		}
		result := Result{Summary: "No edge is claimed.", Figures: &BacktestFigures{}}
		if err := r.charge(&result, &run); err != nil {
			t.Fatal(err)
		}
		if left != "" {
			left += " about costs are left out: the result lists the costs of every symbol."
		}
		if len(result.Costs) != accounts || strings.Count(result.Summary, "are below the default") != mostSentences ||
			!strings.HasSuffix(result.Summary, left) ||
			strings.Contains(result.Summary, "left out") != (left != "") {
			t.Errorf("%d costs, summary %q, want it to end with %q", len(result.Costs), result.Summary, left)
		}
	}
}

func TestSpec_RefusesInvalidCosts(t *testing.T) {
	for want, c := range map[string]SymbolCosts{
		"symbol_costs of X: commission is -1":            {Symbol: "X", Class: instrument.Index, Costs: points(-1, 0, 0)},
		`symbol_costs of X: there is no asset class "y"`: {Symbol: "X", Class: "y"},
	} {
		spec := someSpec(t)
		spec.SymbolCosts = []SymbolCosts{c}
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
