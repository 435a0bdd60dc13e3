package compute

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
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/train"
)

// Backtest makes a backtest of a request. CodeInvalid says what to change;
// CodeNotFound when there is no such training.
func (d *Service) Backtest(ctx context.Context, r jobs.BacktestRequest) (jobs.Accepted, error) {
	file, model, from, err := d.model(ctx, r)
	if err != nil {
		return jobs.Accepted{}, err
	}
	spec, err := backtestSpec(r, file, model)
	if err != nil {
		return jobs.Accepted{}, err
	}
	if err := d.chargeCarry(ctx, &spec); err != nil {
		return jobs.Accepted{}, err
	}
	s, symbols := model.Strategy, spec.Traded()
	for _, symbol := range symbols { // before a look is reserved for it
		if err := model.Allows(symbol); err != nil {
			return jobs.Accepted{}, wrong("%w", err)
		}
	}
	found, markets, err := d.tradable(ctx, symbols, s, from, r.OpenHoldout)
	if err != nil {
		return jobs.Accepted{}, err
	}
	missing, err := found.agree(s.Data.Base, tradedSpan(spec, model))
	if err != nil {
		return jobs.Accepted{}, err
	}
	access, err := markets.access(found, tradedSpan(spec, model).End, r.OpenHoldout, from)
	if err != nil {
		return jobs.Accepted{}, err
	}
	if err := enoughToTrade(spec, model, found); err != nil {
		return jobs.Accepted{}, err
	}
	if err := d.fix(ctx, markets); err != nil {
		return jobs.Accepted{}, err
	}
	spec.Opens = access.opens
	if spec.Bars, err = d.pin(ctx, found); err != nil {
		return jobs.Accepted{}, err
	}
	told := slices.Concat(access.told, missing)
	if spec.Scope == jobs.ScopeAll {
		told = append(told, "scope all: the result contains bars that the model was trained on, and is no evidence of anything")
	}
	op, err := operation(ktrdr.Backtesting, spec, about{s.Name, symbols, s.Data.Timeframes, model.Info.Seed, told})
	access.enter(&op, from.trialKey(file), s.Name, jobs.AnyMadeUp(spec.Bars))
	return jobs.Accepted{Operation: op, Warnings: told}, err
}

// chargeCarry sets what holding each symbol costs, as the file of instruments says.
func (d *Service) chargeCarry(ctx context.Context, spec *jobs.BacktestSpec) error {
	if d.cfg.Instruments == nil {
		return nil
	}
	file, err := d.cfg.Instruments(ctx)
	if err != nil {
		return wrong("correct %s: %w", instrument.FileName, err)
	}
	own := spec.Overrides // a symbol with overrides of its own takes none of these
	for _, symbol := range spec.Traded() {
		c := file.Find(symbol).Carry()
		spec.ChargeCarry(symbol, c.Long, c.Short)
		if len(spec.Symbols) > 0 && c != (instrument.Carry{}) && (own.Commission != nil || own.Slippage != nil || own.Spread != nil) {
			o := spec.SymbolOverrides[symbol]
			o.Commission, o.Slippage, o.Spread = own.Commission, own.Slippage, own.Spread
			spec.SymbolOverrides[symbol] = o
		}
	}
	return nil
}

