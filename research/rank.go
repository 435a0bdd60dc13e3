package research

import (
	"cmp"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
)

// Ranked is a trial in its place.
type Ranked struct {
	ktrdr.Trial
	// Deflated is the probability that the weaker of the two z-values is more
	// than the luckiest of all trials on its market today would show.
	Deflated *float64
}

// The groups of a ranking, best first.
const (
	groupClaimed = iota // by adjusted p
	groupJudged         // earned on the test part and was judged: by Deflated
	groupEarned         // earned, but a gate rejected it or it has no z-values: by Sharpe
	groupLost           // did not earn: by Sharpe
	groupUnknown        // has no figures
)

// Rank orders trials: claims first, then what luck explains least, by the number of
// trials on their markets now.
func Rank(trials []ktrdr.Trial) []Ranked {
	list := make([]Ranked, len(trials))
	for i, t := range trials {
		list[i].Trial = t
		if z := evidence.WeakerZ(t.SharpeZ, t.AlphaZ); z != nil {
			list[i].Deflated = new(evidence.Deflate(*z, max(t.MarketTrials, 1)))
		}
	}
	slices.SortStableFunc(list, func(a, b Ranked) int {
		if byGroup := cmp.Compare(a.group(), b.group()); byGroup != 0 {
			return byGroup
		}
		switch a.group() {
		case groupClaimed:
			return cmp.Or(cmp.Compare(orElse(a.Adjusted, 1), orElse(b.Adjusted, 1)), later(a, b))
		case groupJudged:
			return cmp.Or(cmp.Compare(*b.Deflated, *a.Deflated), cmp.Compare(*b.Sharpe, *a.Sharpe), later(a, b))
		}
		return cmp.Or(cmp.Compare(orElse(b.Sharpe, math.Inf(-1)), orElse(a.Sharpe, math.Inf(-1))), later(a, b))
	})
	return list
}

func (r *Ranked) group() int {
	switch {
	case r.Claim:
		return groupClaimed
	case r.Sharpe == nil:
		return groupUnknown
	case *r.Sharpe <= 0:
		return groupLost
	case r.Deflated == nil || r.Rung == ktrdr.RungRejected:
		return groupEarned
	}
	return groupJudged
}

// later puts the older of two equal rows first.
func later(a, b Ranked) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Key, b.Key))
}

func orElse(x *float64, other float64) float64 {
	if x == nil {
		return other
	}
	return *x
}

// Standing says in words what a trial came to.
func Standing(t *ktrdr.Trial) string {
	switch {
	case t.Claim:
		return "claimed"
	case t.Status == ktrdr.Failed:
		return "failed"
	case t.Status == ktrdr.Cancelled:
		return "cancelled"
	case t.Status != ktrdr.Completed:
		return "not ended"
	case t.Rung == ktrdr.RungRejected:
		return "gate rejected"
	case t.Look != "" && t.LookEnded:
		return "not confirmed"
	case t.Look != "":
		return "being confirmed"
	case t.Rung == ktrdr.RungFinalist && t.Examined == string(evidence.Fragile):
		return "finalist, fragile"
	case t.Rung == ktrdr.RungFinalist && t.Examined == string(evidence.Failed):
		return "finalist, examination failed"
	case t.Rung == ktrdr.RungFinalist:
		return "finalist, not opened"
	case t.Type == ktrdr.Examining:
		return "examination"
	case t.Type != ktrdr.AgentResearch:
		return "by hand"
	}
	return "no edge"
}
