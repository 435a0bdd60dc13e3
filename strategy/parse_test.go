package strategy_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// base is a strategy that is right; tests change it.
const base = "testdata/grammar_example.yaml"

func source(t testing.TB, file string) string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

func parse(t testing.TB, src string) *strategy.Strategy {
	t.Helper()
	s, _, err := strategy.Parse([]byte(src), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// changed replaces text in the base strategy, which must be there.
func changed(t testing.TB, pairs ...string) string {
	t.Helper()
	src := source(t, base)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(src, pairs[i]) {
			t.Fatalf("the strategy does not contain %q", pairs[i])
		}
		src = strings.Replace(src, pairs[i], pairs[i+1], 1)
	}
	return src
}

func TestExamples_ParseWithoutAWord(t *testing.T) {
	examples := strategy.Examples()
	if len(examples) < 6 {
		t.Errorf("%d examples", len(examples))
	}
	for _, e := range examples {
		s, warnings, err := strategy.Parse(e.Source, e.Name+".yaml")
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: error %v, warnings %v", e.Name, err, warnings)
			continue
		}
		if s.Name != e.Name {
			t.Errorf("the strategy in %s.yaml is called %s", e.Name, s.Name)
		}
	}
}

func TestParse_ReadsTheBenchmarkStrategies(t *testing.T) {
	zz := parse(t, source(t, "testdata/bench_zz.yaml"))
	if zz.Training.FocalGamma != 0 || zz.Training.HuberDelta != 0 {
		t.Errorf("what a cross-entropy does not use is set: %+v", zz.Training)
	}
	if zz.Training.Labels.Source != strategy.Zigzag || zz.Training.Labels.Zigzag.Threshold != 0.01 || zz.Training.BatchSize != 32 {
		t.Errorf("training = %+v", zz.Training)
	}
	tb := parse(t, source(t, "testdata/bench_tb.yaml"))
	want := label.TripleBarrier{Target: 2, Stop: 1.5, Holding: 50, Span: 50, Weights: true}
	if got := tb.Training.Labels.Labeler(); got != label.Source(want) {
		t.Errorf("labels = %+v, want %+v", got, want)
	}
	if got := tb.Model.Weights(len(tb.Features()), tb.Outputs()); got != 2819 {
		t.Errorf("%d weights, want 2819", got)
	}
}

func TestParse_ResolvesNamesAndDefaults(t *testing.T) {
	s := parse(t, source(t, base))
	want := []strategy.FeatureID{
		"1h_rsi_zone_low", "1h_rsi_zone_mid", "1h_rsi_zone_high", "1h_trend_weak", "1h_trend_strong", "1h_adx_14.plus_di_raw",
	}
	if got := s.Features(); !slices.Equal(got, want) {
		t.Errorf("features %v, want %v", got, want)
	}
	if got := s.Inputs[2].Raw; s.Indicators[got.Indicator].ID != "adx_14" ||
		s.Indicators[got.Indicator].New().Outputs()[got.Output] != "plus_di" {
		t.Errorf("the raw input refers to %+v", got)
	}
	tr := s.Training
	if tr.Optimizer != strategy.Adam || tr.WeightDecay != 1e-4 || tr.GradientClip != 1 || tr.Embargo != 0.01 ||
		tr.WeightMode != strategy.AutoWeights || tr.Scheduler.Type != strategy.Constant || tr.EarlyStopping.Enabled || tr.HuberDelta != 0 {
		t.Errorf("defaults of training: %+v", tr)
	}
	if s.Decisions.Separation != 4*time.Hour || s.Decisions.AllowShort {
		t.Errorf("decisions = %+v", s.Decisions)
	}
}

