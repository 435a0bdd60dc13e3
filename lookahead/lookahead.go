package lookahead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// Audit is what was checked and what was found.
type Audit struct {
	Strategy string           `json:"strategy"`
	Data     []metrics.Source `json:"data"`
	Made     bool             `json:"synthetic"`
	Seed     uint64           `json:"seed"`
	Model    string           `json:"model,omitempty"` // the file; none: trained for one epoch
	Planted  string           `json:"planted,omitempty"`
	Found    bool             `json:"found"` // something looks ahead
	Checks   []Checked        `json:"checks"`
}

// Checked is the result of one check.
type Checked struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Detail  string `json:"detail"`            // what was looked at
	Finding string `json:"finding,omitempty"` // what looks ahead
}

// Options say on what a strategy is checked.
type Options struct {
	Data    []train.Series
	Made    bool                // the data is synthetic
	Seed    uint64              // of the network
	Model   *train.TrainedModel // that is asked; nil: one that is trained for one epoch
	File    string              // of the model
	Planted string              // one of Cheats; empty: none
}

// Check holds a strategy to the order of time.
func Check(ctx context.Context, s *strategy.Strategy, o Options) (Audit, error) {
	c := &timeChecker{strategy: s, data: o.Data, plant: o.Planted, model: o.Model}
	var err error
	if c.dataset, _, err = train.Prepare(s, c.data, train.Options{}); err != nil {
		return Audit{}, fmt.Errorf("%w\n(more --bars may help)", err)
	}
	if c.model == nil {
		if c.model, err = trainBriefly(ctx, c.dataset, s, o.Seed); err != nil {
			return Audit{}, err
		}
	}
	r := Audit{Strategy: s.Name, Data: c.dataset.Sources(), Made: o.Made, Seed: o.Seed, Model: o.File, Planted: o.Planted}
	for _, check := range []func(context.Context) (Checked, error){c.preparation, c.signals, c.fills} {
		made, err := check(ctx)
		if err != nil {
			return r, fmt.Errorf("%s: %w", made.Check, err)
		}
		r.Found = r.Found || !made.OK
		r.Checks = append(r.Checks, made)
	}
	return r, nil
}

// Shortened is the strategy as it is checked: it is trained for one epoch, on any dates.
func Shortened(s *strategy.Strategy) *strategy.Strategy {
	c := *s
	c.Training.Epochs = 1
	c.Data.Span = strategy.Span{}
	return &c
}

// Print prints the audit for people.
func (r Audit) Print(w io.Writer, p term.Palette) {
	var bars []string
	for _, d := range r.Data {
		bars = append(bars, fmt.Sprintf("%d bars of %s %s", d.Bars, d.Symbol, d.Timeframe))
	}
	market := "the library's"
	if r.Made {
		market = fmt.Sprintf("a synthetic market, seed %d", r.Seed)
	}
	fmt.Fprintf(w, "%s on %s (%s)\n", term.Plain(r.Strategy), strings.Join(bars, ", "), market)
	for _, c := range r.Checks {
		fmt.Fprintf(w, "%s %-12s %s\n", p.Mark(c.OK), c.Check, term.Plain(cmp.Or(c.Finding, c.Detail)))
	}
	switch {
	case r.Planted != "" && r.Found:
		fmt.Fprintf(w, "The planted %s was found.\n", r.Planted)
	case r.Planted != "":
		fmt.Fprintf(w, "The planted %s was NOT found: try more --bars or another --seed.\n", r.Planted)
	case r.Found:
		fmt.Fprintln(w, "The strategy uses future prices. Its results are not valid.")
	default:
		fmt.Fprintln(w, "No use of future prices was found.")
	}
}

// timeChecker runs the checks, each of them with the cheat if that is where it belongs.
type timeChecker struct {
	strategy *strategy.Strategy
	data     []train.Series
	plant    string
	dataset  *train.Dataset
	model    *train.TrainedModel
}

// trainBriefly trains a model for the one epoch that the strategy has here.
func trainBriefly(ctx context.Context, ds *train.Dataset, s *strategy.Strategy, seed uint64) (*train.TrainedModel, error) {
	run, err := train.Start(ds, s, seed, neural.Best())
	if err != nil {
		return nil, err
	}
	if err := run.Epoch(ctx, nil); err != nil {
		return nil, err
	}
	m, _, err := run.Finish()
	return m, err
}

// checkResult is the result of a check: a look-ahead error becomes a finding; other errors are returned.
func checkResult(check, detail string, err error) (Checked, error) {
	h := Checked{Check: check, Detail: detail}
	_, inTraining := errors.AsType[*train.LookAheadError](err)
	_, inTrading := errors.AsType[*backtest.LookAheadError](err)
	if inTraining || inTrading {
		h.Finding = err.Error()
		return h, nil
	}
	h.OK = err == nil
	return h, err
}
