package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// claimed makes a claim by a look that succeeded.
func (l *lab) claimed(strategy string) ktrdr.OperationID {
	l.Helper()
	op := l.create(looking("", l.market("A").Market))
	f := ending(l.claim("w"), ktrdr.Completed)
	f.Result = json.RawMessage(`{"look":{"p":0.001,"adjusted_p":0.002,"claim":true},` +
		`"claim":{"research_operation_id":"op_r","strategy_name":"` +
		strategy + `","symbols":"A","timeframe":"1h","sharpe_ratio":3,"shrunk":2.5,"p":0.001,"adjusted_p":0.002}}`)
	_, err := l.Finish(l.ctx(), f)
	l.must(err)
	return op.ID
}

// steps follows a claim: an operation ends with this advance.
func (l *lab) steps(a ktrdr.ClaimAdvance) (ktrdr.OperationID, ktrdr.Finished) {
	l.Helper()
	op := l.create(ktrdr.NewOperation{})
	f := ending(l.claim("w"), ktrdr.Completed)
	text, err := json.Marshal(map[string]any{"advance": a, "state": a.State, "seen": a.Seen})
	l.must(err)
	f.Result = text
	_, err = l.Finish(l.ctx(), f)
	l.must(err)
	return op.ID, f
}

func (l *lab) claimOf(id ktrdr.OperationID) ktrdr.LivingClaim {
	l.Helper()
	c, err := l.ClaimOf(l.ctx(), id)
	l.must(err)
	return c
}

// advance is what a step over that number of bars found.
func advance(id ktrdr.OperationID, bars int, rung ktrdr.ClaimRung) ktrdr.ClaimAdvance {
	from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	return ktrdr.ClaimAdvance{Claim: id, ClaimLife: ktrdr.ClaimLife{
		Rung: rung, From: from, Bars: bars, Last: from.Add(time.Duration(bars) * time.Hour), E: float64(bars), MaxE: float64(bars) + 0.1,
		RetireE:   0.3,
		MaxRetire: 1, Return: new(0.25), Seen: ktrdr.Hash{byte(bars)}, State: json.RawMessage(fmt.Sprintf(`{"bars":%d}`, bars)),
	}}
}

