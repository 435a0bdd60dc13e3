package compute

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// leaks says which prices of a holdout stand in an answer.
func leaks(t *testing.T, answer any, b *market.Bars) (found []string) {
	t.Helper()
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float64]bool{}
	for i := range searchedBars {
		for _, v := range []float64{b.Open[i], b.High[i], b.Low[i], b.Close[i]} {
			seen[v] = true
		}
	}
	for i := searchedBars; i < b.Len(); i++ {
		for _, v := range []float64{b.Open[i], b.High[i], b.Low[i], b.Close[i]} {
			if shown := fmt.Sprint(v); !seen[v] && strings.Contains(string(text), ":"+shown+",") {
				found = append(found, shown)
			}
		}
		if at := instant(b.Time[i]).Format(time.RFC3339); strings.Contains(string(text), `"time":"`+at) {
			found = append(found, at)
		}
	}
	return found
}

func TestBars_ShowNothingOfTheHoldout(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	all := o.series("EURUSD", market.H1)
	for name, q := range map[string]jobs.BarsQuery{
		"everything":         {},
		"every single bar":   {From: instant(all.Time[searchedBars-900]), Points: 1000},
		"across the start":   {From: instant(all.Time[searchedBars-3]), To: instant(all.Time[searchedBars+3])},
		"only the holdout":   {From: instant(all.Time[searchedBars])},
		"merged to a single": {Points: 1},
	} {
		got, err := o.desk.Bars(t.Context(), "EURUSD", "1h", q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found := leaks(t, got, all); found != nil {
			t.Errorf("%s: it shows %q of the holdout", name, found)
		}
		if name == "across the start" && len(got.Bars) != 3 {
			t.Errorf("%s: %d bars, want the 3 before", name, len(got.Bars))
		}
	}
	if m := o.markets["EURUSD"]; !m.HoldoutFrom.IsZero() || len(o.looks) > 0 {
		t.Errorf("holdout from %s, looks %v: showing bars must decide and count nothing", m.HoldoutFrom, o.looks)
	}
	for _, bad := range [][2]string{{"NOPE", "1h"}, {"EURUSD", "7h"}} {
		if _, err := o.desk.Bars(t.Context(), bad[0], bad[1], jobs.BarsQuery{}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("%v: %v, want CodeInvalid", bad, err)
		}
	}
}

func TestBars_MergeNeighbours(t *testing.T) {
	b := &market.Bars{Timeframe: market.H1}
	for i, x := range [][4]float64{{1, 5, 1, 2}, {2, 3, 0, 3}, {3, 4, 2, 4}, {4, 9, 4, 8}, {8, 8, 7, 7}} {
		b.Append(market.Bar{Time: int64(3600 * i), Open: x[0], High: x[1], Low: x[2], Close: x[3], Volume: 1})
	}
	want := []jobs.BarRow{
		{Time: instant(0), Open: 1, High: 5, Low: 0, Close: 3, Volume: new(float64(2))},
		{Time: instant(7200), Open: 3, High: 9, Low: 2, Close: 8, Volume: new(float64(2))},
		{Time: instant(14400), Open: 8, High: 8, Low: 7, Close: 7, Volume: new(float64(1))},
	}
	if got := merged(b, 2); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestInputs_AreWhatTheNetworkReads(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	all := o.series("EURUSD", market.H1)
	o.trained(small("epochs: 24", "epochs: 2"))
	op := o.ended[0]
	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](op.Spec)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := strategy.Parse([]byte(spec.Strategy), "strategy")
	if err != nil {
		t.Fatal(err)
	}
	m, err := feature.Build(s, []*market.Bars{all.Slice(0, searchedBars)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := o.desk.Inputs(t.Context(), op, jobs.InputsQuery{From: instant(all.Time[700]), Limit: 40})
	if err != nil {
		t.Fatal(err)
	}
	if got.First != 700 || got.Total != searchedBars || len(got.Bars) != 40 || got.Bars[0].Open != all.Open[700] || len(got.Sets) == 0 {
		t.Fatalf("%d bars from %d of %d, %d sets; want 40 from 700 of %d", len(got.Bars), got.First, got.Total, len(got.Sets), searchedBars)
	}
	compared := 0
	for _, set := range got.Sets {
		for _, member := range set.Members {
			column := slices.Index(m.Names, string(set.Timeframe)+"_"+set.ID+"_"+member.Name)
			for i, v := range member.Values {
				if want := float64(m.Row(700 + i)[column]); v == nil || math.Abs(*v-want) > 1e-5 {
					t.Fatalf("%s %s at bar %d: %v, want %v", set.ID, member.Name, 700+i, v, want)
				}
				compared++
			}
		}
	}
	raw := got.Sets[len(got.Sets)-1]
	want := float64(m.Row(700)[slices.Index(m.Names, "1h_atr_14_raw")])
	if len(raw.Members) != 0 || math.Abs(*raw.Values[0]-want) > 1e-5*want {
		t.Errorf("%s is %v with %d members, want the indicator itself: %v", raw.ID, *raw.Values[0], len(raw.Members), want)
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
	last, err := o.desk.Inputs(t.Context(), op, jobs.InputsQuery{From: instant(all.Time[searchedBars]), Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	if found := leaks(t, last, all); found != nil || len(last.Bars) != 500 {
		t.Errorf("%d bars, and %q of the holdout; want the last 500 before it", len(last.Bars), found)
	}
	if _, err := o.desk.Inputs(t.Context(), op, jobs.InputsQuery{Symbol: "GBPUSD"}); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("another symbol: %v, want CodeNotFound", err)
	}
}

func TestColumns_AreThinnedWithTheirExtremes(t *testing.T) {
	times, values := make([]int64, 10_000), make([]float64, 10_000)
	for i := range values {
		times[i], values[i] = int64(i), 100+math.Sin(float64(i)/300)
	}
	values[4321], values[4322] = 3, 900
	got := thinned(times, values, 100)
	if len(got) > 100 || got[0].Value != values[0] || got[len(got)-1].Value != values[9999] {
		t.Fatalf("%d points from %v to %v, want at most 100 with both ends", len(got), got[0], got[len(got)-1])
	}
	low, high := false, false
	for i, p := range got {
		low, high = low || p.Value == 3, high || p.Value == 900
		if i > 0 && !p.Time.After(got[i-1].Time) {
			t.Fatalf("point %d does not come after the one before it", i)
		}
	}
	if !low || !high {
		t.Error("an extreme of one bar was lost")
	}
}

func TestColumns_TradesKeepTheirNumbers(t *testing.T) {
	trades := []backtest.Trade{{ExitTime: 10, Net: 5}, {ExitTime: 20, Net: -7}, {ExitTime: 30, Net: -2}}
	numbers := func(p jobs.Page) (list []int) {
		for _, x := range shownTrades(trades, p) {
			list = append(list, x.Number)
		}
		return list
	}
	if got := numbers(jobs.Page{}); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("by time: %v", got)
	}
	if got := numbers(jobs.Page{WorstFirst: true}); !slices.Equal(got, []int{2, 3, 1}) {
		t.Errorf("worst first: %v, want 2 3 1", got)
	}
	if got := numbers(jobs.Page{Since: instant(20)}); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("since the second exit: %v, want 2 3", got)
	}
}

func TestColumns_EquityBetweenTwoInstants(t *testing.T) {
	times := []int64{10, 20, 30, 40}
	for _, c := range []struct {
		first          int
		start, end     time.Time
		wantFrom, want int
	}{
		{0, time.Time{}, time.Time{}, 0, 4},
		{1, time.Time{}, time.Time{}, 1, 4},
		{1, instant(5), instant(30), 1, 2},
		{0, instant(15), instant(40), 1, 3},
		{0, instant(30), instant(20), 2, 2},
		{2, instant(1), instant(15), 2, 2},
		{0, instant(50), time.Time{}, 4, 4},
	} {
		if from, to := within(times, c.first, c.start, c.end); from != c.wantFrom || to != c.want {
			t.Errorf("%v: %d to %d, want %d to %d", c, from, to, c.wantFrom, c.want)
		}
	}
}
