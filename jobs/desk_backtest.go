package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/train"
)

// BacktestRequest asks for a backtest. The model is named by the id of its
// training, by the sha256 of its file, or by a path in the data folder; without
// one it is the newest of the strategy. A model that a research made is traded
// on the bars that the research searched.
type BacktestRequest struct {
	Model          string   `json:"model,omitempty"`
	ModelPath      string   `json:"model_path,omitempty"`
	StrategyName   string   `json:"strategy_name,omitempty"`
	Symbol         string   `json:"symbol,omitempty"`  // or symbols; none means all that the model was trained on
	Symbols        []string `json:"symbols,omitempty"` // one account for each, with the same share of the capital
	Timeframe      string   `json:"timeframe,omitempty"`
	StartDate      string   `json:"start_date,omitempty"`
	EndDate        string   `json:"end_date,omitempty"`
	Scope          string   `json:"scope,omitempty"` // test: bars that the model has not seen; all: its training too
	InitialCapital *float64 `json:"initial_capital,omitempty" zero:"refused"`
	Commission     *float64 `json:"commission,omitempty"`
	Slippage       *float64 `json:"slippage,omitempty"`
	Spread         *float64 `json:"spread,omitempty"`
	OpenHoldout    bool     `json:"open_holdout,omitempty"` // trade the bars of the holdout too; it is counted as a look
}

// Backtest makes a backtest of a request. CodeInvalid says what to change;
// CodeNotFound when there is no such training.
func (d *Desk) Backtest(ctx context.Context, r BacktestRequest) (Order, error) {
	file, model, from, err := d.model(ctx, r)
	if err != nil {
		return Order{}, err
	}
	spec, err := r.spec(file, model)
	if err != nil {
		return Order{}, err
	}
	s, symbols := model.Strategy, spec.Traded()
	for _, symbol := range symbols { // before a look is reserved for it
		if err := model.Allows(symbol); err != nil {
			return Order{}, wrong("%w", err)
		}
	}
	found, markets, err := d.tradable(ctx, symbols, s.Data.Timeframes, from, r.OpenHoldout)
	if err != nil {
		return Order{}, err
	}
	missing, err := found.agree(s.Data.Base, spec.span(model))
	if err != nil {
		return Order{}, err
	}
	access, err := markets.access(found, spec.span(model).End, r.OpenHoldout, from)
	if err != nil {
		return Order{}, err
	}
	if err := spec.enough(model, found); err != nil {
		return Order{}, err
	}
	if err := d.fix(ctx, markets); err != nil {
		return Order{}, err
	}
	spec.Opens = access.opens
	if spec.Bars, err = d.pin(ctx, found); err != nil {
		return Order{}, err
	}
	told := slices.Concat(access.told, missing)
	if spec.Scope == ScopeAll {
		told = append(told, "scope all: the result contains bars that the model was trained on, and is no evidence of anything")
	}
	op, err := operation(ktrdr.Backtesting, spec, about{s.Name, symbols, s.Data.Timeframes, model.Info.Seed, told})
	access.enter(&op, from.trialKey(file), s.Name, AnyMadeUp(spec.Bars))
	return Order{op, told}, err
}

// spec is what the request says by itself; its bars are still to be found.
func (r BacktestRequest) spec(file ktrdr.Artifact, model *train.TrainedModel) (spec BacktestSpec, err error) {
	spec = BacktestSpec{
		Model: file, Scope: ScopeTest,
		Overrides: train.Overrides{InitialCapital: r.InitialCapital, Commission: r.Commission, Slippage: r.Slippage, Spread: r.Spread},
	}
	if r.Scope != "" {
		spec.Scope = Scope(r.Scope)
	}
	if spec.Scope != ScopeTest && spec.Scope != ScopeAll {
		return spec, wrong("there is no scope %.40q; %s (test: bars that the model has not seen)", r.Scope,
			text.Choices(r.Scope, []Scope{ScopeTest, ScopeAll}))
	}
	if spec.Start, spec.End, err = dates(r.StartDate, r.EndDate); err != nil {
		return spec, err
	}
	s := model.Strategy
	symbols, err := r.symbols(model)
	if err != nil {
		return spec, err
	}
	spec.Trade(symbols)
	if r.Timeframe != "" && r.Timeframe != string(s.Data.Base) {
		return spec, wrong("strategy %s decides at %s bars, not at %s", s.Name, s.Data.Base, r.Timeframe)
	}
	if c := r.InitialCapital; c != nil && *c == 0 { // a configuration would take it for the default
		return spec, wrong("initial_capital is 0; it must be above 0: leave it out for the strategy's")
	}
	if err := train.BacktestConfig(s, spec.Overrides).Validate(); err != nil {
		return spec, wrong("%w", err)
	}
	return spec, nil
}