// backtestSpec is what the request says by itself; its bars are still to be found.
func backtestSpec(r jobs.BacktestRequest, file ktrdr.Artifact, model *train.TrainedModel) (spec jobs.BacktestSpec, err error) {
	spec = jobs.BacktestSpec{
		Model: file, Scope: jobs.ScopeTest,
		Overrides: backtest.Overrides{InitialCapital: r.InitialCapital, Commission: r.Commission, Slippage: r.Slippage, Spread: r.Spread},
	}
	if r.Scope != "" {
		spec.Scope = jobs.Scope(r.Scope)
	}
	if spec.Scope != jobs.ScopeTest && spec.Scope != jobs.ScopeAll {
		return spec, wrong("there is no scope %.40q; %s (test: bars that the model has not seen)", r.Scope,
			text.Choices(r.Scope, []jobs.Scope{jobs.ScopeTest, jobs.ScopeAll}))
	}
	if spec.Start, spec.End, err = dates(r.StartDate, r.EndDate); err != nil {
		return spec, err
	}
	s := model.Strategy
	symbols, err := tradedSymbols(r, model)
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

func enoughToTrade(s jobs.BacktestSpec, m *train.TrainedModel, f *found) error {
	span := tradedSpan(s, m)
	begins, otherwise := "the backtest begins", ""
	if span.Start.Equal(unseen(m)) {
		begins, otherwise = "the test part of the model begins", ", or ask for scope all, which contains training data"
	}
	for i, b := range f.bars {
		if b.Timeframe != m.Strategy.Data.Base || b.Len() == 0 || f.isContext(i) {
			continue
		}
		last, newer := b.Time[b.Len()-1], "import newer ones"
		if f.cut[i] || f.pinned != nil {
			newer = "later bars are the holdout; --open-holdout (open_holdout) reads them and counts as a look"
		}
		if !span.Start.IsZero() && last < span.Start.Unix() {
			return wrong("the %s bars of %s end before %s, where %s: %s%s", b.Timeframe, b.Symbol, text.Minute(span.Start.Unix()),
				begins, newer, otherwise)
		}
		if !span.End.IsZero() && b.Timeframe.End(b.Time[0]) > span.End.Unix() {
			return wrong("the %s bars of %s begin at %s, and the backtest ends at %s: import older ones, or choose a later end_date", b.Timeframe,
				b.Symbol, text.Minute(b.Time[0]), text.Minute(span.End.Unix()))
		}
	}
	if !span.End.IsZero() && !span.Start.Before(span.End) {
		return wrong("the backtest ends at %s, not after %s, where %s: choose a later end_date%s", text.Minute(span.End.Unix()),
			text.Minute(span.Start.Unix()), begins, otherwise)
	}
	return nil
}

const mostAccounts = 64

func tradedSymbols(r jobs.BacktestRequest, m *train.TrainedModel) ([]string, error) {
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

func (d *Service) model(ctx context.Context, r jobs.BacktestRequest) (ktrdr.Artifact, *train.TrainedModel, origin, error) {
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
func (d *Service) openModel(ctx context.Context, a ktrdr.Artifact, training ktrdr.Operation) (ktrdr.BlobReader, error) {
	if !training.Compacted {
		return d.cfg.Blobs.Open(ctx, a.SHA256)
	}
	if _, err := library.ReadBlob(ctx, d.cfg.Blobs, a); err == nil {
		return d.cfg.Blobs.Open(ctx, a.SHA256)
	}
	b, err := d.File(ctx, training, jobs.ModelFile)
	if err != nil {
		return nil, err
	}
	if _, err := d.cfg.Blobs.Put(ctx, a.SHA256, bytes.NewReader(b)); err != nil {
		return nil, err
	}
	return d.cfg.Blobs.Open(ctx, a.SHA256)
}

// modelFile finds a model's file and its training, which may be none of ours.
func (d *Service) modelFile(ctx context.Context, r jobs.BacktestRequest) (a ktrdr.Artifact, training ktrdr.Operation, err error) {
	name := cmp.Or(r.Model, r.ModelPath)
	switch {
	case r.Model != "" && r.ModelPath != "":
		return a, training, wrong("model and model_path are given both: give one of them")
	case name == "" && r.StrategyName == "":
		return a, training, wrong("say which model to test: the id of a training, the sha256 of a model file, or its path in the data folder; " +
			"`ktrdr models` lists them")
	case name == "":
		return d.newest(ctx, r.StrategyName)
	}
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
		a = ktrdr.Artifact{Name: jobs.ModelFile, SHA256: h, Size: info.Size}
	} else if a, err = d.uploadModel(ctx, name); err != nil {
		return a, training, err
	}
	if training, err = d.madeBy(ctx, a.SHA256); err == nil && training.Compacted {
		a, err = modelOf(training) // the blob may be damaged, and of another size
	}
	return a, training, err
}

// uploadModel stores a model of the data folder: only a model, as all can read blobs.
func (d *Service) uploadModel(ctx context.Context, file string) (ktrdr.Artifact, error) {
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

func (d *Service) upload(ctx context.Context, file string) (ktrdr.Artifact, error) {
	f, err := d.file(file)
	if err != nil {
		return ktrdr.Artifact{}, err
	}
	defer func() { _ = f.Close() }() // only read
	return d.store(ctx, path.Base(file), f)
}

// file opens a file that a request names.
func (d *Service) file(file string) (*os.File, error) {
	f, err := d.open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, wrong("there is no file %s in the data folder, and it is neither the id of an operation nor a sha256", file)
	}
	return f, err
}

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

func (d *Service) newest(ctx context.Context, name string) (ktrdr.Artifact, ktrdr.Operation, error) {
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
