package compute

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// found are open series of the library, in the order of a spec.
type found struct {
	pinned []jobs.Bars  // as they are in the blob store
	cut    map[int]bool // series of which only the beginning is left
	bars   []*market.Bars
	others int // series of context symbols, which stand at the end
}

// isContext says that a series is read and not traded.
func (f *found) isContext(i int) bool { return i >= len(f.bars)-f.others }

func (f *found) traded() []*market.Bars { return f.bars[:len(f.bars)-f.others] }

func (f *found) leave(i, bars int) {
	if f.cut == nil {
		f.cut = map[int]bool{}
	}
	f.bars[i], f.cut[i] = f.bars[i].Slice(0, bars), true
}

func (f *found) longest(tf market.Timeframe) (n int) {
	for _, b := range f.traded() {
		if b.Timeframe == tf {
			n = max(n, b.Len())
		}
	}
	return n
}

// agree is feature.Agree for a request.
func (f *found) agree(base market.Timeframe, span strategy.Span) (told []string, err error) {
	told, err = feature.Agree(f.traded(), base, span)
	more, bad := feature.AgreeContext(f.traded(), f.bars[len(f.bars)-f.others:], base, span)
	if err = errors.Join(err, bad); err != nil {
		return nil, wrong("%w", err)
	}
	return append(told, more...), nil
}

// enough refuses a time in which a symbol has too few bars to train on.
func (f *found) enough(base market.Timeframe, span strategy.Span) error {
	var has []string
	for _, b := range f.traded() {
		if b.Timeframe != base || b.Len() == 0 {
			continue
		}
		from, to := 0, b.Len()
		if !span.Start.IsZero() {
			from = sort.Search(to, func(i int) bool { return b.Time[i] >= span.Start.Unix() })
		}
		if !span.End.IsZero() {
			to = sort.Search(to, func(i int) bool { return base.End(b.Time[i]) > span.End.Unix() })
		}
		if n := max(0, to-from); n < train.LeastTraining {
			has = append(has,
				fmt.Sprintf("%d of %s (of %d from %s to %s)", n, b.Symbol, b.Len(), text.Minute(b.Time[0]), text.Minute(base.End(b.Time[b.Len()-1]))))
		}
	}
	if has == nil {
		return nil
	}
	between := ""
	if !span.Start.IsZero() {
		between += " from " + text.Minute(span.Start.Unix())
	}
	if !span.End.IsZero() {
		between += " to " + text.Minute(span.End.Unix())
	}
	return wrong("a training needs at least %d bars of %s of each symbol%s, and there are %s: choose other dates, import more, "+
		"or leave the symbol out",
		train.LeastTraining, base, between, strings.Join(has, ", "))
}

// find opens the series of symbols, and others of context symbols: a damaged file is better found here than by a worker.
func (d *Service) find(ctx context.Context, symbols []string, frames []market.Timeframe, others []strategy.Series) (*found, error) {
	f := &found{}
	open := func(symbols []string, frames []market.Timeframe) ([]jobs.Bars, error) {
		infos, bars, err := d.cfg.Library.OpenAll(ctx, symbols, frames, func(symbol string, tf market.Timeframe) error {
			return d.noData(ctx, symbol, tf)
		})
		f.bars = append(f.bars, bars...)
		return text.Map(infos, jobs.SeriesInfo.Pinned), err
	}
	pinned, err := open(symbols, frames)
	f.pinned = pinned
	errs := []error{err}
	for _, c := range others {
		pinned, err := open([]string{c.Symbol}, []market.Timeframe{c.Timeframe})
		f.pinned, f.others, errs = append(f.pinned, jobs.Context(pinned)...), f.others+1, append(errs, err)
	}
	return f, errors.Join(errs...)
}

// noData says what is missing and what to do. Nothing is resampled unasked.
func (d *Service) noData(ctx context.Context, symbol string, tf market.Timeframe) error {
	entries, _ := d.cfg.Library.List(ctx) // without them the message is shorter
	var others, symbols []string
	from := market.Timeframe("") // the longest that it can be made of
	for _, e := range entries {
		symbols = append(symbols, e.Symbol)
		if e.Symbol != symbol {
			continue
		}
		others = append(others, string(e.Timeframe))
		if e.Timeframe != tf && tf.MadeOf(e.Timeframe) && (from == "" || e.Timeframe.MadeOf(from)) {
			from = e.Timeframe
		}
	}
	note := ""
	if len(others) > 0 {
		note = fmt.Sprintf(" (there are bars of %s, but none is made of another unasked)", words(others))
	}
	if near := text.Nearest(symbol, symbols); len(others) == 0 && near != "" {
		note = fmt.Sprintf("; did you mean %s? If not", near)
	}
	otherwise := fmt.Sprintf("make some up with `ktrdr data synth --symbol %s --timeframe %s --bars 5000 --seed 7`", symbol, tf)
	if from != "" {
		otherwise = fmt.Sprintf("make them of those with `ktrdr data resample %s %s %s`", symbol, from, tf)
	}
	return fmt.Errorf("there are no %s bars of %s%s: import some with `ktrdr data import FILE --symbol %s --timeframe %s`, or %s", tf, symbol,
		note, symbol, tf, otherwise)
}

// pin names series for a spec. One that was cut is stored first.
func (d *Service) pin(ctx context.Context, f *found) ([]jobs.Bars, error) {
	pinned := make([]jobs.Bars, len(f.bars))
	for i, b := range f.bars {
		var err error
		if pinned[i] = f.pinned[i]; f.cut[i] {
			pinned[i], err = library.PinBars(ctx, d.cfg.Blobs, b, "")
			pinned[i].MadeUp, pinned[i].Context = f.pinned[i].MadeUp, f.pinned[i].Context
		}
		if err != nil {
			return nil, fmt.Errorf("bars of %s %s: %w", b.Symbol, b.Timeframe, err)
		}
	}
	return pinned, nil
}

// store puts a whole file into the blob store, unless it is there.
func (d *Service) store(ctx context.Context, name string, f io.ReadSeeker) (ktrdr.Artifact, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ktrdr.Artifact{}, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return ktrdr.Artifact{}, err
	}
	a := ktrdr.Artifact{Name: name, SHA256: ktrdr.Hash(sum.Sum(nil)), Size: size}
	if _, err := d.cfg.Blobs.Stat(ctx, a.SHA256); err == nil {
		return a, nil
	} else if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		return a, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return a, err
	}
	_, err = d.cfg.Blobs.Put(ctx, a.SHA256, f)
	return a, err
}