// enough refuses a backtest for which no bar is left.
func (s BacktestSpec) enough(m *train.TrainedModel, f *found) error {
	span := s.span(m)
	begins, otherwise := "the backtest begins", ""
	if span.Start.Equal(unseen(m)) {
		begins, otherwise = "the test part of the model begins", ", or ask for scope all, which contains training data"
	}
	for i, b := range f.bars {
		if b.Timeframe != m.Strategy.Data.Base || b.Len() == 0 {
			continue
		}
		last, newer := b.Time[b.Len()-1], "import newer ones"
		if f.cut[i] || f.pinned != nil {
			newer = "later bars are the holdout; --open-holdout (open_holdout) reads them and counts as a look"
		}
		if !span.Start.IsZero() && last < span.Start.Unix() {
			return wrong("the %s bars of %s end before %s, where %s: %s%s", b.Timeframe, b.Symbol, minute(span.Start.Unix()),
				begins, newer, otherwise)
		}
		if !span.End.IsZero() && b.Timeframe.End(b.Time[0]) > span.End.Unix() {
			return wrong("the %s bars of %s begin at %s, and the backtest ends at %s: import older ones, or choose a later end_date", b.Timeframe,
				b.Symbol, minute(b.Time[0]), minute(span.End.Unix()))
		}
	}
	if !span.End.IsZero() && !span.Start.Before(span.End) {
		return wrong("the backtest ends at %s, not after %s, where %s: choose a later end_date%s", minute(span.End.Unix()),
			minute(span.Start.Unix()), begins, otherwise)
	}
	return nil
}

// mostAccounts is how many symbols one backtest trades at most.
const mostAccounts = 64

// symbols are those to trade: the ones asked for, or all that the model was
// trained on.
func (r BacktestRequest) symbols(m *train.TrainedModel) ([]string, error) {
	asked, err := either(r.Symbol, r.Symbols, "symbol and symbols")
	if err != nil {
		return nil, err
	}
	if len(asked) == 0 {
		for _, s := range m.Info.Sources {
			asked = append(asked, s.Symbol)
		}
	}
	var list []string
	for _, symbol := range asked {
		if strings.TrimSpace(symbol) == "" {
			return nil, wrong("a symbol has no name: give one such as EURUSD, or leave the symbols out to trade what the model was trained on")
		}
		if !slices.Contains(list, symbol) {
			list = append(list, symbol)
		}
	}
	if len(list) > mostAccounts {
		return nil, wrong("%d symbols are to be traded; one backtest trades at most %d: name fewer", len(list), mostAccounts)
	}
	return list, nil
}

// model finds a model's file and reads it, and looks up where it comes from.
func (d *Desk) model(ctx context.Context, r BacktestRequest) (ktrdr.Artifact, *train.TrainedModel, origin, error) {
	a, training, err := d.modelFile(ctx, r)
	if err != nil {
		return a, nil, origin{}, err
	}
	f, err := d.openModel(ctx, a, training)
	if err != nil {
		return a, nil, origin{}, fmt.Errorf("model %s: %w", a.SHA256, err)
	}
	defer func() { _ = f.Close() }() // only read
	m, err := decodeModel(f, a)
	if err != nil {
		return a, nil, origin{}, err
	}
	if r.StrategyName != "" && r.StrategyName != m.Strategy.Name {
		return a, nil, origin{}, wrong("the model is one of strategy %s, not of %s", m.Strategy.Name, r.StrategyName)
	}
	from, err := d.origin(ctx, training)
	return a, m, from, err
}

// openModel opens a model file. That of a compacted training, if it is missing or
// damaged, is computed again and stored, so that a spec may name it.
func (d *Desk) openModel(ctx context.Context, a ktrdr.Artifact, training ktrdr.Operation) (ktrdr.BlobReader, error) {
	if !training.Compacted {
		return d.cfg.Blobs.Open(ctx, a.SHA256)
	}
	if _, err := d.stored(ctx, a); err == nil {
		return d.cfg.Blobs.Open(ctx, a.SHA256)
	}
	b, err := d.File(ctx, training, ModelFile)
	if err != nil {
		return nil, err
	}
	if _, err := d.cfg.Blobs.Put(ctx, a.SHA256, bytes.NewReader(b)); err != nil {
		return nil, err
	}
	return d.cfg.Blobs.Open(ctx, a.SHA256)
}