// What the author wrote, and what is said about it. Every message is checked
// with its line and column: an editor jumps there.
func TestParse_SaysWhatIsWrongAndWhere(t *testing.T) {
	for name, c := range map[string]struct {
		change []string
		want   string
	}{
		"a key that is nearly right": {
			[]string{"epochs: 40", "epoch: 40"},
			"s.yaml:37:3: training.epoch: there is no such key; did you mean epochs?",
		},
		"a key of another place": {[]string{"  epochs: 40", "  hidden_layers: [1]"}, "training.hidden_layers: there is no such key"},
		"a parameter the indicator lacks": {
			[]string{"period: 14}", "length: 14}"},
			"10:23: indicators.adx_14.length: indicator adx has no parameter \"length\"",
		},
		"a parameter out of bounds": {
			[]string{"{type: adx, period: 14}", "{type: adx, period: 1e9}"},
			"10:23: indicators.adx_14.period: indicator adx: period is 1e+09",
		},
		"an indicator that does not exist": {
			[]string{"type: rsi", "type: rsy"},
			"indicators.rsi_14.type: there is no indicator \"rsy\"; did you mean rsi?",
		},
		"a reference to no indicator": {
			[]string{"indicator: rsi_14", "indicator: rsi_41"},
			"fuzzy_sets.rsi_zone.indicator: there is no indicator \"rsi_41\"; did you mean rsi_14?",
		},
		"an output that does not exist": {[]string{"adx_14.adx", "adx_14.dx"}, "adx has no output \"dx\"; did you mean adx?"},
		"an output of what has one":     {[]string{"indicator: rsi_14", "indicator: rsi_14.value"}, "rsi has one output; write rsi_14"},
		"an input that is no set": {
			[]string{"fuzzy_set: trend,", "fuzzy_set: trent,"},
			"nn_inputs[1].fuzzy_set: there is no fuzzy set \"trent\"; did you mean trend?",
		},
		"an input of both kinds": {
			[]string{"fuzzy_set: trend,", "fuzzy_set: trend, raw_indicator: rsi_14,"},
			"give exactly one of fuzzy_set and raw_indicator",
		},
		"a timeframe that is not trained on": {[]string{"[1h]", "[4h]"}, "nn_inputs[1].timeframes: 4h is not a training timeframe (1h)"},
		"the same input twice": {[]string{
			"- {fuzzy_set: trend,",
			"- {fuzzy_set: rsi_zone, timeframes: all}\n  - {fuzzy_set: trend,",
		}, "two inputs are called 1h_rsi_zone_low"},
		"corners that go back": {
			[]string{"[0, 25, 40]", "[0, 45, 40]"},
			"14:5: fuzzy_sets.rsi_zone.low: triangular parameters [0 45 40] are not in ascending order",
		},
		"params for parameters": {
			[]string{"parameters: [50", "params: [50"},
			"fuzzy_sets.rsi_zone.mid.params: there is no such key; did you mean parameters?",
		},
		"a number that is not one": {
			[]string{"learning_rate: 1e-3", "learning_rate: fast"},
			"it must be a finite number, and is the text \"fast\"",
		},
		"a number in quotes": {
			[]string{"learning_rate: 1e-3", "learning_rate: \"0.1\""},
			"it must be a finite number, and is the text \"0.1\"",
		},
		"infinity": {
			[]string{"learning_rate: 1e-3", "learning_rate: .inf"},
			"it must be a finite number, and is .inf",
		},
		"a number that overflows": {
			[]string{"learning_rate: 1e-3", "learning_rate: 1e999"},
			"1e999 is beyond what a number can hold",
		},
		"an octal number":        {[]string{"epochs: 40", "epochs: 040"}, "040 is not a decimal number"},
		"a fraction for a count": {[]string{"epochs: 40", "epochs: 4.5"}, "4.5 is not a whole number from 1 to 100000"},
		"yes for true": {
			[]string{"position_awareness: true", "position_awareness: yes"},
			"it must be true or false, and is the text \"yes\"",
		},
		"a flag that is always on": {
			[]string{"position_awareness: true", "position_awareness: false"},
			"decisions.position_awareness: it cannot be false: there is one position",
		},
		"an empty value": {[]string{"epochs: 40", "epochs:"}, "it must be a finite number, and is empty"},
		"a list where a mapping belongs": {
			[]string{"filters: {min_signal_separation: 4}", "filters: [4]"},
			"decisions.filters: it must be a mapping (key: value), and is a list",
		},
		"a missing section":  {[]string{"decisions:", "decision:"}, "decisions: it is missing"},
		"a section misspelt": {[]string{"decisions:", "decision:"}, "decision: there is no such key; did you mean decisions?"},
		"a key given twice": {
			[]string{"epochs: 40", "epochs: 40\n  epochs: 50"},
			"38:3: training.epochs: the key is given twice, first in line 37",
		},
		"a parameter of other labels": {
			[]string{"vol_span: 50", "horizon: 50"},
			"training.labels.horizon: there is no such key with source: triple_barrier; it belongs to forward_return, context",
		},
		"labels from nowhere": {[]string{"source: triple_barrier", "source: tripple_barrier"}, "did you mean triple_barrier?"},
		"labels without a source": {
			[]string{"source: triple_barrier, ", ""},
			"training.labels.source: it is missing; there is zigzag",
		},
		"a format the labels do not have": {
			[]string{"output_format: classification", "output_format: regression"},
			"it is regression, and triple_barrier labels are a classification",
		},
		"a loss that does not fit": {
			[]string{"loss: focal", "loss: mse"},
			"mse does not fit triple_barrier labels; use cross_entropy, focal",
		},
		"a regression that ignores its costs": {[]string{
			"source: triple_barrier, pt_multiplier: 2.0, sl_multiplier: 1.5, max_holding_period: " +
				"50, vol_span: 50, vol_method: atr", "source: forward_return", "output_format: classification", "output_format: regression",
			"loss: focal", "loss: huber",
		}, "decisions.cost_model: it is missing; a regression needs it"},
		"a split that is not whole": {[]string{"test: 0.15", "test: 0.25"}, "do not sum to 1"},
		"two ways to say when": {
			[]string{"history_required: 200", "start_date: 2020-01-01\n  date_range: {end: 2024-01-01}"},
			"the dates are given twice",
		},
		"a day that does not exist": {[]string{"history_required: 200", "start_date: 2020-02-31"}, "\"2020-02-31\" is not a date"},
		"an end before the start": {
			[]string{"history_required: 200", "start_date: 2020-02-01\n  end_date: 2020-01-31"},
			"it ends with 2020-01-31, before it starts with 2020-02-01",
		},
		"a symbol with a slash": {[]string{"symbol: EURUSD", "symbol: EUR/USD"}, "\"EUR/USD\" is not a symbol"},
		"a mode that contradicts": {
			[]string{"{mode: single, symbol: EURUSD}", "{mode: single, symbols: [A, B]}"},
			"mode is single, and there are 2; use mode: multi_symbol",
		},
		"one timeframe as several": {
			[]string{"{mode: single, timeframe: 1h}", "{mode: multi_timeframe, timeframes: [1h]}"},
			"mode is multi_timeframe, and there is only 1h; use mode: single",
		},
		"a base that is not the shortest": {
			[]string{"{mode: single, timeframe: 1h}", "{timeframes: [1h, 4h], base_timeframe: 4h}"},
			"it must be the shortest timeframe, 1h",
		},
		"a timeframe that does not exist": {[]string{"timeframe: 1h", "timeframe: 3h"}, "\"3h\" is not one of 1m, 5m"},
		"symbols by criteria": {
			[]string{"symbol: EURUSD", "symbol: EURUSD, selection_criteria: {asset_class: forex}"},
			"symbols cannot be selected by criteria",
		},
		"data from elsewhere": {
			[]string{"indicators:", "context_data: [{provider: fred, series: DGS10}]\nindicators:"},
			"context data (fred, ib, cftc_cot) cannot be used",
		},
		"an indicator on other data": {[]string{"{type: adx,", "{type: adx, data_source: x,"}, "other data sources cannot be used"},
		"a restriction that cannot be enforced": {[]string{
			"indicators:",
			"deployment: {target_symbols: {mode: group_restricted, restrictions: {asset_classes: [forex]}}}\nindicators:",
		}, "it cannot be enforced"},
		"a deployment the network cannot do": {
			[]string{"indicators:", "deployment: {target_timeframes: {supported: [1h, 4h]}}\nindicators:"},
			"4h is not a training timeframe (1h); the network knows no other",
		},
		"an output activation": {
			[]string{"dropout: 0.2", "output_activation: softmax"},
			"it cannot be chosen: a classification answers by softmax",
		},
		"training keys inside model": {[]string{"  type: mlp", "  training: {epochs: 3}\n  type: mlp"}, "put these keys into training"},
		"a network without end":      {[]string{"[32, 16]", "[1024, 1024, 1024, 1024, 1024, 1024]"}, "at most 4194304 are allowed"},
		"a layer too wide":           {[]string{"[32, 16]", "[1000000000]"}, "1e+09 is not a whole number from 1 to 1024"},
		"weeks of training":          {[]string{"[32, 16]", "[1024, 1024, 1024]", "epochs: 40", "epochs: 100000"}, "training would take about"},
		"weights for other classes": {
			[]string{"loss: focal", "class_weights: [1, 2]\n  loss: focal"},
			"there are 2, and 3 classes: BUY, HOLD, SELL",
		},
		"patience without validation": {[]string{
			"{train: 0.7, validation: 0.15, test: 0.15}",
			"{train: 0.8, validation: 0}\n  early_stopping: {patience: 3}",
		}, "watch the validation samples"},
		"risk without a stop": {
			[]string{"training:", "backtest: {size_mode: risk, position_size: 0.01}\ntraining:"},
			"risk needs a stop_loss",
		},
		"units without a size":     {[]string{"training:", "backtest: {size_mode: units}\ntraining:"}, "backtest.position_size: it is missing"},
		"events by half":           {[]string{"vol_method: atr", "cusum_multiplier: 1"}, "it needs cusum_threshold: 0"},
		"another version":          {[]string{`version: "3.0"`, "version: 4"}, "version 4 is not known"},
		"a name for a file system": {[]string{"name: rsi_adx_demo", "name: ../demo"}, "\"../demo\" is not a name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := strategy.Parse([]byte(changed(t, c.change...)), "s.yaml")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got:\n%v\nwant one that says:\n%s", err, c.want)
			}
		})
	}
}

