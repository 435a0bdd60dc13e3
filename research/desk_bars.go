package research

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sort"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// minBars is how many bars a research needs at least: enough for indicators to
// be measured on what is left of them.
const minBars = 1000

// parts are the bars of a research: what it may see, and what comes after.
type parts struct {
	research, holdout []jobs.Bars
	searched, sealed  []Span // what these are
}

// cut takes the current series of the library apart, at one instant for all of
// them, and puts both parts into the blob store as files of their own. Nobody
// who is given the one can read the other.
//
//	research part                       │ holdout
//	bars that have closed by the instant│ the others
func (d *Desk) cut(ctx context.Context, symbols []string, frames []market.Timeframe) (parts, error) {
	var p parts
	series, closers, err := d.open(symbols, frames)
	defer func() {
		for _, c := range closers {
			_ = c.Close() // a mapping; nothing is written
		}
	}()
	if err != nil {
		return p, err
	}
	at := instant(series, d.cfg.Holdout)
	for _, b := range series {
		i := sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > at })
		if i == 0 || i == b.Len() {
			return p, wrong("the %s bars of %s do not reach over the beginning of the holdout, which is where the last %.0f %% of the bars of %s begin: import bars of the same time for all symbols and timeframes",
				b.Timeframe, b.Symbol, 100*d.cfg.Holdout, series[0].Symbol)
		}
		for _, half := range []struct {
			bars *market.Bars
			kind string
			to   *[]jobs.Bars
			span *[]Span
		}{{b.Slice(0, i), "", &p.research, &p.searched}, {b.Slice(i, b.Len()), "_holdout", &p.holdout, &p.sealed}} {
			pinned, err := d.pin(ctx, half.bars, half.kind)
			if err != nil {
				return p, fmt.Errorf("bars of %s %s: %w", b.Symbol, b.Timeframe, err)
			}
			*half.to, *half.span = append(*half.to, pinned), append(*half.span, spanOf(half.bars))
		}
	}
	return p, nil
}

// open opens the current series, whole and checked; what is missing is said all
// at once.
func (d *Desk) open(symbols []string, frames []market.Timeframe) (series []*market.Bars, closers []io.Closer, err error) {
	var missing []error
	for _, symbol := range symbols {
		for _, tf := range frames {
			b, c, err := d.cfg.Library.Get(symbol, tf)
			if errors.Is(err, market.ErrNoData) {
				err = noData(symbol, string(tf))
			}
			if err != nil {
				missing = append(missing, err)
				continue
			}
			closers = append(closers, c)
			series = append(series, b)
		}
	}
	if err := errors.Join(missing...); err != nil {
		return nil, closers, wrong("%w", err)
	}
	if b := shortest(series); b.Len() < minBars {
		return nil, closers, wrong("there are only %d %s bars of %s, and a research needs %d: import more", b.Len(), b.Timeframe, b.Symbol, minBars)
	}
	return series, closers, nil
}

// shortest is the series of the first symbol with the shortest timeframe: its
// bars are those that are decided at.
func shortest(series []*market.Bars) *market.Bars {
	best := series[0]
	for _, b := range series {
		if b.Symbol == best.Symbol && b.Timeframe.End(0) < best.Timeframe.End(0) {
			best = b
		}
	}
	return best
}

// instant is where the holdout begins.
func instant(series []*market.Bars, share float64) int64 {
	b := shortest(series)
	return b.Time[b.Len()-int(float64(share*float64(b.Len())))]
}

// pin puts a series into the blob store, unless it is there. It is written twice,
// first only to know its hash, and never to a file that a dying process would
// leave behind.
func (d *Desk) pin(ctx context.Context, b *market.Bars, kind string) (jobs.Bars, error) {
	sum := &summed{Hash: sha256.New()}
	if err := market.Encode(sum, b); err != nil {
		return jobs.Bars{}, err
	}
	pinned := jobs.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe, Hash: b.Hash(), Artifact: ktrdr.Artifact{
		Name: fmt.Sprintf("%s_%s%s%s", b.Symbol, b.Timeframe, kind, market.Suffix), SHA256: ktrdr.Hash(sum.Sum(nil)), Size: sum.size,
	}}
	if _, err := d.cfg.Blobs.Stat(ctx, pinned.SHA256); err == nil || ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		return pinned, err
	}
	r, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = w.CloseWithError(market.Encode(w, b)) // the reader is told
	}()
	_, err := d.cfg.Blobs.Put(ctx, pinned.SHA256, r)
	_ = r.Close() // so that the writer ends, whatever was read
	<-written
	return pinned, err
}

// summed is a hash that counts.
type summed struct {
	hash.Hash
	size int64
}

func (s *summed) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	return s.Hash.Write(p)
}
