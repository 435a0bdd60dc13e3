package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
)

// What is known of a claim stands in each place where a person meets it: the verdict, the report, memory, the
// page and the API. A place that leaves something out lets its reader believe more than the others.
func TestClaim_HasAllItsEvidenceInEachPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const saw = 6000 // more than 25 % more bars make a calibration stale
	all := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: saw + 1600, Seed: 7, Edge: 1})
	l.imports(all.Slice(0, saw))
	l.serve()
	l.must("research", "mean reversion on EURUSD 1h, simple", "--count", "2", "--seed", "7", "--fresh", "--follow")
	found := claimedRow.FindStringSubmatch(l.must("leaderboard"))
	if found == nil {
		t.Fatal("the planted edge was not claimed")
	}
	id, dir := found[1], t.TempDir()
	files := 0
	places := func() map[string]string {
		files++
		page, sent := filepath.Join(dir, strings.Repeat("p", files)+".html"), filepath.Join(dir, strings.Repeat("r", files)+".html")
		l.must("results", id, "--html", page)
		l.must("report", "--html", sent)
		return map[string]string{
			"results": l.must("results", id), "results --json": l.must("results", id, "--json"),
			"memory show": l.must("memory", "show", id), "memory show --json": l.must("memory", "show", id, "--json"),
			"report": l.must("report"), "report --json": l.must("report", "--json"), "page": read(t, page), "report --html": read(t, sent),
		}
	}
	say := func(when string, wanted ...string) {
		t.Helper()
		for name, said := range places() {
			for _, want := range wanted {
				if !strings.Contains(said, want) {
					t.Errorf("%s: %s does not say %q", when, name, want)
				}
			}
		}
	}
	const untested = "The run was not tested"
	say("before a calibration", "This lab was never calibrated on this market", untested,
		"Import or append the bars that came after the claim.",
		"perturbations leave a Sharpe ratio above 0")

	l.must("calibrate", "EURUSD", "1h", "--worlds", "3", "--researches", "1", "--seed", "5", "--follow")
	said := l.must("calibrate", "--list", "EURUSD")
	for _, want := range []string{
		"false claims", "of 3 copies", "95 % interval", "luckiest Sharpe ratio", "1 research of each copy", "1.5bp per side",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("calibrate --list does not print %q:\n%s", want, said)
		}
	}
	say("after a calibration", "of 3 copies of this market without one", "searched with 1 research of EURUSD 1h")

	l.imports(all.Slice(saw, all.Len()), "--append")
	labtest.Eventually(t, 3*time.Minute, "the claim to be followed", func() bool {
		return !strings.Contains(l.must("results", id), "Import or append the bars that came after the claim.")
	})
	if said := l.must("report"); !strings.Contains(said, "bars after the claim, e = ") {
		t.Errorf("the report does not say what the bars after the claim have shown:\n%s", said)
	}
	say("with more bars", "This calibration is stale: the market had 6000 bars then and has 7600 now. Repeat it with")
}
