package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// New bars are new budget: after a claim, bars are appended until a new holdout is
// possible. Too early it is refused with the rule, the earliest start and what is missing.
func TestResearch_NewBarsGiveANewHoldout(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := market.Synth(market.SynthConfig{
		Symbol: "SYNTH", Timeframe: market.H1, Bars: 25_000, Seed: 101, Edge: 0.3, Start: time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC),
	})
	const first = 20_000 // a fifth of them is the holdout
	l.imports(all.Slice(0, first))
	l.serve()
	l.must("research", "mean reversion on SYNTH 1h", "--count", "8", "--seed", "101", "--costs", "SYNTH=0.5/0/0", "--follow")
	claimed := claimedRow.FindStringSubmatch(l.must("leaderboard"))
	if claimed == nil {
		t.Fatal("the planted edge was not claimed")
	}
	minute := func(i int) string { return time.Unix(all.Time[i], 0).UTC().Format("2006-01-02 15:04") }
	looked := time.Unix(market.H1.End(all.Time[first-1]), 0).UTC().Format("2006-01-02 15:04")
	asks := func(from string, more ...string) []string {
		return append([]string{"research", "mean reversion on SYNTH 1h", "--seed", "5", "--bypass-gates", "--holdout-from", from}, more...)
	}

	l.refused(exitUsage, "a look has used bars until "+looked, asks(minute(first-100))...)
	l.refused(exitUsage, "The earliest possible start is "+looked+"; from there 4000 of 4000 bars are missing", asks(minute(first-100))...)
	l.refused(exitUsage, "is not a date; write it as", asks("soon")...)
	l.imports(all.Slice(first, first+1000), "--append")
	l.refused(exitUsage, "from there 3000 of 4000 bars are missing", asks(looked)...)
	l.refused(exitUsage, "from there 3000 of 4000 bars are missing", asks(looked, "--dry-run")...)
	if held := l.holdouts(); len(held) != 1 || held[0].Looks != 1 {
		t.Fatalf("a request that was refused changed the holdouts: %+v", held)
	}

	l.imports(all.Slice(first+1000, all.Len()), "--append")
	// The claim is followed over the new bars, which is one look.
	preview := l.must(asks(looked, "--dry-run")...)
	if !strings.Contains(preview, "1 look at the holdout; the next needs p <= 0.0033") {
		t.Errorf("a dry run says:\n%s", preview)
	}
	l.must(asks(looked, "--follow")...)
	held := l.holdouts()
	if len(held) != 2 || held[0].ReplacedAt.IsZero() || held[1].From.Format("2006-01-02 15:04") != looked || held[1].Looks < 1 {
		t.Fatalf("holdouts %+v, want a second one from %s with the claim as a look", held, looked)
	}
	newest := l.ops("--type", "agent_research")[0]
	spec, err := ktrdr.ParseSpec[research.Spec](l.op(string(newest.ID)).Spec)
	if err != nil {
		t.Fatal(err)
	}
	if s := spec.Searched[0]; !spec.HoldoutFrom.Equal(held[1].From) || s.To.After(held[1].From) ||
		spec.Sealed[0].From.Before(held[1].From) {
		t.Errorf("the research searches until %v, and its holdout begins at %v: want %v", s.To, spec.HoldoutFrom, held[1].From)
	}
	shown := l.must("memory", "show", claimed[1])
	for _, h := range held {
		want := "Holdout from " + h.From.UTC().Format("2006-01-02 15:04") + ", the next look at it pays for"
		if !strings.Contains(shown, want) {
			t.Errorf("memory show does not say %q:\n%s", want, shown)
		}
	}

	// An assistant sees the bars before the new holdout and none of it, and asks for none.
	assistant := l.clientWith(ktrdr.ScopeAssistant)
	seen, err := client.Call(t.Context(), assistant, api.SeriesBars, api.BarsRequest{
		SeriesRequest: api.SeriesRequest{Symbol: "SYNTH", Timeframe: "1h"},
	})
	if err != nil || !seen.HoldoutFrom.Equal(held[1].From) || seen.Selected != first {
		t.Errorf("an assistant is shown %d bars, and the holdout begins at %v (%v): want the %d before %s",
			seen.Selected, seen.HoldoutFrom, err, first, looked)
	}
	_, err = assistant.Trigger(t.Context(), research.Request{Brief: "mean reversion on SYNTH", HoldoutFrom: looked}, "")
	if ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
		t.Errorf("an assistant asks for a new holdout: %v", err)
	}

	before := held[1].Looks
	var result research.Result
	if err := json.Unmarshal(l.op(string(newest.ID)).Result, &result); err != nil {
		t.Fatal(err)
	}
	l.finished("backtest", string(result.Training), "--open-holdout")
	page, err := l.client().Looks(t.Context(), ktrdr.LookQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	look := page.Looks[0]
	if look.Before != before || !look.Markets[0].Holdout.Equal(held[1].From) {
		t.Errorf("the look at the new holdout %+v pays for %d before it, want %d", look, look.Before, before)
	}
	if held = l.holdouts(); held[1].Looks != before+1 {
		t.Errorf("holdouts %+v, want one more look at the newest", held)
	}
	// The claim of before is still verified, with the chain as it is now.
	file := filepath.Join(t.TempDir(), "claim.zip")
	l.must("claim", "export", claimed[1], file, "--bars")
	if said := l.must("claim", "verify", file); !strings.HasSuffix(strings.TrimSpace(said), "Verified.") {
		t.Errorf("the claim is not verified:\n%s", said)
	}
}

// holdouts are those of the only market of the lab.
func (l *lab) holdouts() []ktrdr.Holdout {
	l.t.Helper()
	list := decode[[]struct {
		Holdouts []ktrdr.Holdout `json:"holdouts"`
	}](l.t, l.must("data", "list", "--json"))
	return list[0].Holdouts
}
