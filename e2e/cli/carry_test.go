package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// What holding costs in a year: swap and funding of a long position, and of a short one swap
// less funding and the borrowed shares.
const (
	holdingCosts = "instruments:\n  EURUSD: {swap: {long: 8, short: 6}, funding: 4, borrow: 10}\n"
	carryLong    = 0.08 + 0.04
	carryShort   = 0.06 - 0.04 + 0.10
	year         = 365.25 * 86400
)

// held is what a trade costs for the time that it was open, and all that it costs, by hand.
func held(x jobs.Trade, c backtest.Config) (carry, all float64) {
	rate, side := carryLong, 1.0
	if x.Side == "short" {
		rate, side = carryShort, -1
	}
	friction := c.Slippage + c.Spread/2
	entry, exit := x.EntryPrice/(1+side*friction), x.ExitPrice/(1-side*friction)
	carry = x.Quantity * x.EntryPrice * rate * x.ExitTime.Sub(x.EntryTime).Seconds() / year
	return carry, x.Quantity*friction*(entry+exit) + x.Quantity*c.Commission*(x.EntryPrice+x.ExitPrice) + carry
}

// Swap, funding and borrowed shares are paid in a research, by its claim over new bars, and in
// a backtest that a person starts.
func TestCarry_IsPaidByResearchClaimAndBacktest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const saw = 6000
	all := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: saw + 1200, Seed: 7, Edge: 1})
	l.imports(all.Slice(0, saw))
	l.serve("--workers", "1")
	l.describe(holdingCosts)
	plan := l.must("research", "mean reversion on EURUSD 1h", "--dry-run")
	if want := "1.5 bp a side (commission 0.5, slippage 0.5, half the spread of 1; default: major FX); " +
		"holding long costs 12 % a year, short costs 12 % (instruments.yaml)"; !strings.Contains(plan, want) {
		t.Errorf("the plan does not say %q:\n%s", want, plan)
	}
	l.must("research", "mean reversion on EURUSD 1h, simple", "--symbol", "EURUSD", "--timeframe", "1h", "--count", "2", "--seed", "7",
		"--follow")

	tests := l.ops("--type", "backtesting")
	if len(tests) == 0 {
		t.Fatal("no backtest")
	}
	for _, op := range tests {
		l.paysCarry(l.op(string(op.ID)))
	}
	said := l.must("results", string(tests[0].Parent))
	if want := "Holding EURUSD costs 12% a year long and 12% short, as instruments.yaml says."; !strings.Contains(said, want) {
		t.Errorf("the result does not say %q:\n%s", want, said)
	}
	training := l.ops("--type", "training")[0]
	l.paysCarry(l.finished("backtest", string(training.ID)))

	l.describe("# nothing\n") // a claim keeps the costs that it was made with
	l.claimPaysCarry(all)
	hand := backtestResult(t, l.finished("backtest", string(training.ID)))
	if c := hand.Config; c.CarryLong != 0 || c.CarryShort != 0 {
		t.Errorf("without the file a backtest pays %v and %v for holding", c.CarryLong, c.CarryShort)
	}
}

// paysCarry holds the costs of every trade of a backtest to those computed by hand.
func (l *lab) paysCarry(op ktrdr.Operation) {
	l.t.Helper()
	r := backtestResult(l.t, op)
	if r.Config.CarryLong != carryLong || r.Config.CarryShort != carryShort {
		l.t.Errorf("%s pays %v and %v a year, want %v and %v", op.ID, r.Config.CarryLong, r.Config.CarryShort, carryLong, carryShort)
	}
	var paid float64
	trades := l.trades(op.ID)
	for i, x := range trades {
		carry, costs := held(x, r.Config)
		if paid += carry; math.Abs(x.Costs-costs) > 1e-6*costs || math.Abs(x.Net-(x.Gross-costs)) > 1e-6*(math.Abs(x.Gross)+costs) {
			l.t.Fatalf("trade %d of %s costs %v, net %v; by hand %v, of which %v for holding", i, op.ID, x.Costs, x.Net, costs, carry)
		}
	}
	if len(trades) == 0 || paid <= 0 {
		l.t.Fatalf("%s: %d trades paid %v for holding", op.ID, len(trades), paid)
	}
}

