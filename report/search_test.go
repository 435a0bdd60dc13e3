package report

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestSearch_CountsEachStageAndFindsTheBest(t *testing.T) {
	ended := func(rung string, sharpe, z float64) ktrdr.TrialPoint {
		return ktrdr.TrialPoint{Status: ktrdr.Completed, Rung: rung, Sharpe: &sharpe, SharpeZ: &z}
	}
	claimed := ended(ktrdr.RungFinalist, 2, 4)
	claimed.Looked, claimed.Claim = true, true
	looked := ended(ktrdr.RungFinalist, 1.5, 3)
	looked.Looked = true
	s := searchOf([]ktrdr.TrialPoint{
		{Status: ktrdr.Running},
		{Status: ktrdr.Failed},
		{Status: ktrdr.Completed, Rung: ktrdr.RungRejected}, // by the training gate
		ended(ktrdr.RungRejected, -1, -2),                   // by the backtest gate
		ended("nothing", 0.5, 1),
		looked,
		claimed,
		ended(ktrdr.RungFinalist, 1, 2),
	})
	want := Funnel{Tried: 8, Running: 1, Failed: 1, Trained: 6, Backtested: 5, Passed: 4, Finalists: 3, Looks: 2, Claims: 1}
	if s.Funnel != want {
		t.Errorf("funnel %+v, want %+v", s.Funnel, want)
	}
	if s.Best == nil || s.Best.N != 7 || s.Best.Sharpe != 2 || !s.Best.Claim || !s.Best.Finalist {
		t.Errorf("best %+v, want the claimed seventh", s.Best)
	}
	if len(s.Trials) != 5 || s.Trials[0].N != 4 {
		t.Errorf("trials %+v, want five from the fourth", s.Trials)
	}
	if s.StandardError == nil || *s.StandardError != 0.5 {
		t.Errorf("standard error %v, want 0.5", s.StandardError)
	}
	// The mean of the largest of eight standard normal numbers is 1.4236; the
	// approximation is within 3 %.
	if s.Luck == nil || math.Abs(*s.Luck-0.5*1.4236) > 0.02 {
		t.Errorf("luck reaches %v, want about 0.71", *s.Luck)
	}
}

func TestSearch_BeforeTheFirstBacktestHasNoBestAndNoLuck(t *testing.T) {
	s := searchOf([]ktrdr.TrialPoint{{Status: ktrdr.Running}})
	if s.Best != nil || s.Luck != nil || s.StandardError != nil || s.Trials == nil || s.LuckAt(9) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSearch_OfManyTrialsKeepsWhatStandsOut(t *testing.T) {
	points := make([]ktrdr.TrialPoint, 10_000)
	for i := range points {
		v := math.Sin(float64(i)) // between -1 and 1
		points[i] = ktrdr.TrialPoint{Status: ktrdr.Completed, Sharpe: &v}
	}
	best, low := 2.5, -4.0
	points[7_777].Sharpe, points[7_777].Rung = &best, ktrdr.RungFinalist
	points[5_000].Rung, points[5_000].Claim = ktrdr.RungFinalist, true
	points[6_000].Sharpe = &low
	s := searchOf(points)
	if len(s.Trials) > MostTried || len(s.Trials) < MostTried/4 {
		t.Errorf("%d trials are listed", len(s.Trials))
	}
	if s.Best == nil || s.Best.N != 7_778 || s.Low != 1 || s.Funnel.Tried != 10_000 {
		t.Errorf("the best is %+v, %d are low, of %d", s.Best, s.Low, s.Funnel.Tried)
	}
	kept := map[int]bool{}
	for _, one := range s.Trials {
		kept[one.N] = true
	}
	if !kept[7_778] || !kept[5_001] || kept[6_001] {
		t.Error("the best and the claim are listed, and what is low is not")
	}
}
