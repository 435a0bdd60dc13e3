package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/train"
)

// origin is the research that a model comes from. Its bars were cut before the
// model was designed:
//
//	bars, which were searched        │ holdout, for its verdict
//	the model may be traded on them  │ trading it there is an opening
//	                                ends
//
// The zero origin is that of a model which no research made: what comes after
// its test part is nobody's.
type origin struct {
	research ktrdr.OperationID
	bars     []Bars
	holdout  []ktrdr.Hash
	ends     time.Time // the searched bars have all closed by then
}

// origin finds the research whose training made a model.
func (d *Desk) origin(ctx context.Context, training ktrdr.Operation, m *train.Model) (origin, error) {
	if training.Parent == "" {
		return origin{}, nil
	}
	spec, err := ktrdr.ParseSpec[TrainingSpec](training.Spec)
	if err != nil {
		return origin{}, fmt.Errorf("training %s: %w", training.ID, err)
	}
	parent, err := d.cfg.Operations.Operation(ctx, training.Parent)
	if err != nil {
		return origin{}, fmt.Errorf("research of training %s: %w", training.ID, err)
	}
	var sealed struct {
		Holdout []Bars `json:"holdout"`
	}
	if err := json.Unmarshal(parent.Spec, &sealed); err != nil {
		return origin{}, fmt.Errorf("spec of %s: %w", parent.ID, err)
	}
	o := origin{research: parent.ID, bars: spec.Bars}
	for _, b := range sealed.Holdout {
		o.holdout = append(o.holdout, b.Hash)
	}
	var ends int64
	for _, s := range m.Info.Sources {
		ends = max(ends, s.Timeframe.End(s.Last))
	}
	o.ends = time.Unix(ends, 0).UTC()
	return o, nil
}

// researched is the training of a research that made a file, however the file
// was named; the zero operation if there is none.
func (d *Desk) researched(ctx context.Context, file ktrdr.Hash) (ktrdr.Operation, error) {
	name := []byte(file.String())
	for op, err := range d.trained(ctx) {
		if err != nil {
			return op, err
		}
		if op.Parent == "" || !bytes.Contains(op.Result, name) { // most are told apart without being decoded
			continue
		}
		if a, err := modelOf(op); err == nil && a.SHA256 == file {
			return op, nil
		}
	}
	return ktrdr.Operation{}, nil
}

// tradable finds the bars of a backtest: the library's, or, for the model of a
// research, those that it searched. What lies beyond is its holdout, and is
// refused to whoever does not ask for it by name.
func (d *Desk) tradable(ctx context.Context, r BacktestRequest, spec *BacktestSpec, m *train.Model, from origin) (*found, []string, error) {
	frames := m.Strategy.Data.Timeframes
	switch {
	case from.research == "" && r.OpenHoldout:
		return nil, nil, wrong("the model comes from no research, so that there is no holdout to open: leave out open_holdout")
	case from.research == "":
		f, err := d.find([]string{spec.Symbol}, frames)
		return f, nil, err
	case r.OpenHoldout:
		return d.opened(spec, m, from)
	case !spec.Start.IsZero() && !spec.Start.Before(from.ends) || spec.End.After(from.ends):
		return nil, nil, wrong("bars from %s on are the holdout of %s, which the model comes from: choose dates before, or open it with open_holdout (--open-holdout), which counts against every later verdict on these bars",
			minute(from.ends.Unix()), from.research)
	}
	told := []string{fmt.Sprintf("only bars before %s are traded: those after are the holdout of %s", minute(from.ends.Unix()), from.research)}
	f, err := d.searched(ctx, from, spec.Symbol, frames)
	if err != nil || f != nil {
		return f, told, err
	}
	if end := spec.span(m).End; end.IsZero() || end.After(from.ends) { // a symbol that the research did not read: its holdout is a time
		spec.End = from.ends
	}
	f, err = d.find([]string{spec.Symbol}, frames)
	return f, told, err
}

// opened is the library's bars, the holdout among them, and the spec that says so.
func (d *Desk) opened(spec *BacktestSpec, m *train.Model, from origin) (*found, []string, error) {
	f, err := d.find([]string{spec.Symbol}, m.Strategy.Data.Timeframes)
	if err != nil {
		return nil, nil, err
	}
	end, beyond := spec.span(m).End, false
	for _, b := range f.bars {
		n := b.Len()
		beyond = beyond || n > 0 && b.Timeframe.End(b.Time[n-1]) > from.ends.Unix()
	}
	if !beyond || !end.IsZero() && !end.After(from.ends) {
		f.close()
		return nil, nil, wrong("nothing is traded after %s, where the holdout of %s begins: leave out open_holdout, or choose a later end_date", minute(from.ends.Unix()), from.research)
	}
	spec.Opens = &Opening{from.research, from.ends, from.holdout}
	return f, []string{spec.Opens.warning()}, nil
}

// searched is the bars of a symbol as the research saw them, whatever the
// library has become since; nil if it did not read all of them.
func (d *Desk) searched(ctx context.Context, from origin, symbol string, frames []market.Timeframe) (*found, error) {
	f := &found{}
	for _, tf := range frames {
		for _, want := range from.bars {
			if want.Symbol != symbol || want.Timeframe != tf {
				continue
			}
			b, err := d.bars(ctx, want)
			if err != nil {
				return nil, fmt.Errorf("bars of %s: %w", from.research, err)
			}
			f.bars, f.pinned = append(f.bars, b), append(f.pinned, want)
		}
	}
	if len(f.bars) < len(frames) {
		return nil, nil //nolint:nilnil // none is an answer: another symbol
	}
	return f, nil
}

func (d *Desk) bars(ctx context.Context, want Bars) (*market.Bars, error) {
	r, err := d.cfg.Blobs.Open(ctx, want.SHA256)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	return decodeBars(r, want)
}

func (o Opening) warning() string {
	return fmt.Sprintf("the bars from %s on are the holdout of %s: this opens it, which is noted and counts against every later verdict on these bars", minute(o.From.Unix()), o.Research)
}
