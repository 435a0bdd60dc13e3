package research

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

// The kinds of notes about bars that were seen. What they say is then no longer
// news to whoever chooses strategies.
const (
	NoteOpening = "opening" // a holdout was read
	NoteLook    = "look"    // somebody saw how a model does on bars that may become part of one
)

// Opening is what is noted of either.
type Opening struct {
	Holdout []ktrdr.Hash      `json:"holdout,omitempty"` // bars_hash of each series, in the order of the research
	From    time.Time         `json:"from,omitzero"`
	Of      ktrdr.OperationID `json:"of,omitempty"` // the research whose holdout it is
	By      ktrdr.OperationID `json:"by"`           // the operation that read it
	Spans   []Span            `json:"spans,omitempty"`
}

// Standalone notes the trainings and backtests that somebody made without a
// research. Whoever tunes a strategy by hand and then has the best one researched
// has tried them all, and is judged for all.
//
// A trial is a model on a symbol: the training that made it shows how it does on
// the test part, and so does a backtest, whichever comes first. The same again,
// be it with other dates or costs, chooses among no more models.
func Standalone() ktrdr.Ledger {
	return ktrdr.Ledger{ktrdr.Training: trainedAlone, ktrdr.Backtesting: backtestedAlone}
}

// trainedAlone notes a training. What cannot be read of it is left out: it was
// a trial all the same.
func trainedAlone(op ktrdr.Operation) []ktrdr.Note {
	var spec jobs.TrainingSpec
	_ = json.Unmarshal(op.Spec, &spec)
	result, _ := resultOf[jobs.TrainingResult](&op)
	t := Trial{Strategy: result.Strategy, Status: "trained"}
	if result.Test != nil {
		t.Accuracy = &result.Test.Accuracy
	}
	symbol := ""
	if len(spec.Bars) > 0 {
		symbol = spec.Bars[0].Symbol
	}
	look, split := Opening{By: op.ID}, result.Data.Split
	for _, s := range result.Data.Sources {
		look.Spans = append(look.Spans, Span{
			Symbol: s.Symbol, Timeframe: s.Timeframe,
			From: time.Unix(max(s.First, split.Test), 0).UTC(), To: time.Unix(min(s.Timeframe.End(s.Last), split.End), 0).UTC(),
		})
	}
	key := aloneKey(op, result.Model, symbol)
	return []ktrdr.Note{aloneNote(NoteTrial, key, t.bounded()), lookNote(key, look)}
}

// backtestedAlone notes a backtest, and the bars that it showed: as an opening
// where they are known to be a holdout.
func backtestedAlone(op ktrdr.Operation) []ktrdr.Note {
	var spec jobs.BacktestSpec
	_ = json.Unmarshal(op.Spec, &spec)
	result, _ := resultOf[jobs.BacktestResult](&op)
	t := Trial{
		Strategy: result.Strategy, Status: "evaluated", Sharpe: result.Metrics.Sharpe,
		Trades: result.Metrics.TotalTrades, ResultHash: result.ResultHash.String(),
	}
	shown := Opening{By: op.ID}
	if !result.End.IsZero() {
		shown.Spans = []Span{{
			Symbol: spec.Symbol, Timeframe: result.Timeframe,
			From: result.Start, To: time.Unix(result.Timeframe.End(result.End.Unix()), 0).UTC(),
		}}
	}
	key := aloneKey(op, spec.Model, spec.Symbol)
	last := lookNote(key, shown)
	if o := spec.Opens; o != nil {
		shown.Holdout, shown.From, shown.Of = o.Holdout, o.From, o.Research
		last = aloneNote(NoteOpening, string(op.ID), shown)
	}
	return []ktrdr.Note{aloneNote(NoteTrial, key, t.bounded()), last}
}

// known is how often somebody has seen bars of a research's holdout: every
// opening, and, where the strategy was given, every model that was looked at by
// hand, since whoever gave it may have chosen it by them. A designer is told of
// none.
func (m *Memory) known(ctx context.Context, spec *Spec, q ktrdr.NoteQuery, but string) (int, error) {
	n, err := m.opened(ctx, q, spec.Sealed, but)
	if err != nil || spec.Strategy == "" {
		return n, err
	}
	q.Kind = NoteLook
	models := map[string]bool{}
	err = m.read(ctx, q, 0, func(look ktrdr.Note) error {
		var o Opening
		if err := json.Unmarshal(look.Data, &o); err != nil {
			return fmt.Errorf("look %s: %w", look.Key, err)
		}
		if o.touches(spec.Sealed) {
			models[path.Dir(look.Key)] = true
		}
		return nil
	})
	return n + len(models), err
}

func (t Trial) bounded() Trial {
	t.Strategy = clip(t.Strategy, maxLine)
	return t
}

// aloneKey is what tells trials apart; one of which not even the model is known
// counts by itself.
func aloneKey(op ktrdr.Operation, model ktrdr.Artifact, symbol string) string {
	if model.SHA256 == (ktrdr.Hash{}) {
		return string(op.ID)
	}
	return fmt.Sprintf("model/%s/%s", model.SHA256, clip(symbol, 64))
}

func aloneNote(kind, key string, data any) ktrdr.Note {
	text, _ := encode(data) // texts, hashes and numbers that were JSON before
	return ktrdr.Note{Kind: kind, Key: key, Data: text}
}

// lookNote tells the looks at a model apart by where the bars end: newer ones
// may be in a holdout where the older were not.
func lookNote(trial string, o Opening) ktrdr.Note {
	var end int64
	for _, s := range o.Spans {
		end = max(end, s.To.Unix())
	}
	return aloneNote(NoteLook, fmt.Sprintf("%s/%d", trial, end), o)
}
