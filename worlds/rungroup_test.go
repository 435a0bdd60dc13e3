package worlds

import (
	"fmt"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

// runGroup is many runs on one market.
type runGroup struct {
	name     string
	runs     int
	size     int  // researches of a run
	renamed  bool // every run is given the same bars under another name
	parallel bool // all runs are started at once
}

var runGroups = []runGroup{
	{name: "25 runs of 8", runs: 25, size: 8},
	{name: "25 runs of 8, renamed", runs: 25, size: 8, renamed: true},
	{name: "25 runs of 8, in parallel", runs: 25, size: 8, parallel: true},
	{name: "200 runs of 1", runs: 200, size: 1},
	{name: "200 runs of 1, renamed", runs: 200, size: 1, renamed: true},
	{name: "200 runs of 1, in parallel", runs: 200, size: 1, parallel: true},
}

// firstGroupSeed is where the seeds of run groups begin.
const firstGroupSeed = 47_000

// shortSeed is where those of the short form begin. An earlier short form had
// one market for all cases, seed 46,999: its holdout was a lucky one, and five of
// its six cases claimed.
const shortSeed = 46_900

// groupBars are fewer than those of a run alone: a group has many researches.
const groupBars = 4000

// claimed runs a group on a market whose edge died, and says whether any run
// claimed one. All looks of the group are at one holdout, so that they have the
// numbers from 1 on, each once.
func (n runGroup) claimed(t *testing.T, seed uint64) bool {
	t.Helper()
	claimed, _ := n.spend(t, seed)
	return claimed
}

// spend is claimed, and how many looks there were.
func (n runGroup) spend(t *testing.T, seed uint64) (claimed bool, looked int) {
	t.Helper()
	l := newLab(t, Cheap)
	defer l.backend.Kill()
	bars := died("NIGHT", groupBars, seed)
	var started []string
	claims, looks := 0, 0
	end := func(run string) {
		r := l.ends(run)
		claims, looks = claims+r.Claims, looks+r.Looks
	}
	for i := range n.runs {
		symbol := "NIGHT"
		if n.renamed {
			symbol = fmt.Sprintf("NAME%03d", i)
		}
		if i == 0 || n.renamed {
			l.add(named(bars, symbol))
		}
		run := l.start(symbol, n.size, seed*1000+uint64(i))
		if started = append(started, run); !n.parallel {
			end(run)
		}
	}
	if n.parallel {
		for _, run := range started {
			end(run)
		}
	}
	l.numbered(started, looks)
	t.Logf("%s, seed %d: %d looks, %d claims", n.name, seed, looks, claims)
	return claims > 0, looks
}

// named is the same bars under another name.
func named(b *market.Bars, symbol string) *market.Bars {
	c := *b
	c.Symbol = symbol
	return &c
}

// numbered checks that the looks of runs have the numbers from 1 on.
func (l *lab) numbered(runs []string, want int) {
	l.t.Helper()
	seen := map[int]bool{}
	for _, run := range runs {
		for _, look := range l.looks(run) {
			for _, m := range look.Markets {
				if seen[m.Number] {
					l.t.Errorf("two looks have the number %d", m.Number)
				}
				seen[m.Number] = true
			}
		}
	}
	for i := range want {
		if !seen[i+1] {
			l.t.Errorf("of %d looks none has the number %d", want, i+1)
		}
	}
}

// A short group of each kind.
func TestRunGroups_LooksAreNumberedAcrossRuns(t *testing.T) {
	all := 0
	for i, n := range runGroups {
		n.runs = 3
		claimed, looks := n.spend(t, shortSeed+uint64(i))
		all += looks
		if claimed {
			t.Logf("%s: claimed; luck may do that in 2 of 100 groups", n.name)
		}
	}
	if all < len(runGroups) {
		t.Errorf("%d looks in %d groups of three runs: too few to show that they are numbered", all, len(runGroups))
	}
}
