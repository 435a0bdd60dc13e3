package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// ClaimStepRunner follows claims over the bars that came after them.
func ClaimStepRunner() worker.Runner { return claimStepRunner{} }

type claimStepRunner struct{}

// Run trades the frozen model from the claim to the last bar there is. All of it follows
// from the claim and the bars: what an earlier step found is only compared with.
func (claimStepRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.ClaimStepSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	fault.Hit(fault.ClaimReading)
	in := &inputs{task: t}
	defer in.close()
	r, err := followed(ctx, in, spec)
	if err != nil {
		return nil, stopped(ctx, t, err)
	}
	r.Step, r.Claim, r.Strategy, r.Seen = t.Operation, spec.Claim, spec.Strategy, research.Seen(spec.Current)
	fault.Hit(fault.ClaimFollowed)
	return json.Marshal(r)
}

// onHold is why a claim cannot be followed.
type onHold struct {
	hold   ktrdr.ClaimHold
	reason string
}

func (h *onHold) Error() string { return h.reason }

func followed(ctx context.Context, in *inputs, spec research.ClaimStepSpec) (r research.ClaimStepResult, err error) {
	f := &follower{spec: spec}
	if f.model, err = in.model(ctx, spec.Model); err != nil {
		return r, err
	}
	if err = f.read(ctx, in); err == nil {
		r, err = f.follow()
	}
	if held, ok := errors.AsType[*onHold](err); ok {
		r.Hold, r.Reason, r.Summary = held.hold, held.reason, "Not followed: "+held.reason
		return r, nil
	}
	return r, err
}

// follower follows one claim. Its series are in the order of the spec's bars.
type follower struct {
	spec   research.ClaimStepSpec
	model  *train.TrainedModel
	frozen []*market.Bars // all that the claim saw
	all    []*market.Bars // and the bars after
	from   int64          // the bars after the claim open from then on
}

// arranged is what the model reads.
func (f *follower) arranged(bars []*market.Bars) []train.Series {
	return train.Arrange(bars, func(i int) bool { return f.spec.Bars[i].Context })
}

// read joins the bars that the claim saw with those that came after.
func (f *follower) read(ctx context.Context, in *inputs) error {
	for _, want := range f.spec.Bars {
		i := slices.IndexFunc(f.spec.Holdout, func(b jobs.Bars) bool { return b.Symbol == want.Symbol && b.Timeframe == want.Timeframe })
		if i < 0 {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "spec: the holdout has no %s bars of %s", want.Timeframe, want.Symbol)
		}
		var parts [3]*market.Bars
		for k, one := range []jobs.Bars{want, f.spec.Holdout[i], f.spec.Current[i]} {
			var err error
			if parts[k], err = in.bars(ctx, one); err != nil {
				return err
			}
		}
		frozen, err := joinBars([]*market.Bars{parts[0]}, []*market.Bars{parts[1]})
		if err != nil {
			return err
		}
		all := frozen
		later, err := newBars(frozen[0], parts[2])
		if err == nil && later.Len() > 0 {
			all, err = joinBars(frozen, []*market.Bars{later})
		}
		if err != nil {
			return err
		}
		f.frozen, f.all = append(f.frozen, frozen[0]), append(f.all, all[0])
		if !want.Context && want.Timeframe == f.model.Strategy.Data.Base {
			f.from = max(f.from, want.Timeframe.End(frozen[0].Time[frozen[0].Len()-1]))
		}
	}
	return nil
}

