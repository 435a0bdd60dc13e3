package research

import (
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// tried is a trial with figures of the test part; a z of 0 means that it has none.
func tried(key string, sharpe, z float64, change ...func(*ktrdr.Trial)) ktrdr.Trial {
	t := ktrdr.Trial{Key: key, Type: ktrdr.AgentResearch, Status: ktrdr.Completed, Rung: RungNothing, MarketTrials: 10}
	t.Sharpe = &sharpe
	if z != 0 {
		t.SharpeZ, t.AlphaZ = &z, &z
	}
	for _, c := range change {
		c(&t)
	}
	return t
}

func TestRank_ComparesLikeWithLike(t *testing.T) {
	claim := func(p float64) func(*ktrdr.Trial) {
		return func(t *ktrdr.Trial) { t.Claim, t.Adjusted, t.Look, t.LookEnded = true, &p, "op_look", true }
	}
	crowded := func(t *ktrdr.Trial) { t.MarketTrials = 100_000 }
	gated := func(t *ktrdr.Trial) { t.Rung = ktrdr.RungRejected }
	weakAlpha := func(t *ktrdr.Trial) { t.AlphaZ = new(-1.0) }
	unknown := func(t *ktrdr.Trial) { t.Sharpe, t.Status = nil, ktrdr.Failed }
	all := []ktrdr.Trial{
		tried("no figures", 0, 0, unknown),
		tried("gated, lost more", -0.9, 0, gated),
		tried("lost little", -0.03, 0.1),
		tried("earned nothing", 0, 2.5),
		tried("gated, lost", -0.5, 0, gated),
		tried("gated, earned", 0.64, 0, gated),
		tried("gated, earned more", 0.7, 0, gated),
		tried("strong Sharpe, weak alpha", 3, 4, weakAlpha),
		tried("strong on a crowded market", 2, 3, crowded),
		tried("weaker on a fresh market", 1, 2.5),
		tried("strong", 2, 3),
		tried("claimed, weak on the test part", 0.1, 0.5, claim(0.001)),
		tried("claimed, strong on the test part", 5, 9, claim(0.01)),
	}
	want := []string{
		"claimed, weak on the test part", "claimed, strong on the test part",
		"strong", "weaker on a fresh market", "strong on a crowded market", "strong Sharpe, weak alpha",
		"gated, earned more", "gated, earned", "earned nothing", "lost little", "gated, lost", "gated, lost more", "no figures",
	}
	for range 2 { // in any order that they come
		var got []string
		for _, r := range Rank(all) {
			got = append(got, r.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("ranked\n%q, want\n%q", got, want)
		}
		slices.Reverse(all)
	}
}

// Every row is deflated by the trials on its market now: an old row is no better
// for having been judged early.
func TestRank_DeflatesByTheTrialsOfToday(t *testing.T) {
	old, young := tried("old", 2, 3), tried("young", 2, 3)
	old.CreatedAt, young.CreatedAt = time.Unix(1, 0), time.Unix(2, 0)
	list := Rank([]ktrdr.Trial{young, old})
	if list[0].Key != "old" || *list[0].Deflated != *list[1].Deflated {
		t.Errorf("ranked %s %v before %s %v, want the same figure and the older first", list[0].Key, *list[0].Deflated,
			list[1].Key, *list[1].Deflated)
	}
	before := *list[0].Deflated
	old.MarketTrials = 1000
	if now := *Rank([]ktrdr.Trial{old})[0].Deflated; now >= before {
		t.Errorf("deflated %v with 1,000 trials and %v with 10, want less", now, before)
	}
	if d := Rank([]ktrdr.Trial{tried("by hand", 1, 0)})[0].Deflated; d != nil {
		t.Errorf("deflated %v without z-values, want nothing", *d)
	}
}

func TestStanding_SaysWhatATrialCameTo(t *testing.T) {
	for want, change := range map[string]func(*ktrdr.Trial){
		"claimed":              func(t *ktrdr.Trial) { t.Claim, t.Look, t.LookEnded = true, "op_l", true },
		"not confirmed":        func(t *ktrdr.Trial) { t.Rung, t.Look, t.LookEnded = ktrdr.RungFinalist, "op_l", true },
		"being confirmed":      func(t *ktrdr.Trial) { t.Rung, t.Look = ktrdr.RungFinalist, "op_l" },
		"finalist, not opened": func(t *ktrdr.Trial) { t.Rung, t.Examined = ktrdr.RungFinalist, "robust" },
		"finalist, fragile":    func(t *ktrdr.Trial) { t.Rung, t.Examined = ktrdr.RungFinalist, "fragile" },
		"finalist, examination failed": func(t *ktrdr.Trial) {
			t.Rung, t.Examined = ktrdr.RungFinalist, "failed"
		},
		"no edge":       func(*ktrdr.Trial) {},
		"gate rejected": func(t *ktrdr.Trial) { t.Rung = ktrdr.RungRejected },
		"failed":        func(t *ktrdr.Trial) { t.Status = ktrdr.Failed },
		"cancelled":     func(t *ktrdr.Trial) { t.Status = ktrdr.Cancelled },
		"not ended":     func(t *ktrdr.Trial) { t.Status = ktrdr.Running },
		"by hand":       func(t *ktrdr.Trial) { t.Type, t.Rung = ktrdr.Backtesting, "" },
	} {
		one := tried("x", 1, 1, change)
		if got := Standing(&one); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestOutcomeBy_AgreesWithTheResult(t *testing.T) {
	for want, c := range map[Outcome]struct {
		status ktrdr.Status
		rung   string
	}{
		OutcomeCompleted: {ktrdr.Completed, ktrdr.RungFinalist}, OutcomeRejected: {ktrdr.Completed, ktrdr.RungRejected},
		OutcomeFailed: {ktrdr.Failed, ""}, OutcomeCancelled: {ktrdr.Cancelled, ""}, "": {ktrdr.Running, ""},
	} {
		if got := OutcomeBy(c.status, c.rung); got != want {
			t.Errorf("%s %q is %q, want %q", c.status, c.rung, got, want)
		}
	}
}
