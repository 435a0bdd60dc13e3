package report

import (
	"cmp"
	"context"
	"slices"

	"github.com/ktrdr/ktrdr"
)

func (l *lookback) readCalls(ctx context.Context) error {
	sums, err := l.calls.CallSums(ctx, l.out.From, l.query.Run)
	if err != nil || len(sums) == 0 {
		return err
	}
	var total ktrdr.MicroUSD
	cost := map[string]ktrdr.MicroUSD{}
	models := map[string]*ModelSum{}
	out := ModelCalls{}
	for _, c := range sums {
		m := models[c.Model]
		if m == nil {
			m = &ModelSum{Model: c.Model}
			models[c.Model] = m
		}
		n := int(c.Calls)
		out.Calls += n
		m.Calls += n
		switch c.Status {
		case ktrdr.CallFailed:
			out.Failed += n
			m.Failed += n
		case ktrdr.CallReserved:
			out.InFlight += n
		}
		total += c.Charged
		cost[c.Model] += c.Charged
	}
	out.USD = total.USD()
	for name, m := range models {
		m.USD = cost[name].USD()
		out.ByModel = append(out.ByModel, *m)
	}
	slices.SortFunc(out.ByModel, func(a, b ModelSum) int {
		return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(a.Model, b.Model))
	})
	l.out.Models = &out
	return nil
}
