package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/llm"
)

// mostCalls is how many of the newest calls are looked at.
const mostCalls = 1000

// readCalls sums up what was spent on models.
func (l *lookback) readCalls(ctx context.Context) error {
	calls, err := l.desk.calls.Calls(ctx, "", mostCalls)
	if err != nil {
		return err
	}
	var total ktrdr.MicroUSD
	cost := map[string]ktrdr.MicroUSD{}
	models := map[string]*httpapi.ReportModel{}
	out := httpapi.ReportModelCalls{AtLeast: len(calls) == mostCalls && !calls[mostCalls-1].At.Before(l.out.From)}
	for i := range calls {
		c := &calls[i]
		if c.At.Before(l.out.From) || l.roots != nil && !l.roots[c.Root] {
			continue
		}
		if c.Status == ktrdr.CallFailed && c.Error == llm.NotAsked {
			continue
		}
		m := models[c.Model]
		if m == nil {
			m = &httpapi.ReportModel{Model: c.Model}
			models[c.Model] = m
		}
		out.Calls++
		m.Calls++
		switch c.Status {
		case ktrdr.CallFailed:
			out.Failed++
			m.Failed++
		case ktrdr.CallReserved:
			out.InFlight++
		}
		total += c.Charged
		cost[c.Model] += c.Charged
	}
	if out.Calls == 0 {
		return nil
	}
	out.USD = total.USD()
	for name, m := range models {
		m.USD = cost[name].USD()
		out.ByModel = append(out.ByModel, *m)
	}
	slices.SortFunc(out.ByModel, func(a, b httpapi.ReportModel) int {
		return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(a.Model, b.Model))
	})
	l.out.Models = &out
	return nil
}