var livingClaims = map[string]func(*lab){
	"AClaimIsMadeInTheTransactionThatEndsItsLook": func(l *lab) {
		id := l.claimed("s1")
		c := l.claimOf(id)
		same(l, "frozen", c.NewClaim, ktrdr.NewClaim{
			Operation: id, Research: "op_r", Strategy: "s1", Symbols: "A", Timeframe: "1h", Sharpe: new(3.0), Shrunk: new(2.5),
			P: new(0.001), Adjusted: new(0.002),
		})
		same(l, "life", c.ClaimLife, ktrdr.ClaimLife{Rung: ktrdr.ClaimConfirmed, E: 1, MaxE: 1, RetireE: 1, MaxRetire: 1})
		if c.ClaimedAt.IsZero() || !c.SteppedAt.IsZero() {
			l.Errorf("claimed at %v, stepped at %v", c.ClaimedAt, c.SteppedAt)
		}
		second := l.claimed("s2")
		all, err := l.Claims(l.ctx())
		l.must(err)
		if len(all) != 2 || all[0].Operation != second || all[1].Operation != id {
			l.Errorf("claims: %+v", all)
		}
		_, err = l.ClaimOf(l.ctx(), "op_dummy_nothing")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"AStepChangesItsClaimOnceAndNeverBackwards": func(l *lab) {
		id := l.claimed("s")
		a := advance(id, 40, ktrdr.ClaimLiving)
		a.Detected = a.From.Add(time.Hour)
		op, f := l.steps(a)
		c := l.claimOf(id)
		want := a.ClaimLife
		want.Step = op
		same(l, "life", c.ClaimLife, want)
		if c.SteppedAt.IsZero() {
			l.Error("nothing says when it was followed")
		}
		_, err := l.Finish(l.ctx(), f)
		l.must(err)
		same(l, "the same end again", l.claimOf(id), c)

		l.steps(advance(id, 30, ktrdr.ClaimConfirmed)) // it saw fewer bars and ended later
		same(l, "after an older step", l.claimOf(id), c)

		l.steps(advance(id, 50, ktrdr.ClaimConfirmed))
		if c = l.claimOf(id); c.Bars != 50 || c.Rung != ktrdr.ClaimLiving {
			l.Errorf("rung %s after %d bars; a rung is never left for one before it", c.Rung, c.Bars)
		}
	},

	"AStepThatCannotFollowChangesNoFigure": func(l *lab) {
		id := l.claimed("s")
		l.steps(advance(id, 40, ktrdr.ClaimConfirmed))
		was := l.claimOf(id)
		stop := advance(id, 60, ktrdr.ClaimRetired)
		stop.Hold, stop.Reason = ktrdr.ClaimRevised, "other bars"
		op, _ := l.steps(stop)
		c := l.claimOf(id)
		same(l, "hold", []any{c.Hold, c.Reason, c.Step, c.Seen}, []any{ktrdr.ClaimRevised, "other bars", op, stop.Seen})
		was.Hold, was.Reason, was.Step, was.Seen, was.SteppedAt = c.Hold, c.Reason, c.Step, c.Seen, c.SteppedAt
		same(l, "the rest", c, was)
		l.steps(advance(id, 70, ktrdr.ClaimConfirmed))
		if c = l.claimOf(id); c.Hold != ktrdr.ClaimFollowed || c.Bars != 70 {
			l.Errorf("after the bars came back: %+v", c.ClaimLife)
		}
	},

	"AClaimThatIsHeldKeepsItsFigures": func(l *lab) {
		id := l.claimed("s")
		l.steps(advance(id, 40, ktrdr.ClaimConfirmed))
		was := l.claimOf(id)
		l.must(l.HoldClaim(l.ctx(), id, ktrdr.ClaimMissing, "no bars"))
		held := was
		held.Hold, held.Reason = ktrdr.ClaimMissing, "no bars"
		same(l, "held", l.claimOf(id), held)
		l.must(l.HoldClaim(l.ctx(), id, ktrdr.ClaimFollowed, ""))
		was.Seen = ktrdr.Hash{} // the same bars are looked at again: an earlier step may have held the claim too
		same(l, "let go", l.claimOf(id), was)

		retired := advance(id, 50, ktrdr.ClaimRetired)
		l.steps(retired)
		l.must(l.HoldClaim(l.ctx(), id, ktrdr.ClaimMissing, "no bars"))
		if c := l.claimOf(id); c.Hold != ktrdr.ClaimFollowed {
			l.Errorf("a retired claim, which is not followed, is held: %s", c.Hold)
		}
		l.refused(l.HoldClaim(l.ctx(), "op_dummy_nothing", ktrdr.ClaimMissing, ""), ktrdr.CodeNotFound)
	},

	"AClaimOfAnEarlierVersionIsAddedOnce": func(l *lab) {
		op := l.create(looking("", l.market("A").Market))
		f := ending(l.claim("w"), ktrdr.Completed)
		f.Result = json.RawMessage(`{"look":{"p":0.001,"claim":true}}`)
		_, err := l.Finish(l.ctx(), f)
		l.must(err)
		l.must(l.AddClaim(l.ctx(), ktrdr.NewClaim{Operation: op.ID, Strategy: "first", Sharpe: new(1.0)}))
		l.must(l.AddClaim(l.ctx(), ktrdr.NewClaim{Operation: op.ID, Strategy: "second"}))
		c := l.claimOf(op.ID)
		if c.Strategy != "first" || *c.Sharpe != 1 || !c.ClaimedAt.Equal(l.lookOf(op.ID).EndedAt) {
			l.Errorf("claim: %+v", c)
		}
		l.refused(l.AddClaim(l.ctx(), ktrdr.NewClaim{Operation: l.create(ktrdr.NewOperation{}).ID}), ktrdr.CodeNotFound)
	},
}
