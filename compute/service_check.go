package compute

import (
	"context"
	"fmt"

	"golang.org/x/sync/singleflight"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/cache"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// checks keeps what checks of series came to, and runs one at a time of each series.
type checks struct {
	kept   *cache.Cache[checkKey, jobs.SeriesCheck]
	flight singleflight.Group
}

// keptChecks is how many are kept. A report lists a bounded number of findings.
const keptChecks = 200

// checkKey is all that the answer of a check depends on.
type checkKey struct {
	symbol      string
	timeframe   market.Timeframe
	hash        ktrdr.Hash
	holdout     int64 // where it begins; that of the zero time until it is fixed
	first, last int64 // the span that decides where it will begin
}

func (c *checks) of(ctx context.Context, d *Service, e jobs.SeriesInfo, m ktrdr.Market) (jobs.SeriesCheck, error) {
	key := checkKey{symbol: e.Symbol, timeframe: e.Timeframe, hash: e.Hash, holdout: m.HoldoutFrom.Unix()}
	if m.HoldoutFrom.IsZero() {
		key.first, key.last = library.HoldoutSpan(e.First, e.Last, m)
	}
	problem, err := d.cfg.Library.Problem(ctx, e)
	if err != nil {
		return jobs.SeriesCheck{}, err
	}
	if known, ok := c.kept.Get(key); ok && problem == "" {
		return known, nil
	}
	// Others may wait for this answer, so it does not end with this request.
	got, err, _ := c.flight.Do(fmt.Sprint(key, problem), func() (any, error) {
		if known, ok := c.kept.Get(key); ok && problem == "" {
			return known, nil
		}
		out, err := d.check(context.WithoutCancel(ctx), e, m)
		if err == nil && !out.Until.IsZero() { // it could be read
			c.kept.Put(key, out, 1)
		}
		return out, err
	})
	if err != nil {
		return jobs.SeriesCheck{}, err
	}
	return got.(jobs.SeriesCheck), nil
}

func (d *Service) check(ctx context.Context, e jobs.SeriesInfo, m ktrdr.Market) (jobs.SeriesCheck, error) {
	out := jobs.SeriesCheck{Symbol: e.Symbol, Timeframe: string(e.Timeframe)}
	done, err := d.openSeries(ctx)
	if err != nil {
		return out, err
	}
	defer done()
	b, err := d.cfg.Library.Open(ctx, e)
	if ktrdr.CodeOf(err) == ktrdr.CodeCorrupt {
		out.Error = err.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if out.Until = m.HoldoutFrom; out.Until.IsZero() && b.Len() > 0 {
		out.Until = library.HoldoutStart(b, m, d.cfg.Holdout)
	}
	n := holdout{from: out.Until}.before(b)
	if out.Report, err = market.Check(b.Slice(0, n), out.Symbol+" "+out.Timeframe); err != nil {
		out.Error = err.Error()
	}
	out.OK = err == nil
	if e, err = d.cfg.Library.Judged(ctx, e, b, m, d.cfg.Holdout); err != nil {
		return out, err
	}
	out.Findings = quality.Seal(e.Findings, out.Until)
	return out, nil
}

// openSeries waits until one more series may be in memory. The caller calls done
// when it needs the bars no more.
func (d *Service) openSeries(ctx context.Context) (done func(), err error) {
	select {
	case d.opened <- struct{}{}:
		return func() { <-d.opened }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
