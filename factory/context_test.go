package factory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/worlds"
)

// A market follows another one. The search that may read the other finds it; the
// search that may not finds nothing. Both trade one symbol.
func TestSearch_ReadsContextSymbols(t *testing.T) {
	at := slices.IndexFunc(worlds.Kinds, func(k worlds.Kind) bool { return k.Leader })
	kind := worlds.Kinds[at]
	all := kind.Make("EURUSD", 8000, 5, slices.Max(kind.Strengths))
	w := split(t, all...)
	w.Context = []string{all[1].Symbol}
	with := search(t, w, factory.Settings{Researches: 4, Seed: 3})
	without := search(t, split(t, all[0]), factory.Settings{Researches: 4, Seed: 3})
	if s := with.Sharpe(); s == nil || *s < 3 {
		t.Errorf("with the leader: the best Sharpe ratio on the test part is %v, want 3 or more", show(s))
	}
	if s := without.Sharpe(); s != nil && *s > 2 {
		t.Errorf("without the leader: the best Sharpe ratio on the test part is %v, want 2 or less", show(s))
	}
	for _, r := range with.Researches {
		if strings.Contains(r.Strategy, "symbol: "+all[1].Symbol+"}") && !strings.Contains(r.Strategy, "context_symbols: [") {
			t.Errorf("research %d trades the leader:\n%s", r.Index, r.Strategy)
		}
	}
	if with.Looks() != 1 {
		t.Errorf("%d looks, want one: the holdout of both symbols is there", with.Looks())
	}
}

func show(x *float64) any {
	if x == nil {
		return "undefined"
	}
	return *x
}