func TestParse_CollectsAllThatIsWrongInTheOrderOfTheText(t *testing.T) {
	src := changed(t, "type: rsi", "type: rsy", "epochs: 40", "epoch: 40", "indicator: adx_14.adx", "indicator: adx_14.dx", "dropout: 0.2",
		"dropout: 2")
	_, _, err := strategy.Parse([]byte(src), "s.yaml")
	problems, ok := err.(strategy.Problems) //nolint:errorlint // the type is the promise
	if !ok || len(problems) != 4 {
		t.Fatalf("err = %v, want four problems", err)
	}
	for i := 1; i < len(problems); i++ {
		if problems[i].Line < problems[i-1].Line {
			t.Errorf("line %d comes after line %d", problems[i].Line, problems[i-1].Line)
		}
	}
	many := strings.Repeat("  x: [1, 2, 3]\n", 50)
	_, _, err = strategy.Parse([]byte("name: a\nindicators:\n"+many), "s.yaml")
	problems, _ = err.(strategy.Problems) //nolint:errorlint // as above
	if len(problems) != 20 || !strings.Contains(err.Error(), "the first 20 problems") {
		t.Errorf("%d problems, want the first 20", len(problems))
	}
}

func TestParse_WarnsOfWhatHasNoEffect(t *testing.T) {
	for name, c := range map[string]struct {
		change []string
		want   string
	}{
		"an indicator that is not used": {
			[]string{"fuzzy_sets:", "  spare: {type: sma}\nfuzzy_sets:"},
			"indicators.spare: no fuzzy set and no input uses it",
		},
		"a fuzzy set that is not used": {
			[]string{"nn_inputs:", "  spare: {indicator: rsi_14, x: [1, 2, 3]}\nnn_inputs:"},
			"fuzzy_sets.spare: no input uses it",
		},
		"a gamma without focal": {
			[]string{"loss: focal", "loss: cross_entropy"},
			"training.focal_gamma: it has no effect: it is used only with loss: focal",
		},
		"a normalised membership": {
			[]string{"fuzzy_set: trend,", "fuzzy_set: trend, normalization: zscore,"},
			"nn_inputs[1].normalization: it has no effect",
		},
		"costs of a classification": {[]string{"confidence_threshold: 0.55", "cost_model: {}"}, "decisions.cost_model: it has no effect"},
		"patience that is off": {
			[]string{"loss: focal", "early_stopping: {enabled: false, patience: 3}\n  loss: focal"},
			"training.early_stopping.patience: it has no effect",
		},
		"less history than the warm-up": {
			[]string{"{type: adx, period: 14}", "{type: adx, period: 150}"},
			"training_data.history_required: it is 200, and the inputs need about 300 bars of 1h",
		},
		"restrictions that do not apply": {
			[]string{
				"indicators:",
				"deployment: {target_symbols: {mode: universal, restrictions: {excluded_symbols: [A]}}}\nindicators:",
			},
			"restrictions are used only with mode: group_restricted",
		},
		"a multiplier beside a threshold": {
			[]string{"vol_method: atr", "cusum_threshold: 0.01, cusum_multiplier: 1"},
			"training.labels.cusum_multiplier: it has no effect",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, err := strategy.Parse([]byte(changed(t, c.change...)), "s.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0].String(), c.want) {
				t.Errorf("warnings %v, want one that says %q", warnings, c.want)
			}
		})
	}
	s, warnings, err := strategy.Parse([]byte(source(t, "testdata/bench_zz.yaml")), "s.yaml")
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Message, "a leg of a zigzag ends") {
		t.Errorf("zigzag with label_lookahead: %v, %v", warnings, err)
	}
	regression := strings.Replace(string(s.YAML()), "source: zigzag, zigzag_threshold: 0.01", "source: forward_return", 1)
	regression = strings.Replace(regression, "output_format: classification", "output_format: regression\n  cost_model: {}", 1)
	regression = strings.Replace(regression, "loss: cross_entropy", "loss: mse", 1)
	if _, warnings, err = strategy.Parse([]byte(regression), "s.yaml"); err != nil || len(warnings) != 2 {
		t.Errorf("a regression with a confidence threshold and class weights: warnings %v, err %v", warnings, err)
	}
}

