package view

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/research"
)

// A rung that was not reached says what it means as well: a reader who does not know the ladder would else take
// it for a check that failed.
func TestLadder_EachRungSaysWhatItMeansAndWhatItDoesNotMean(t *testing.T) {
	var b strings.Builder
	l := research.LadderOf(research.LadderFacts{Finalist: true})
	Ladder(&b, term.Palette(false), &l)
	said := b.String()
	if strings.Contains(said, "✗") || !strings.Contains(said, "  – retired\n") || !strings.Contains(said, "  ✔ finalist\n") {
		t.Errorf("a rung that was not reached looks like a failure:\n%s", said)
	}
	for _, r := range l.Rungs {
		if !strings.Contains(said, r.Rung) || !strings.Contains(said, r.Means+" It does not mean: "+lower(r.NotMeans)) ||
			r.Next != "" && !strings.Contains(said, "Next: "+r.Next) {
			t.Errorf("the rung %s is not explained:\n%s", r.Rung, said)
		}
		if (r.Next == "") != r.Reached && r.Rung != "retired" {
			t.Errorf("%s: reached %v, and next is %q", r.Rung, r.Reached, r.Next)
		}
	}
}

// A claim that waits for bars must not look like one that is followed: its figures would be taken for those of today.
func TestClaims_SayInAColumnWhyOneIsNotFollowed(t *testing.T) {
	const id = "op_agent_confirm_20240101_000000_abcdef12"
	waits := ktrdr.LivingClaim{}
	waits.Operation, waits.Rung, waits.Bars = id, ktrdr.ClaimConfirmed, 7
	waits.Hold, waits.Reason = ktrdr.ClaimMissing, "the library has no 1h bars of EURUSD"
	followed := waits
	followed.Hold, followed.Reason = ktrdr.ClaimFollowed, ""
	var b strings.Builder
	Claims(&b, research.ClaimsOf([]ktrdr.LivingClaim{waits, followed}))
	var cells []string
	for _, line := range strings.Split(b.String(), "\n")[2:5] {
		for i, cell := range strings.Fields(line) {
			if i > 0 && (cell == "HOLD" || strings.Fields(line)[i-1] == "confirmed") {
				cells = append(cells, cell)
			}
		}
	}
	if got := strings.Join(cells, " "); got != "HOLD missing -" {
		t.Errorf("the column says %q:\n%s", got, b.String())
	}
	if want := "abcdef12 is not followed: the library has no 1h bars of EURUSD.\n"; strings.Count(b.String(), "is not followed") != 1 ||
		!strings.HasSuffix(b.String(), want) {
		t.Errorf("it does not end with %q:\n%s", want, b.String())
	}
}
