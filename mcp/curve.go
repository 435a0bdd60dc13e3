package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

const curvePoints = 400

// curve draws the account of a backtest, or of the backtest of a research: the test
// part, which ends where the holdout begins.
func (s *Server) curve(ctx context.Context, id ktrdr.OperationID) (string, error) {
	op, err := ask(ctx, s, api.GetOperation, api.ByID{ID: id})
	if err != nil {
		return "", err
	}
	if op.Type == ktrdr.AgentResearch {
		var r research.Result
		if len(op.Result) == 0 || json.Unmarshal(op.Result, &r) != nil || r.Backtest == "" {
			return "", ktrdr.Errorf(ktrdr.CodeNotFound, "%s has no backtest", id)
		}
		id = r.Backtest
	}
	r, err := ask(ctx, s, api.GetResults, api.ResultsRequest{ByID: api.ByID{ID: id}, Include: []string{"equity"}, Points: curvePoints})
	if err != nil {
		return "", err
	}
	if len(r.Equity) == 0 {
		return "", ktrdr.Errorf(ktrdr.CodeNotFound, "%s has no curve", id)
	}
	return drawCurve(r.Equity), nil
}

// The size of a curve in pixels, and the margin of its labels.
const (
	curveWidth, curveHeight = 800.0, 300.0
	curveLeft, curveBottom  = 80.0, 30.0
)

func drawCurve(points []jobs.Point) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	if high == low {
		high, low = high+1, low-1
	}
	first, last := points[0].Time, points[len(points)-1].Time
	span := max(last.Sub(first).Seconds(), 1)
	var line strings.Builder
	for _, p := range points {
		x := curveLeft + p.Time.Sub(first).Seconds()/span*(curveWidth-curveLeft)
		y := (high - p.Value) / (high - low) * (curveHeight - curveBottom)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
	}
	const day = "2006-01-02"
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -10 %[1]g %[2]g" font-family="sans-serif" font-size="12">
<title>Account on the test part, net of costs</title>
<polyline fill="none" stroke="#1f5fbf" stroke-width="1.5" points="%[3]s"/>
<text x="0" y="10">%.0[4]f</text><text x="0" y="%[5]g">%.0[6]f</text>
<text x="%[7]g" y="%[2]g">%[8]s</text><text x="%[1]g" y="%[2]g" text-anchor="end">%[9]s</text>
</svg>
`, curveWidth, curveHeight-10, strings.TrimSpace(line.String()), high, curveHeight-curveBottom, low, curveLeft, first.UTC().Format(day),
		last.UTC().Format(day))
}
