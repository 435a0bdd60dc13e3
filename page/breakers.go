package page

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
)

// breakers is the circuit breakers, and the form of the one that a person decides
// about.
type breakers struct {
	Open    int
	Summary string
	Rows    []breakerRow
	History []happened
	Decide  *breakerForm
}

type breakerRow struct {
	Name, State, Mark, Why, Since, Probe, Calls, Failed string
	Decide                                              string // where the form is
}

type breakerForm struct {
	Name, Path, Back, Command string
}

const changesShown = 8

func (p *Pages) readBreakers(ctx context.Context, q operationsQuery) (breakers, error) {
	var v breakers
	all, err := p.lab.Breakers(ctx)
	if err != nil {
		return v, err
	}
	changes, err := p.lab.BreakerHistory(ctx, "", changesShown)
	if err != nil {
		return v, err
	}
	held, closed := q.breaker, 0
	q.breaker = ""
	back := q.at()
	for _, b := range all {
		r := breakerRow{
			Name: b.Name, State: breakerWord(b.State), Mark: "done", Why: b.Reason, Probe: missing,
			Calls: count(int(b.Calls)), Failed: count(int(b.Failures)),
		}
		switch {
		case b.Forced != "":
			r.State, r.Mark = "held "+breakerWord(b.Forced), "neutral"
		case b.State != ktrdr.BreakerClosed:
			r.Mark = "failed"
		}
		if b.Held {
			r.Why += "; only a person closes it"
		}
		if b.State == ktrdr.BreakerClosed {
			closed++
		} else {
			v.Open++
			r.Probe = probe(&b.Breaker, p.now())
		}
		if !b.Changed.IsZero() {
			r.Since = b.Changed.UTC().Format(time.RFC3339)
		}
		if may(ctx) {
			form := q
			form.breaker = b.Name
			r.Decide = form.at() + "#decide"
			if b.Name == held {
				v.Decide = &breakerForm{
					Name: b.Name, Path: "/breakers/" + b.Name + "/decide", Back: back + "#breakers",
					Command: "ktrdr breakers reset " + b.Name + " --by NAME --why REASON",
				}
			}
		}
		v.Rows = append(v.Rows, r)
	}
	v.Summary = fmt.Sprintf("%d open, %d closed.", v.Open, closed)
	for _, c := range changes {
		note := c.Reason
		if c.By != "" {
			note += ", by " + c.By
		}
		v.History = append(v.History, happened{
			At: c.At, Note: note,
			What: fmt.Sprintf("%s: %s to %s", c.Name, breakerWord(c.From), breakerWord(c.To)),
		})
	}
	return v, nil
}

// probe is when an open breaker lets a call through.
func probe(b *ktrdr.Breaker, now time.Time) string {
	switch {
	case b.Held || b.Forced != "":
		return "none: a person decides"
	case b.RetryAt.After(now):
		return "in " + lasted(b.RetryAt.Sub(now))
	}
	return "with the next call"
}

func breakerWord(s ktrdr.BreakerState) string {
	return strings.ReplaceAll(strings.ToLower(string(s)), "_", " ")
}

// decideBreaker answers the form: reset, hold, or back to automatic.
func (p *Pages) decideBreaker(ctx context.Context, r *http.Request) (string, error) {
	in := api.BreakerRequest{Name: r.PathValue("name")}
	in.By, in.Why = strings.TrimSpace(r.PostFormValue("by")), strings.TrimSpace(r.PostFormValue("why"))
	if in.By == "" || in.Why == "" {
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "give your name and the reason: both are kept in the history of the breaker")
	}
	var err error
	switch what := r.PostFormValue("decision"); what {
	case "reset":
		_, err = client.Call(ctx, p.lab, api.ResetBreaker, in)
	case "open", "closed", "auto":
		if what != "auto" {
			in.State = ktrdr.BreakerState(strings.ToUpper(what))
		}
		_, err = client.Call(ctx, p.lab, api.ForceBreaker, in)
	default:
		err = ktrdr.Errorf(ktrdr.CodeInvalid, "choose what happens to the breaker: reset, open, closed or auto")
	}
	return "/operations#breakers", err
}
