package chaos_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// undeterred asks two providers that both fail in one way again and again:
// breakers are off and retries many, so that what is left to stop it is the
// limit that more sets.
func undeterred(t *testing.T, lab *labtest.Lab, fault llmtest.Fault, more ...string) {
	t.Helper()
	script := llmtest.Script(llmtest.Step{Fault: fault})
	env := append(models(llmtest.New(t, script), llmtest.New(t, script)),
		"CIRCUIT_BREAKER_ENABLED=false", "KTRDR_RETRY_MAX_RETRIES=8", "KTRDR_RETRY_MAX_DELAY_SECONDS=0.05")
	lab.ServeWith(1, append(env, more...)...)
	lab.Market("EURUSD", 1500, 3)
}

// Every answer is garbage and may have been billed, so a research that nothing
// stops pays for all of its tries.
func TestModels_ABudgetThatIsUsedUpStopsCallsAndNoResearch(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		const each, daily = 0.15, 0.25 // US dollars; a try is charged some 0.026
		undeterred(t, lab, llmtest.Garbage, fmt.Sprintf("KTRDR_BUDGET_RESEARCH_USD=%g", each), fmt.Sprintf("KTRDR_BUDGET_DAILY_USD=%g", daily))
		for _, budget := range []string{"for one research", "for a day"} {
			made := triggers(t, lab)
			lab.Ends(made.Operation, ktrdr.Completed)
			d := designOf(t, lab, made.Operation)
			refused := func(s llm.TraceStep) bool {
				return s.Decision == llm.Skipped && s.Kind == resilience.KindBudget && strings.Contains(s.Reason, budget)
			}
			if d.Designer != research.Builtin || !slices.ContainsFunc(d.Decisions, refused) {
				t.Errorf("designed by %q after %+v; want a call refused by the budget %s, and the program's own design", d.Designer,
					d.Decisions, budget)
			}
			auditMoney(t, lab, made.Run, 0, each)
		}
		auditMoney(t, lab, "", each, daily)
	})
}

// A server that hangs is asked again for as long as there are retries, unless
// the deadline of the whole question ends it.
func TestModels_ServersThatHangKeepADesignNoLongerThanItsDeadline(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		const timeout = time.Second
		const patience = 3 * timeout // of one question, to any model
		undeterred(t, lab, llmtest.Hang, fmt.Sprintf("KTRDR_MODEL_TIMEOUT_SECONDS=%g", timeout.Seconds()),
			"KTRDR_BUDGET_RESEARCH_USD=100", "KTRDR_BUDGET_DAILY_USD=100")
		id := asks(t, lab)
		lab.Ends(id, ktrdr.Completed)
		asked := 0
		for _, c := range lab.Children(id) {
			if c.Type != ktrdr.AgentDesign && c.Type != ktrdr.AgentAssessment {
				continue
			}
			asked++
			// Each asks one question, and all retries together would take six times as long.
			if took := c.CompletedAt.Sub(c.ClaimedAt); took < timeout || took > 4*patience {
				t.Errorf("%s took %v, want at least a try of %v and not much more than %v", c.Type, took, timeout, patience)
			}
		}
		if d := designOf(t, lab, id); asked != 2 || d.Designer != research.Builtin {
			t.Errorf("%d agents asked, and %q designed; want two, and the program's own design", asked, d.Designer)
		}
	})
}