func (l *lab) trades(op ktrdr.OperationID) (list []jobs.Trade) {
	l.t.Helper()
	for cursor := ""; ; {
		page := decode[resultsPage](l.t, l.must("results", string(op), "--include", "trades", "--limit", "1000", "--cursor", cursor, "--json"))
		list = append(list, page.Trades...)
		if cursor = page.Next; cursor == "" {
			return list
		}
	}
}

// modelOf reads a model from the training that made it.
func (l *lab) modelOf(a ktrdr.Artifact) *train.TrainedModel {
	l.t.Helper()
	for _, op := range l.ops("--type", "training") {
		if r := decode[jobs.TrainingResult](l.t, string(l.op(string(op.ID)).Result)); r.Model.SHA256 != a.SHA256 {
			continue
		}
		file, err := l.client().OpenFile(l.t.Context(), op.ID, a)
		if err != nil {
			l.t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		m, err := train.Decode(file)
		if err != nil {
			l.t.Fatal(err)
		}
		return m
	}
	l.t.Fatalf("no training made the model %s", a.SHA256)
	return nil
}

// claimPaysCarry adds the bars after the claim. What it earned over them is what its model
// earns there for nothing held, less what holding costs by hand.
func (l *lab) claimPaysCarry(all *market.Bars) {
	l.t.Helper()
	l.imports(all, "--append")
	var claim ktrdr.LivingClaim
	labtest.Eventually(l.t, time.Minute, "the claim to be followed", func() bool {
		claims := decode[research.ClaimsList](l.t, l.must("claims", "--json")).Claims
		if len(claims) != 1 {
			l.t.Fatalf("%d claims, want one", len(claims))
		}
		claim = claims[0].LivingClaim
		return claim.Last.Unix() == all.Time[all.Len()-1]
	})
	spec, err := ktrdr.ParseSpec[research.ClaimStepSpec](l.op(string(claim.Step)).Spec)
	if err != nil {
		l.t.Fatal(err)
	}
	model := l.modelOf(spec.Model)
	free := func(string) (o backtest.Overrides) {
		c := spec.Costs[0]
		o.Commission, o.Slippage, o.Spread = &c.Commission, &c.Slippage, &c.Spread
		return o
	}
	data := train.Arrange([]*market.Bars{all}, func(int) bool { return false })
	until := time.Unix(all.Timeframe.End(all.Time[all.Len()-1]), 0)
	plans, err := train.NewPlans(model, data, strategy.Span{Start: claim.From, End: until}, free)
	if err != nil || len(plans) != 1 {
		l.t.Fatal(plans, err)
	}
	run, err := backtest.Backtest(plans[0].Bars, plans[0].Signals.Signal, plans[0].Config)
	if err != nil {
		l.t.Fatal(err)
	}
	nothing, paid, before := 1.0, 1.0, run.Config.InitialCapital
	for _, x := range run.Trades {
		carry, _ := held(jobs.Trade{
			EntryTime: time.Unix(x.EntryTime, 0), ExitTime: time.Unix(x.ExitTime, 0), Side: x.Side.String(), Quantity: x.Quantity,
			EntryPrice: x.EntryPrice, ExitPrice: x.ExitPrice,
		}, run.Config)
		nothing *= 1 + x.Net/before
		paid *= 1 + (x.Net-carry)/before
		before += x.Net
	}
	const tolerance = 0.0003 // the last position is still open, and is not sold
	if got := *claim.Return; math.Abs(got-(paid-1)) > tolerance || nothing-paid < 10*tolerance {
		l.t.Errorf("the claim returns %v over %d bars; by hand %v, and %v if holding costs nothing", got, claim.Bars, paid-1, nothing-1)
	}
}
