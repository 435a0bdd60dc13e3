package cli

import (
	"os/user"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

// tenfold multiplies prices from a bar on, as where a file changes its unit.
func tenfold(from ...int) func(int) float64 {
	return func(i int) float64 {
		factor := 1.0
		for _, k := range from {
			if i >= k {
				factor *= 10
			}
		}
		return factor
	}
}

// A severe finding keeps research from bars until a person accepts it by name. That
// holds for longer bars, and not for a new case.
func TestData_SevereFindingsBlockResearchUntilAccepted(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 1600, Seed: 7})
		spoiled := priceFile(t, b.Slice(0, 1500), tenfold(700))
		l.serve("--workers", "0", "--agents", "0")
		research := func() answer { return l.run("research", "--symbol", "EURUSD", "--timeframe", "1h", "--dry-run") }
		accept := []string{"data", "accept", "EURUSD", "1h", "unit-jump"}
		command := "ktrdr data accept EURUSD 1h unit-jump"

		if said := l.run("data", "check", spoiled); said.code != exitFailed || !strings.Contains(said.out, "severe unit-jump: prices go from") {
			t.Errorf("check of the file: exit %d\n%s", said.code, said.out)
		}
		said := l.must("data", "import", "--symbol", "EURUSD", spoiled)
		for _, want := range []string{
			"severe unit-jump: prices go from", "→ import the file in parts", "no research begins on these bars", command,
		} {
			if !strings.Contains(said, want) {
				t.Errorf("no %q in:\n%s", want, said)
			}
		}
		if said := l.run("data", "check", "EURUSD", "1h"); said.code != exitFailed || !strings.Contains(said.out, command) {
			t.Errorf("check of the series: exit %d\n%s", said.code, said.out)
		}
		if said := l.must("data", "list"); !strings.Contains(said, "refused") {
			t.Errorf("the list does not mark the series:\n%s", said)
		}
		refused := research()
		if refused.code == 0 || !strings.Contains(refused.String(), command) || !strings.Contains(refused.String(), "severe unit-jump") {
			t.Errorf("research: exit %d\n%s", refused.code, refused.String())
		}

		l.refused(exitUsage, "has no severe finding spike; it has: unit-jump", "data", "accept", "EURUSD", "1h", "spike")
		in := jobs.AcceptRequest{Symbol: "EURUSD", Timeframe: "1h", Findings: []string{"unit-jump"}}
		_, err := client.Call(t.Context(), l.clientWith(ktrdr.ScopeAssistant), api.AcceptFindings, in)
		if ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
			t.Errorf("an assistant accepts a finding: %v", err)
		}

		l.must(accept...)
		shown := decode[local.Description](t, l.must("data", "show", "EURUSD", "1h", "--json"))
		me, err := user.Current()
		if err != nil {
			t.Fatal(err)
		}
		if len(shown.Accepted) != 1 || shown.Accepted[0].By != "user "+me.Username || shown.Accepted[0].At.IsZero() {
			t.Errorf("accepted %+v", shown.Accepted)
		}
		if said := research(); said.code != 0 {
			t.Errorf("research on accepted bars: exit %d\n%s", said.code, said.String())
		}

		l.must("data", "import", "--symbol", "EURUSD", "--append", priceFile(t, b.Slice(0, 1550), tenfold(700)))
		if said := research(); said.code != 0 {
			t.Errorf("research on longer bars: exit %d\n%s", said.code, said.String())
		}
		l.must("data", "import", "--symbol", "EURUSD", "--append", priceFile(t, b.Slice(0, 1600), tenfold(700, 1560)))
		refused = research()
		if refused.code == 0 || !strings.Contains(refused.String(), "it is in the holdout") {
			t.Errorf("research on bars with a new case: exit %d\n%s", refused.code, refused.String())
		}
		l.must(accept...)
		if all := decode[[]local.StoredSeries](t, l.must("data", "list", "--json")); !slices.ContainsFunc(all, func(s local.StoredSeries) bool {
			return s.Quality() == "accepted"
		}) {
			t.Errorf("not accepted: %+v", all)
		}
	})
}
