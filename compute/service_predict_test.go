package compute

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/train"
)

// predict asks for a prediction that the desk must make.
func (o *office) predict(r jobs.PredictionRequest) jobs.Prediction {
	o.t.Helper()
	p, err := o.desk.Predict(o.t.Context(), r)
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

func TestPredict_StopsWhereTheHoldoutBegins(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	all := o.series("EURUSD", market.H1)
	model := string(o.trained(small("epochs: 24", "epochs: 2")))
	p := o.predict(jobs.PredictionRequest{Model: model, Last: 4000})
	from := o.markets["EURUSD"].HoldoutFrom
	if len(p.Bars) != searchedBars || p.Bars[searchedBars-1].Closed.After(from) {
		t.Errorf("%d bars until %s, want the %d before %s", len(p.Bars), p.Bars[len(p.Bars)-1].Closed, searchedBars, from)
	}
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "the bars after 2015-04-07 18:00 are left out") || p.Look != nil ||
		len(o.looks) != 0 {
		t.Errorf("warnings %q, look %v, want one warning and no look", p.Warnings, p.Look)
	}
	few := o.predict(jobs.PredictionRequest{Model: model})
	if len(few.Bars) != usualPredicted || !reflect.DeepEqual(few.Bars, p.Bars[searchedBars-usualPredicted:]) {
		t.Errorf("%+v, want the last %d of them unless a number is given", few.Bars, usualPredicted)
	}

	opened := o.predict(jobs.PredictionRequest{Model: model, Last: 4000, OpenHoldout: true})
	if len(opened.Bars) != all.Len() || !slices.Equal(opened.Look, []ktrdr.LookMarket{{Market: "mkt_EURUSD", Number: 1}}) ||
		!strings.Contains(opened.Warnings[0], "is a look") {
		t.Errorf("%d bars, look %v, warnings %q; want all bars as look 1", len(opened.Bars), opened.Look, opened.Warnings)
	}
	if l := o.looks[0]; l.Kind != ktrdr.LookByHand || l.Strategy != "small" || !slices.Equal(l.Markets, []string{"mkt_EURUSD"}) ||
		len(l.Spans) == 0 {
		t.Errorf("look %+v, want one by hand at the market", l)
	}
	for i, b := range p.Bars {
		if same := opened.Bars[i]; same.Signal != b.Signal || !slices.Equal(same.Answers, b.Answers) {
			t.Fatalf("bar %s is %v with later bars and %v without", b.Time, same, b)
		}
	}
}

func TestPredict_TheSameQuestionIsTheSameLook(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD", "GBPUSD")
	one, other := string(o.trained(small("epochs: 24", "epochs: 1"))), string(o.trained(small("epochs: 24", "epochs: 2")))
	for _, c := range []struct {
		name   string
		r      jobs.PredictionRequest
		number int
	}{
		{"the first", jobs.PredictionRequest{Model: one, OpenHoldout: true}, 1},
		{"the same again", jobs.PredictionRequest{Model: one, OpenHoldout: true, Last: 7}, 1},
		{"another model", jobs.PredictionRequest{Model: other, OpenHoldout: true}, 2},
		{"another symbol", jobs.PredictionRequest{Model: one, Symbol: "GBPUSD", OpenHoldout: true}, 3},
	} {
		if p := o.predict(c.r); p.Look[0].Number != c.number {
			t.Errorf("%s is look %d, want %d", c.name, p.Look[0].Number, c.number)
		}
	}
	o.synth("EURUSD", market.H1, 2001, 1)
	if p := o.predict(jobs.PredictionRequest{Model: one, OpenHoldout: true}); p.Look[0].Number != 4 {
		t.Errorf("a newer bar is look %d, want another one", p.Look[0].Number)
	}
}

func TestPredict_SaysWhatIsWrong(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	model := string(o.trained(small("epochs: 24", "epochs: 1")))
	bound := string(o.trained(small("epochs: 24", "epochs: 1", "model:\n", "deployment: {target_symbols: {mode: training_only}}\nmodel:\n")))
	o.synth("GBPUSD", market.H1, 500, 1)
	o.blobs.puts = 0
	for name, c := range map[string]struct {
		r    jobs.PredictionRequest
		says string
	}{
		"no model":       {jobs.PredictionRequest{}, "say which model"},
		"too many bars":  {jobs.PredictionRequest{Model: model, Last: 10_001}, "last is 10001; it must be 1 to 10000"},
		"less than none": {jobs.PredictionRequest{Model: model, Last: -1}, "last is -1"},
		"no bars":        {jobs.PredictionRequest{Model: model, Symbol: "USDJPY"}, "no 1h bars of USDJPY"},
		"no such model":  {jobs.PredictionRequest{Model: strings.Repeat("ab", 32)}, "no model with the sha256"},
		"a foreign symbol": {
			jobs.PredictionRequest{Model: bound, Symbol: "GBPUSD", OpenHoldout: true}, "may be used only on the symbols it was trained on",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.desk.Predict(t.Context(), c.r)
			o.refused(t, err, c.says)
		})
	}
	_, err := o.desk.Backtest(t.Context(), jobs.BacktestRequest{Model: bound, Symbol: "GBPUSD", OpenHoldout: true})
	o.refused(t, err, "may be used only on the symbols it was trained on")
	if len(o.looks) != 0 || o.markets["GBPUSD"] != nil {
		t.Errorf("looks %+v: a refusal is not a look", o.looks)
	}
}

func TestVerifyLive_FindsAnAnswerThatDiffers(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	o.trained(small("epochs: 24", "epochs: 1"))
	file, err := modelOf(o.ended[0])
	if err != nil {
		t.Fatal(err)
	}
	m, err := decodeModel(strings.NewReader(string(o.b.Blobs()[file.SHA256])), file)
	if err != nil {
		t.Fatal(err)
	}
	data := train.Series{Symbol: "EURUSD", Bars: []*market.Bars{o.series("EURUSD", market.H1)}}
	said, err := train.Predict(m, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := train.VerifyLive(m, data, said); err != nil {
		t.Errorf("an honest answer: %v", err)
	}
	said.Answer(len(said.Signal) - 1)[0] += 0.001
	if err := train.VerifyLive(m, data, said); err == nil || !strings.Contains(err.Error(), "do not trade it") {
		t.Errorf("err = %v, want the difference told", err)
	}
}
