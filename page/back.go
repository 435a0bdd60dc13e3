package page

import (
	"context"
	"net/http"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/report"
)

// back is what a page says after the server was lost: what ended meanwhile, what
// runs, and what waits for its worker.
type back struct {
	Ended, Running, Waiting string
	Until                   time.Time // when the waiting operations resume without their workers
}

// routeBack serves the text of the banner. The script asks for it when the server
// is back.
func (p *Pages) routeBack() {
	p.mux.HandleFunc("GET /back", p.view("Server restarted", "back", func(ctx context.Context, r *http.Request) (any, error) {
		return p.readBack(ctx, r.URL.Query().Get("since"))
	}))
}

func (p *Pages) readBack(ctx context.Context, since string) (back, error) {
	var told report.Report
	var open ktrdr.OperationPage
	err := together(
		ask(&told, func() (report.Report, error) {
			return client.Call(ctx, p.lab, api.Report, api.FullReportRequest{ReportRequest: api.ReportRequest{Since: since}})
		}),
		ask(&open, func() (ktrdr.OperationPage, error) {
			return p.lab.List(ctx, ktrdr.OperationQuery{ActiveOnly: true, Limit: 1000})
		}),
	)
	if err != nil {
		return back{}, err
	}
	return backOf(told.Researches.Ended, open.Operations), nil
}

func backOf(ended int, open []ktrdr.Operation) back {
	running, waiting := 0, 0
	var b back
	for i := range open {
		switch op := &open[i]; {
		case op.Status == ktrdr.Reconciling:
			waiting++
			if op.Deadline.After(b.Until) {
				b.Until = op.Deadline
			}
		case op.Type == ktrdr.AgentResearch && op.Status == ktrdr.Running:
			running++
		}
	}
	b.Ended = have(ended, "research", "ended meanwhile.", "ended meanwhile.")
	b.Running = have(running, "research", "is running.", "are running.")
	if waiting > 0 {
		b.Waiting = have(waiting, "operation", "waits for its worker.", "wait for their workers.")
	}
	return b
}
