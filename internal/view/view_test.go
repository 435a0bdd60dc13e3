package view

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
)

func TestStory_TellsEveryKindOfEvent(t *testing.T) {
	for _, tc := range []struct {
		kind ktrdr.EventKind
		data string
		want string
	}{
		{ktrdr.EventClaimed, `{"worker_id":"w_1"}`, "claimed by w_1 (epoch 3)"},
		{ktrdr.EventReported, ``, "its worker reported; running again (epoch 3)"},
		{ktrdr.EventFailed, `{"error_message":"disk full"}`, "failed: disk full"},
		{ktrdr.EventReleased, `{"reason":"Graceful shutdown"}`, "released: Graceful shutdown"},
		{ktrdr.EventReleased, `{}`, "released"},
		{ktrdr.EventCheckpoint, `{"checkpoint_type":"periodic","step":5}`, "checkpoint periodic at step 5"},
		{ktrdr.EventPhase, `{"from":"DESIGNING","to":"TRAINING"}`, "phase TRAINING"},
		{ktrdr.EventRunCancelled, `{"run":"run_1","by":"ann","reason":"enough"}`, "run_1 cancelled by ann: enough"},
		{ktrdr.EventRunCancelled, `{"run":"run_1","by":"ann"}`, "run_1 cancelled by ann"},
		{ktrdr.EventRunGivenUp, `{"run":"run_1","reason":"all failed"}`, "run_1 given up: all failed"},
		{ktrdr.EventRunEnded, `{"run":"run_1","state":"COMPLETED"}`, "run_1 ended: COMPLETED"},
		{ktrdr.EventGenerationClosed, `{"run":"run_1","generation":2}`, "run_1: generation 2 is closed"},
		{ktrdr.EventCreated, ``, "created"},
		{ktrdr.EventPaused, `not json`, "paused"},
	} {
		if got := story(ktrdr.Event{Kind: tc.kind, Epoch: 3, Data: json.RawMessage(tc.data)}); got != tc.want {
			t.Errorf("story of %s = %q, want %q", tc.kind, got, tc.want)
		}
	}
}

func TestNote_SaysUntilWhenAnOperationWaits(t *testing.T) {
	until := time.Now().Add(90 * time.Minute)
	got := Note(ktrdr.Operation{Status: ktrdr.Pending, NotBefore: until})
	if want := until.Local().Format(time.DateTime); !strings.Contains(got, want) || !strings.Contains(got, "1h") {
		t.Errorf("note = %q, want it to say %s", got, want)
	}
}

func TestPrintCurve_ShowsWhatIsThereAndSaysWhatIsNot(t *testing.T) {
	some := func(x float64) *float64 { return &x }
	day := time.Date(2020, 3, 4, 5, 0, 0, 0, time.UTC)
	months := make([]*float64, 12)
	months[1], months[11] = some(0.0123), some(-0.5)
	for name, c := range map[string]struct {
		curve *evidence.Curve
		want  []string
	}{
		"nothing": {nil, nil},
		"a curve": {&evidence.Curve{
			Years: []evidence.Year{{Year: 2020, Months: [12]*float64(months), Return: -0.49}},
			Drawdowns: []evidence.Drawdown{
				{Peak: day, Trough: day.Add(time.Hour), Recovered: &day, Depth: 0.1, Bars: 3}, {Peak: day, Trough: day, Depth: 0.05, Bars: 2},
			},
			Sharpe: evidence.Interval{
				Estimate: some(1), Low: some(0.5), High: some(1.5), P: some(0.01), PerYear: true, Level: 0.95, Draws: 1000, Block: 20,
			},
		}, []string{
			"Sharpe ratio per year: 1, from 0.5 to 1.5 with 95 % confidence; chance alone does as well in 1 % of cases (1000 resamples in blocks " +
				"of about 20 bars; strategies tried before are not counted)",
			"Returns in %:", "YEAR JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC WHOLE", "2020 1.23 -50.00 -49.00",
			"Deepest drawdowns:", "PEAK TROUGH DEPTH RECOVERED BARS",
			"2020-03-04 05:00 2020-03-04 06:00 10.00 % 2020-03-04 05:00 3", "2020-03-04 05:00 2020-03-04 05:00 5.00 % not yet 2",
		}},
		"no risk, no fall": {&evidence.Curve{Sharpe: evidence.Interval{Undefined: "the 9 returns do not vary"}}, []string{
			"Sharpe ratio: undefined: the 9 returns do not vary", "Returns in %:", "YEAR JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC WHOLE",
		}},
	} {
		var b bytes.Buffer
		Curve(&b, c.curve)
		var got []string
		for line := range strings.Lines(b.String()) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: printed\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestStatus_SlotsThatTypesShareAreSaidOnce(t *testing.T) {
	dummyAndLoad := []ktrdr.Type{ktrdr.Dummy, ktrdr.DataLoad}
	var b bytes.Buffer
	Slots(&b, []ktrdr.Worker{
		{Live: true, Types: dummyAndLoad, Slots: 2, Running: 2},
		{Live: true, Types: []ktrdr.Type{ktrdr.DataLoad, ktrdr.Dummy}, Slots: 1},
		{Live: true, Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1, Running: 1},
		{Types: dummyAndLoad, Slots: 4, Running: 4}, // is gone
	})
	if got, want := b.String(), "workers: 3 live; data_load, dummy: 2 of 3 slots busy; dummy: 1 of 1 slots busy\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestResearchFigures_KeepsOnlyNumbers(t *testing.T) {
	var f researchFigures
	err := json.Unmarshal([]byte(`{"a":1.5,"b":null,"c":true,"d":"x","e":[1],"symbols":[{"symbol":"X"}]}`), &f)
	if n := f.figures; err != nil || len(n) != 2 || *n["a"] != 1.5 || n["b"] != nil || len(f.symbols) != 1 || f.symbols[0].Symbol != "X" {
		t.Errorf("%+v, %v, want a, an undefined b and the symbol", f, err)
	}
}

func TestLookNumbers_NameTheMarketOnlyWhereThereAreSeveral(t *testing.T) {
	one, two := ktrdr.LookMarket{Market: "mkt_a", Number: 1}, ktrdr.LookMarket{Market: "mkt_b", Number: 3}
	for _, tc := range []struct {
		markets []ktrdr.LookMarket
		want    string
	}{
		{[]ktrdr.LookMarket{one}, "look 1 at the holdout"},
		{[]ktrdr.LookMarket{one, two}, "look 1 at the holdout of mkt_a, look 3 at the holdout of mkt_b"},
	} {
		if got := lookNumbers(&ktrdr.Look{Markets: tc.markets}); got != tc.want {
			t.Errorf("%d markets: %q, want %q", len(tc.markets), got, tc.want)
		}
	}
}
