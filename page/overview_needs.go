package page

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/resilience"
)

// need is something that a person should decide.
type need struct {
	What, Why string
	Show      string // where more is to be seen
	Actions   []action
	Command   string // where there is no action
}

// needsOf are the failures by reason and the circuit breakers that are open.
func needsOf(ctx context.Context, r *report.Report, breakers []resilience.Status, here string) (list []need) {
	for _, f := range r.Failures {
		n := need{What: plural(f.Count, "operation") + " failed", Why: f.Reason, Command: f.Next, Show: "/operations?status=failed"}
		if f.Resumable > 0 && len(f.Operations) > 0 && may(ctx) {
			ids := make([]string, 0, len(f.Operations))
			for _, id := range f.Operations[:min(f.Resumable, len(f.Operations))] {
				ids = append(ids, string(id))
			}
			n.Actions = append(n.Actions, action{
				Name: fmt.Sprintf("Resume %d", len(ids)), Path: "/night/resume", Main: true, Command: f.Next,
				Fields: []field{{"ids", strings.Join(ids, ",")}, {"back", here}},
			})
			n.Command = ""
		}
		list = append(list, n)
	}
	for i := range breakers {
		b := &breakers[i]
		if b.State != ktrdr.BreakerOpen {
			continue
		}
		list = append(list, need{
			What: "Circuit breaker " + b.Name + " is open", Why: b.Reason, Show: "/operations#breakers",
			Command: "ktrdr breakers reset " + b.Name,
		})
	}
	for _, text := range r.Problems {
		list = append(list, need{What: "Problem", Why: text})
	}
	return list
}

const mostResumed = 100

// resumeAll resumes the operations of a form. One that cannot be resumed does not
// keep the others from it.
func (p *Pages) resumeAll(ctx context.Context, r *http.Request) (string, error) {
	var refused []string
	ids := strings.Split(r.PostFormValue("ids"), ",")
	if len(ids) > mostResumed {
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "at most %d operations are resumed at once, not %d", mostResumed, len(ids))
	}
	for _, id := range ids {
		_, err := p.lab.Resume(ctx, ktrdr.OperationID(id))
		if ktrdr.CodeOf(err) == ktrdr.CodeForbidden {
			return "", err
		}
		if err != nil {
			refused = append(refused, err.Error())
		}
	}
	if len(refused) > 0 {
		return "", ktrdr.Errorf(ktrdr.CodeConflict, "%d of %d could not be resumed: %s", len(refused), len(ids), refused[0])
	}
	return "/night", nil
}

// setPaused stops or allows new claims.
func (p *Pages) setPaused(ctx context.Context, r *http.Request) (string, error) {
	return "/night", p.lab.SetPaused(ctx, r.PostFormValue("paused") == "true")
}

// cancelResearch cancels one research, or all of a run.
func (p *Pages) cancelResearch(ctx context.Context, r *http.Request) (string, error) {
	const by = "cancelled on the page"
	if run := r.PostFormValue("run"); run != "" {
		_, err := p.lab.CancelRun(ctx, run, by)
		return "/night?run=" + url.QueryEscape(run), err
	}
	_, err := p.lab.CancelResearch(ctx, ktrdr.OperationID(r.PostFormValue("id")), by)
	return "/night", err
}

// openBreakers asks for the breakers.
func (p *Pages) openBreakers(ctx context.Context) ([]resilience.Status, error) {
	return client.Call(ctx, p.lab, api.Breakers, api.None{})
}
