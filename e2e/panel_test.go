package e2e

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// A search on a market without an edge is often overfit. The probability of backtest
// overfitting that the report has is that of the daily returns that the lab serves, by
// a loop over all halves of the days. Reports, results and memory say it as a weakness,
// and of a search that is not overfit they do not. One of a few searches is overfit.
func TestPanel_AnOverfitSearchIsReportedAsOne(t *testing.T) {
	t.Parallel()
	l := newLab(t, labtest.SQLite, labtest.Calm)
	l.ServeWith(2, "KTRDR_COMPACT=true") // daily returns are kept all the same
	for seed := range uint64(8) {
		symbol := fmt.Sprintf("NOISE%d", seed)
		l.MarketWith(symbol, 4000, 40+seed, 0)
		run := l.Research(research.Request{
			Brief: symbol + " 1h, simple", Count: 8, Seed: new(seed), BypassGates: true, Force: true,
		}, symbol)
		l.RunEnds(run.Run)
		if l.reportsOverfitting(t, run) {
			return
		}
	}
	t.Error("not one search of eight is overfit: PBO shows nothing")
}

// reportsOverfitting compares what the lab reports of a run with its daily returns, and
// says whether the run is overfit.
func (l *lab) reportsOverfitting(t *testing.T, run research.Triggered) bool {
	t.Helper()
	p, err := client.Call(t.Context(), l.Client(), api.Panel, report.PanelQuery{Run: run.Run})
	if err != nil {
		t.Fatal(err)
	}
	days := map[string]int{}
	var all []map[string]float64
	for _, r := range run.Operations {
		if daily := l.daily(t, r.Operation); traded(daily) {
			all = append(all, daily)
			for d := range daily {
				days[d]++
			}
		}
	}
	var common []string
	for d, n := range days {
		if n == len(all) {
			common = append(common, d)
		}
	}
	slices.Sort(common)
	if p.Elsewhere > 0 { // of another test part: the next run may have none
		return false
	}
	if p.Trials != len(all) || p.Days != len(common) || p.Researches != len(run.Operations) {
		t.Fatalf("the panel has %d of %d trials on %d days, the lab serves %d of %d on %d", p.Trials, p.Researches, p.Days, len(all),
			len(run.Operations), len(common))
	}
	if len(all) < 2 {
		return false
	}
	pbo := overfitting(common, all)
	if p.PBO.PBO == nil || math.Abs(*p.PBO.PBO-pbo) > 1e-9 || p.PBO.Splits != 12_870 || p.SPA.P == nil {
		t.Fatalf("the report has PBO %+v and SPA %+v, the daily returns say %.4f", p.PBO, p.SPA, pbo)
	}
	t.Logf("%s: %d trials, %d days, PBO %.3f, SPA p = %.3f", run.Run, p.Trials, p.Days, pbo, *p.SPA.P)
	first := string(run.Operations[0].Operation)
	for _, args := range [][]string{{"report", "--run", run.Run}, {"results", first}, {"memory", "show", first}} {
		out, code := l.Command(args...)
		if figure := fmt.Sprintf("PBO, probability of backtest overfitting: %.2f", pbo); code != 0 || !strings.Contains(out, figure) {
			t.Errorf("ktrdr %s ended with %d and lacks %q:\n%s", strings.Join(args, " "), code, figure, out)
		}
		if strings.Contains(out, "the search is overfit") != (pbo > 0.5) || strings.Contains(out, "chance explains") != (*p.SPA.P > 0.05) {
			t.Errorf("ktrdr %s: with PBO %.3f and p = %.3f it says:\n%s", strings.Join(args, " "), pbo, *p.SPA.P, out)
		}
	}
	return pbo > 0.5
}

// daily are the daily returns of the backtest of a research; nil without one.
func (l *lab) daily(t *testing.T, id ktrdr.OperationID) map[string]float64 {
	t.Helper()
	for _, child := range l.Children(id) {
		if child.Type != ktrdr.Backtesting || child.Status != ktrdr.Completed {
			continue
		}
		r, _, err := l.Client().Results(t.Context(), child.ID, []string{"returns"}, 1000, "")
		if err != nil {
			t.Fatal(err)
		}
		daily := map[string]float64{}
		for _, point := range r.Returns {
			daily[point.Time.Format(time.DateOnly)] = point.Value
		}
		return daily
	}
	return nil
}

// traded says whether a trial did anything on the test part.
func traded(daily map[string]float64) bool {
	for _, v := range daily {
		if v != 0 {
			return true
		}
	}
	return false
}

// overfitting is the probability by a loop over all halves of 16 blocks of days.
func overfitting(days []string, trials []map[string]float64) float64 {
	size := len(days) / 16
	days = days[len(days)-16*size:]
	ratio := func(trial map[string]float64, half int) float64 {
		var part []float64
		for i, d := range days {
			if half>>(i/size)&1 == 1 {
				part = append(part, trial[d])
			}
		}
		mean, squares := 0.0, 0.0
		for _, v := range part {
			mean += v / float64(len(part))
		}
		for _, v := range part {
			squares += (v - mean) * (v - mean)
		}
		if squares < 1e-20 {
			return 0
		}
		return mean / math.Sqrt(squares/float64(len(part)-1))
	}
	low, splits := 0, 0
	for half := range 1 << 16 {
		if bits.OnesCount(uint(half)) != 8 {
			continue
		}
		best, top := 0, math.Inf(-1)
		for k, trial := range trials {
			if s := ratio(trial, half); s > top+1e-12 {
				best, top = k, s
			}
		}
		mine, rank := ratio(trials[best], 0xffff&^half), 0.5
		for _, trial := range trials {
			switch s := ratio(trial, 0xffff&^half); {
			case math.Abs(s-mine) <= 1e-12:
				rank += 0.5
			case s < mine:
				rank++
			}
		}
		if splits++; rank/float64(len(trials)+1) <= 0.5 {
			low++
		}
	}
	return float64(low) / float64(splits)
}
