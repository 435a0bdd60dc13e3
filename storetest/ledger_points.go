package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// PointsOf are the points of trials as the list of them says: each with what its
// operation is now. Trials are given newest first.
func PointsOf(trials []ktrdr.Trial) []ktrdr.TrialPoint {
	points := make([]ktrdr.TrialPoint, 0, len(trials))
	for _, t := range slices.Backward(trials) {
		points = append(points, ktrdr.TrialPoint{
			Operation: t.Operation, Market: t.Market, Status: t.Status, Rung: t.Rung, Sharpe: t.Sharpe, SharpeZ: t.SharpeZ,
			Looked: t.LookEnded, Claim: t.Claim, StoppedBy: t.StoppedBy,
		})
	}
	return points
}

// randomTrial makes a trial that came to anything: it waits, runs, or ended.
func (l *lab) randomTrial(dice *rand.Rand, markets []string) {
	l.Helper()
	n := ktrdr.NewOperation{Type: []ktrdr.Type{ktrdr.Dummy, ktrdr.Training}[dice.IntN(2)]}
	n.Trial = on(1, [][]string{markets, {markets[0]}, {markets[1]}}[dice.IntN(3)]...)
	if dice.IntN(3) == 0 { // the one before may have failed with the same key
		n.Trial.Key = fmt.Sprint("key ", dice.IntN(5))
	}
	op := l.create(n)
	act := dice.IntN(8)
	if act == 0 {
		return
	}
	task := l.try("w", ktrdr.Dummy, ktrdr.Training)
	if task == nil {
		l.Fatal("there is nothing to claim")
	}
	f := ending(*task, ktrdr.Completed)
	switch act {
	case 1: // runs
		return
	case 2:
		l.cancel(op.ID)
		return
	case 3:
		l.save(*task, 1, 1)
		l.finish(*task, ktrdr.Failed)
		return
	case 4:
		l.save(*task, 1, 1)
		l.finish(*task, ktrdr.Failed)
		_, err := l.Resume(l.ctx(), task.Operation)
		l.must(err)
		return
	case 5: // completed, and the ledger has nothing of it
		f.Rung = ktrdr.RungRejected
	default:
		f.Rung = []string{ktrdr.RungRejected, ktrdr.RungFinalist, "nothing", ""}[dice.IntN(4)]
		f.Result = json.RawMessage([]string{
			`{"trial":{"stopped_by":"few_trades low_return"}}`,
			fmt.Sprintf(`{"trial":{"sharpe_ratio":%g,"sharpe_z":%g}}`, dice.NormFloat64(), dice.NormFloat64()),
			fmt.Sprintf(`{"trial":{"sharpe_ratio":%g}}`, dice.NormFloat64()),
		}[dice.IntN(3)])
	}
	_, err := l.Finish(l.ctx(), f)
	l.must(err)
}

var trialPoints = map[string]func(*lab){
	"PointsSayWhatTheListOfTrialsSays": func(l *lab) {
		dice := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // no secret
		a, b := l.market("A").Market, l.market("B").Market
		for range 80 {
			l.randomTrial(dice, []string{a, b})
		}
		for _, kind := range []ktrdr.Type{ktrdr.Dummy, ktrdr.Training} { // the second takes the trial of the first
			n := ktrdr.NewOperation{Type: kind, Trial: on(1, b)}
			n.Trial.Key = "taken"
			l.cancel(l.create(n).ID)
		}
		for what, q := range map[string]ktrdr.TrialQuery{
			"all": {}, "of a type": {Type: ktrdr.Training}, "of a market": {Market: b}, "ended": {Ended: true},
		} {
			listed := l.allTrials(q)
			if q.Type != "" { // by the operations themselves
				listed = slices.DeleteFunc(l.allTrials(ktrdr.TrialQuery{}), func(t ktrdr.Trial) bool { return l.op(t.Operation).Type != q.Type })
			}
			if len(listed) < 10 {
				l.Errorf("%s: %d trials, want many", what, len(listed))
			}
			points, err := l.TrialPoints(l.ctx(), q)
			l.must(err)
			same(l, "points, "+what, points, PointsOf(listed))
		}
		points, err := l.TrialPoints(l.ctx(), ktrdr.TrialQuery{Since: time.Now().Add(time.Hour)})
		l.must(err)
		for _, p := range points { // what has not ended belongs to every span
			if p.Sharpe != nil || p.StoppedBy != "" {
				l.Errorf("a point of the future: %+v", p)
			}
		}
		same(l, "open trials", len(points), len(l.allTrials(ktrdr.TrialQuery{}))-len(l.allTrials(ktrdr.TrialQuery{Ended: true})))
	},
}