// modelFile finds a model's file and the training that made it, which is the
// zero operation where none of ours did.
func (d *Desk) modelFile(ctx context.Context, r BacktestRequest) (a ktrdr.Artifact, training ktrdr.Operation, err error) {
	named, err := either(r.Model, nonEmpty(r.ModelPath), "model and model_path")
	switch {
	case err != nil:
		return a, training, err
	case len(named) == 0 && r.StrategyName == "":
		return a, training, wrong("say which model to test: the id of a training, the sha256 of a model file, or its path in the data folder; " +
			"`ktrdr models` lists them")
	case len(named) == 0:
		return d.newest(ctx, r.StrategyName)
	}
	name := named[0]
	if id := ktrdr.OperationID(name); id.Valid() {
		if training, err = d.cfg.Operations.Operation(ctx, id); err != nil {
			return a, training, err
		}
		a, err = modelOf(training)
		return a, training, err
	}
	if h, bad := ktrdr.ParseHash(name); bad == nil {
		info, err := d.cfg.Blobs.Stat(ctx, h)
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			if training, err = d.madeBy(ctx, h); err == nil && training.Compacted {
				a, err = modelOf(training)
				return a, training, err
			}
			return a, ktrdr.Operation{}, cmp.Or(err, wrong("there is no model with the sha256 %s: `ktrdr models` lists them", h))
		}
		if err != nil {
			return a, training, err
		}
		a = ktrdr.Artifact{Name: ModelFile, SHA256: h, Size: info.Size}
	} else if a, err = d.uploadModel(ctx, name); err != nil {
		return a, training, err
	}
	if training, err = d.madeBy(ctx, a.SHA256); err == nil && training.Compacted {
		a, err = modelOf(training) // the blob may be damaged, and of another size
	}
	return a, training, err
}

// uploadModel puts a model of the data folder into the blob store: only if it is
// one, since blobs can be read by all.
func (d *Desk) uploadModel(ctx context.Context, file string) (ktrdr.Artifact, error) {
	f, err := d.file(file)
	if err != nil {
		return ktrdr.Artifact{}, err
	}
	defer func() { _ = f.Close() }() // only read
	if _, err := train.Decode(f); err != nil {
		return ktrdr.Artifact{}, wrong("model %s: %w", file, err)
	}
	return d.store(ctx, path.Base(file), f)
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// upload puts a file of the data folder into the blob store.
func (d *Desk) upload(ctx context.Context, file string) (ktrdr.Artifact, error) {
	f, err := d.file(file)
	if err != nil {
		return ktrdr.Artifact{}, err
	}
	defer func() { _ = f.Close() }() // only read
	return d.store(ctx, path.Base(file), f)
}

// file opens a file that a request named where it could have named something
// else.
func (d *Desk) file(file string) (*os.File, error) {
	f, err := d.open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, wrong("there is no file %s in the data folder, and it is neither the id of an operation nor a sha256", file)
	}
	return f, err
}

// modelOf is the model that a training made.
func modelOf(op ktrdr.Operation) (ktrdr.Artifact, error) {
	switch {
	case op.Type != ktrdr.Training:
		return ktrdr.Artifact{}, wrong("%s is an operation of type %s: only a training makes a model", op.ID, op.Type)
	case op.Status != ktrdr.Completed:
		return ktrdr.Artifact{}, wrong("%s is %s: a training has its model when it is COMPLETED", op.ID, op.Status)
	}
	var r struct {
		Model ktrdr.Artifact `json:"model"`
	}
	if err := json.Unmarshal(op.Result, &r); err != nil {
		return r.Model, fmt.Errorf("result of %s: %w", op.ID, err)
	}
	return r.Model, nil
}

// newest is the newest model of a strategy, and its training.
func (d *Desk) newest(ctx context.Context, name string) (ktrdr.Artifact, ktrdr.Operation, error) {
	for op, err := range d.trained(ctx) {
		if err != nil {
			return ktrdr.Artifact{}, op, err
		}
		if m := describe(op); m.Strategy == name {
			return m.File, op, nil
		}
	}
	return ktrdr.Artifact{}, ktrdr.Operation{}, wrong("no training of strategy %s has completed: train it first with `ktrdr train %s`", name,
		name)
}