// newBars are those of a series of the library that came after the bars that the claim saw. Where both
// have bars, they must be the same, and there must be such bars.
func newBars(frozen, now *market.Bars) (*market.Bars, error) {
	last := frozen.Time[frozen.Len()-1]
	end, _ := slices.BinarySearch(now.Time, last+1)
	begin, found := slices.BinarySearch(frozen.Time, now.Time[0])
	name := fmt.Sprintf("the %s bars of %s in the library", now.Timeframe, now.Symbol)
	switch {
	case end == 0:
		return nil, &onHold{ktrdr.ClaimRevised, fmt.Sprintf("%s begin at %s, after the last bar that the claim saw: import the bars before too",
			name, text.Minute(now.Time[0]))}
	case now.Time[0] < frozen.Time[0]: // more history than the claim saw
		cut, _ := slices.BinarySearch(now.Time, frozen.Time[0])
		now, end, begin, found = now.Slice(cut, now.Len()), end-cut, 0, end > cut && now.Time[cut] == frozen.Time[0]
	}
	if !found || now.Slice(0, end).Hash() != frozen.Slice(begin, frozen.Len()).Hash() {
		return nil, &onHold{ktrdr.ClaimRevised, fmt.Sprintf(
			"%s are not those that the claim saw: import the same bars again, with the new ones after them", name)}
	}
	return now.Slice(end, now.Len()), nil
}

// limit is the instant up to which every series has its bars: a bar that comes later
// must change nothing before it.
func (f *follower) limit() int64 {
	limit := int64(math.MaxInt64)
	base := f.model.Strategy.Data.Base
	for _, b := range f.all {
		end := b.Timeframe.End(b.Time[b.Len()-1])
		if b.Timeframe != base { // the next bar of a longer timeframe is not there yet
			end = b.Timeframe.End(end) - 1
		}
		limit = min(limit, end)
	}
	return limit
}

// stakes trades the model over a span of bars.
func (f *follower) stakes(bars []*market.Bars, span strategy.Span) ([]evidence.Stake, error) {
	plans, err := train.NewPlans(f.model, f.arranged(bars), span, overrides(f.spec.Costs))
	if err != nil {
		return nil, err
	}
	accounts := make([]evidence.StakedAccount, len(plans))
	for i, p := range plans {
		worst := slices.IndexFunc(f.spec.Worst, func(w research.SymbolWorst) bool { return w.Symbol == p.Bars.Symbol })
		if worst < 0 {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: there is no worst move of %s", p.Bars.Symbol)
		}
		accounts[i] = evidence.StakedAccount{Bars: p.Bars, Signals: p.Signals.Signal, Config: p.Config, Worst: f.spec.Worst[worst].WorstMove}
	}
	return evidence.Stakes(accounts)
}

func (f *follower) follow() (r research.ClaimStepResult, err error) {
	holdout, err := f.stakes(f.frozen, strategy.Span{Start: f.spec.From, End: at(math.MaxInt32 * 4)})
	if err != nil {
		return r, fmt.Errorf("holdout: %w", err)
	}
	state := &research.ClaimState{Frozen: evidence.Freeze(holdout, f.spec.Share)}
	limit := f.limit()
	stakes, err := f.stakes(f.all, strategy.Span{Start: at(f.from), End: at(limit)})
	if err != nil && !errors.Is(err, train.ErrNoDecision) {
		return r, fmt.Errorf("bars after the claim: %w", err)
	}
	if err := f.live(state, stakes); err != nil {
		return r, err
	}
	state.Series = f.used(limit)
	r.State, r.ClaimLife = state, lifeOf(state, stakes, f.model.Strategy.Data.Base)
	r.From = at(f.from)
	r.Summary = summaryOf(r.ClaimLife)
	return r, nil
}

// live adds the bars, and compares what the earlier step had reached on its way.
func (f *follower) live(state *research.ClaimState, stakes []evidence.Stake) error {
	var held *research.ClaimState
	if len(f.spec.Held) > 0 {
		held = new(research.ClaimState)
		if err := json.Unmarshal(f.spec.Held, held); err != nil {
			return ktrdr.Errorf(ktrdr.CodeCorrupt, "the state of the claim: %w", err)
		}
		if err := f.agrees(held); err != nil {
			return err
		}
	}
	state.Living = evidence.NewLiving(state.Frozen)
	same := held == nil || held.Living.Bars == 0
	for _, s := range stakes {
		state.Living.Add(s)
		if held != nil && s.Time == held.Living.Last {
			same = sameState(state, held)
		}
	}
	if !same {
		return &onHold{ktrdr.ClaimChanged, fmt.Sprintf(
			"this version of the program computes other numbers from the same bars up to %s", text.Minute(held.Living.Last))}
	}
	return nil
}

