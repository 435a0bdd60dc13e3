package httpapi

import (
	"context"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Reporter looks back at what happened while nobody watched.
type Reporter interface {
	// Report tells of a span of time that ends now, or of a run; CodeNotFound
	// when there is no such run.
	Report(ctx context.Context, q ReportQuery) (Report, error)
}

// ReportQuery says how far back to look.
type ReportQuery struct {
	Since time.Time // zero: from the beginning of the run, else the usual span
	Last  bool      // since the newest spell of research began, instead
	Run   string    // only this run's researches; empty means all
}

// Report is what somebody wants to read in the morning. Lists are bounded; the
// counts beside them are of all there is.
type Report struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Run  string    `json:"run,omitempty"`

	Summary    string            `json:"summary"` // the plain sentence: what survived, or that nothing did
	Researches ReportResearches  `json:"researches"`
	Claims     []Leader          `json:"claims"`
	Leaders    []Leader          `json:"leaderboard"`
	Failures   []ReportFailure   `json:"failures"`
	Others     []ktrdr.Count     `json:"other_operations,omitempty"` // that ended, and were no researches
	Machine    ReportMachine     `json:"machine"`
	Models     *ReportModelCalls `json:"models,omitempty"`   // nil where none was asked
	Problems   []string          `json:"problems,omitempty"` // that there are now; each says what to do
	Incomplete []string          `json:"incomplete,omitempty"`
}

// ReportResearches counts researches. Those that ended did so in the span, or are
// all that ended of the run. Of a run, Active counts all that are open.
type ReportResearches struct {
	Ended     int            `json:"ended"`
	Outcomes  map[string]int `json:"outcomes"` // completed, gate_rejected, failed, cancelled
	Active    int            `json:"active"`
	Waiting   int            `json:"waiting"`
	Finalists int            `json:"finalists"` // passed every check on the test part
	Claims    int            `json:"claims"`
	Unaided   int            `json:"without_model"` // the program did itself what a model was asked for
	Markets   int            `json:"markets"`       // that were tried
	Trials    int            `json:"trials"`        // on these markets so far, of all runs
	Looks     int            `json:"looks"`         // at their holdouts so far, of all runs
}

// ReportFailure is a reason for which operations failed.
type ReportFailure struct {
	Reason     string              `json:"reason"`
	Code       ktrdr.Code          `json:"code,omitempty"`
	Count      int                 `json:"count"`
	Resumable  int                 `json:"resumable"`
	Operations []ktrdr.OperationID `json:"operation_ids"` // the newest few; those that can be resumed come first
	Next       string              `json:"next_command"`
}

// ReportMachine is what happened to the processes, as far as events tell.
type ReportMachine struct {
	BackendStarts      int           `json:"backend_starts"`
	BackendDeaths      int           `json:"backend_deaths"` // without having stopped in order
	WorkersJoined      int           `json:"workers_joined"` // processes of their own, as the next two
	WorkersLeft        int           `json:"workers_left"`   // stopped in order
	WorkersLost        int           `json:"workers_lost"`   // silent for the orphan timeout, busy or not
	Orphaned           int           `json:"orphaned"`       // operations that lost their worker
	Poisoned           int           `json:"poisoned"`       // that kept losing it and were given up
	Interrupted        int           `json:"interrupted"`    // failed with the backend that ran them
	Requeued           int           `json:"requeued"`       // taken over from a backend that was gone
	Reported           int           `json:"reported"`       // whose workers outlived the backend
	Released           int           `json:"released"`       // given back by a graceful stop
	Resumed            int           `json:"resumed"`        // resumed, by the lab or by a user
	CheckpointsSkipped int           `json:"checkpoints_skipped"`
	WritesRefused      int           `json:"writes_refused"`
	BreakerChanges     int           `json:"breaker_changes"`
	Pauses             []ReportPause `json:"pauses,omitempty"`
}

// ReportPause is when no work was started.
type ReportPause struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero: it still is
}

// ReportModelCalls is what models were asked, and what that cost.
type ReportModelCalls struct {
	Calls    int           `json:"calls"`
	Failed   int           `json:"failed"`
	InFlight int           `json:"unsettled"` // charged in full until they are settled
	USD      float64       `json:"usd"`
	ByModel  []ReportModel `json:"by_model"`
}

// ReportModel is one model's part of it.
type ReportModel struct {
	Model  string  `json:"model"`
	Calls  int     `json:"calls"`
	Failed int     `json:"failed"`
	USD    float64 `json:"usd"`
}

// reportSpan is how far a report looks back where nobody says.
const reportSpan = 12 * time.Hour

func reportRoutes() []row {
	return []row{on(get("/api/v1/report", "What happened while nobody watched: researches by outcome, claims, failures, the machine, money",
		param{name: "since", kind: kindString, doc: "an instant (RFC 3339), a duration before now such as 12h, or last: since the newest spell of research began; 12h if it is left out"},
		param{name: "run", kind: kindString, doc: "only the researches of this run, from its beginning unless since is given"}), (*Server).report)}
}

func (s *Server) report(c *call, _ none) (Report, error) {
	run, err := s.runNamed(c)
	if err != nil {
		return Report{}, err
	}
	q := ReportQuery{Run: run}
	switch since := c.query.Get("since"); {
	case since != "":
		q.Since, q.Last = c.query.since("since", since, time.Now())
	case q.Run == "":
		q.Since = time.Now().Add(-reportSpan)
	}
	if c.query.err != nil {
		return Report{}, c.query.err
	}
	r, err := s.research.Report(c.Context(), q)
	r.Claims, r.Leaders, r.Failures = listed(r.Claims), listed(r.Leaders), listed(r.Failures)
	return r, err
}

// since reads how far back to look.
func (v *values) since(name, text string, now time.Time) (at time.Time, last bool) {
	if strings.EqualFold(text, "last") {
		return time.Time{}, true
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			v.fail(name, "is a duration before now, which is positive, not %.40q", text)
		}
		return now.Add(-d), false
	}
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		v.fail(name, "is an instant such as 2026-11-14T22:00:00Z, a duration such as 12h, or last, not %.40q", text)
	case at.After(now):
		v.fail(name, "lies in the future: %s", text)
	}
	return at, false
}

// Report tells what happened since an instant (RFC 3339), for a duration, or
// since "last"; an empty since leaves it to the server. With a run, of that run.
func (cl *Client) Report(ctx context.Context, since, run string) (out Report, err error) {
	query := runQuery(run)
	if since != "" {
		query.Set("since", since)
	}
	_, err = cl.get(ctx, "report", query, &out)
	return out, err
}