func TestParse_RecognisesVersion2(t *testing.T) {
	_, _, err := strategy.Parse([]byte("name: old\nversion: \"2.0\"\nindicators:\n  - {name: rsi, feature_id: rsi_14, period: 14}\n"+
		"fuzzy_sets: {}\n"), "old.yaml")
	if err == nil || !strings.Contains(err.Error(), "old.yaml:3:1: indicators: this is a strategy of version 2") {
		t.Errorf("err = %v", err)
	}
}

func TestParse_RefusesYAMLThatHidesItsMeaning(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"an anchor":                    {"name: &n demo\n", "s.yaml:1:7: anchors (&) are not allowed"},
		"an alias":                     {"name: *n\n", "aliases (*) are not allowed"},
		"a merge":                      {"<<: {name: demo}\n", "merge keys (<<) are not allowed"},
		"a tag":                        {"name: !!str 5\n", "tags (!) are not allowed"},
		"two documents":                {"name: a\n---\nname: b\n", "a second document begins here"},
		"brackets without end":         {"name: " + strings.Repeat("[", 5000), "nested more than 16 deep"},
		"dashes without end":           {strings.Repeat("- ", 5000), "nested more than 16 deep"},
		"more words than a strategy":   {strings.Repeat("a: 1\n", 10_000), "a strategy has at most 20000"},
		"more bytes than a strategy":   {strings.Repeat("#", 300_000), "the file is larger than 256 KB, which is the most for a strategy"},
		"text that is not UTF-8":       {"name: \"\xff\"\n", "s.yaml:1:8: there is a byte here that is not text in UTF-8"},
		"nothing":                      {"", "the file is empty"},
		"only a comment":               {"# nothing\n", "the file is empty"},
		"not a mapping":                {"- a\n- b\n", "it must be a mapping"},
		"a block without text":         {"name: |\ndescription: >\n", "name: \"\" is not a name"},
		"a key without a name":         {": 1\n", "s.yaml:1:1"},
		"a quote that is not closed":   {"name: \"a\n", "this is not YAML"},
		"a tab":                        {"name:\n\tx: 1\n", "this is not YAML"},
		"a bracket that is not closed": {"name: [a\nversion: 1\n", "this is not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := strategy.Parse([]byte(c.src), "s.yaml")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestAllows_HoldsWhatDeploymentSays(t *testing.T) {
	deployed := func(d string) *strategy.Strategy {
		return parse(t, changed(t, "indicators:", "deployment: {target_symbols: "+d+"}\nindicators:"))
	}
	for name, c := range map[string]struct {
		s      *strategy.Strategy
		symbol string
		tf     market.Timeframe
		ok     bool
	}{
		"any symbol":               {deployed("{mode: universal}"), "GBPUSD", market.H1, true},
		"another timeframe":        {deployed("{mode: universal}"), "EURUSD", market.H4, false},
		"the training symbol":      {deployed("{mode: training_only}"), "EURUSD", market.H1, true},
		"a symbol it has not seen": {deployed("{mode: training_only}"), "GBPUSD", market.H1, false},
		"an excluded symbol": {
			deployed("{mode: group_restricted, restrictions: {excluded_symbols: [USDJPY]}}"), "USDJPY",
			market.H1, false,
		},
		"a symbol that is not": {
			deployed("{mode: group_restricted, restrictions: {excluded_symbols: [USDJPY]}}"), "EURJPY",
			market.H1, true,
		},
		"any symbol when nothing set": {parse(t, source(t, base)), "GBPUSD", market.H1, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.s.Allows(c.symbol, c.tf); (err == nil) != c.ok {
				t.Errorf("err = %v, want allowed %v", err, c.ok)
			}
		})
	}
}

func TestSignals_OneForEachClass(t *testing.T) {
	for _, e := range strategy.Examples() {
		s := parse(t, string(e.Source))
		l := s.Training.Labels
		if len(l.Signals()) != len(l.Classes()) {
			t.Errorf("%s: %d signals for %d classes", e.Name, len(l.Signals()), len(l.Classes()))
		}
		set, err := l.Labeler().Label(&market.Bars{})
		if err != nil || !reflect.DeepEqual(set.Names, l.Classes()) {
			t.Errorf("%s: the labels have classes %v, the strategy says %v (%v)", e.Name, set.Names, l.Classes(), err)
		}
	}
}

func TestParse_AgreesWithTheSharedBenchmarkFiles(t *testing.T) {
	for _, name := range []string{"bench_tb.yaml", "bench_zz.yaml"} {
		shared, err := os.ReadFile(filepath.Join("..", "..", "shared", "bench", name))
		if err != nil {
			t.Skip("kept beside the project: the benchmark jobs")
		}
		if string(shared) != source(t, filepath.Join("testdata", name)) {
			t.Errorf("testdata/%s is not the shared file", name)
		}
	}
}