// agrees compares the bars with those that the earlier step used.
func (f *follower) agrees(held *research.ClaimState) error {
	if len(held.Series) != len(f.all) {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "the state of the claim has %d series, not %d", len(held.Series), len(f.all))
	}
	for i, b := range f.all {
		if was := held.Series[i]; was.Bars > b.Len() || ktrdr.Hash(b.Slice(0, was.Bars).Hash()) != was.Hash {
			return &onHold{ktrdr.ClaimRevised, fmt.Sprintf("%s bars of %s that were followed before were changed since: "+
				"import the same bars again, with the new ones after them", b.Timeframe, b.Symbol)}
		}
	}
	return nil
}

// sameState compares all bits of two states but their series.
func sameState(a, b *research.ClaimState) bool {
	x, err := json.Marshal(research.ClaimState{Frozen: a.Frozen, Living: a.Living})
	y, err2 := json.Marshal(research.ClaimState{Frozen: b.Frozen, Living: b.Living})
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// used are the series up to the limit.
func (f *follower) used(limit int64) (all []research.ClaimSeries) {
	for _, b := range f.all {
		n := sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > limit })
		all = append(all, research.ClaimSeries{Symbol: b.Symbol, Timeframe: b.Timeframe, Bars: n, Hash: ktrdr.Hash(b.Slice(0, n).Hash())})
	}
	return all
}

func lifeOf(state *research.ClaimState, stakes []evidence.Stake, base market.Timeframe) ktrdr.ClaimLife {
	l := &state.Living
	life := ktrdr.ClaimLife{
		Rung: ktrdr.ClaimConfirmed, Bars: l.Bars, Last: instantOf(l.Last), E: l.Edge.Value(), MaxE: l.Edge.Max,
		Detected: instantOf(l.Edge.Crossed),
		RetireE:  l.Decay.Value(), MaxRetire: l.Decay.Max, Retired: instantOf(l.Decay.Crossed),
	}
	switch {
	case l.Decay.Crossed != 0:
		life.Rung = ktrdr.ClaimRetired
	case l.Edge.Crossed != 0:
		life.Rung = ktrdr.ClaimLiving
	}
	if l.Bars == 0 {
		return life
	}
	life.Return = new(l.Growth - 1)
	times := make([]int64, len(stakes))
	for i, s := range stakes {
		times[i] = s.Time
	}
	if sr, year := l.Sharpe(), backtest.BarsPerYear(&market.Bars{Timeframe: base, Time: times}); sr != nil && year > 0 {
		life.LivingSR = new(*sr * math.Sqrt(year))
	}
	return life
}

// instantOf is the zero time for 0.
func instantOf(seconds int64) (t time.Time) {
	if seconds != 0 {
		t = at(seconds)
	}
	return t
}

func summaryOf(l ktrdr.ClaimLife) string {
	switch {
	case l.Bars == 0:
		return "There are no bars after the claim yet."
	case l.Rung == ktrdr.ClaimRetired:
		return fmt.Sprintf("Retired at the bar of %s: it earns less than half of what was claimed (e = %.3g).",
			text.Minute(l.Retired.Unix()), l.MaxRetire)
	case l.Rung == ktrdr.ClaimLiving:
		return fmt.Sprintf("Living: %s after the claim show an edge since the bar of %s (e = %.3g).", text.Counted(l.Bars, "bar"),
			text.Minute(l.Detected.Unix()), l.MaxE)
	}
	return fmt.Sprintf("%s followed: e = %.3g; %v shows an edge.", text.Counted(l.Bars, "bar"), l.E, evidence.Crosses)
}
