package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"path"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

type importRequest struct {
	Name      string `json:"name,omitempty" jsonschema:"of a file in the data folder; with content, what to call it"`
	Content   string `json:"content,omitempty" jsonschema:"CSV"`
	Symbol    string `json:"symbol,omitempty"`
	Timeframe string `json:"timeframe,omitempty" jsonschema:"such as 1h"`
	Mode      string `json:"mode,omitempty" jsonschema:"append or replace a series that exists"`
	Key       string `json:"key,omitempty" jsonschema:"repeat a call with the same key: it starts nothing twice"`
}

func (s *Server) importPrices(ctx context.Context, in importRequest, a *answer) error {
	r := jobs.DataLoadRequest{Symbol: in.Symbol, Timeframe: in.Timeframe, Mode: in.Mode}
	switch {
	case in.Content != "":
		hash, err := s.upload(ctx, in.Content)
		if err != nil {
			return err
		}
		r.SHA256, r.Name = hash.String(), in.Name
	case in.Name == "":
		return ktrdr.Errorf(ktrdr.CodeInvalid, "give the content of a file, or the name of a file in the data folder")
	case path.IsAbs(in.Name) || strings.Contains(in.Name, `\`) || strings.Contains(in.Name, ".."):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "name is the name of a file in the data folder, and no path of the server")
	default:
		r.Path = in.Name
	}
	return s.started(ctx, a, func(key string) (api.Started, error) { return s.Lab.StartDataLoad(ctx, r, key) }, in.Key)
}

// upload stores the content of a file. The same content again is the same blob.
func (s *Server) upload(ctx context.Context, content string) (ktrdr.Hash, error) {
	file := []byte(content)
	return patient(ctx, s, func() (ktrdr.Hash, error) {
		h := ktrdr.Hash(sha256.Sum256(file))
		return h, s.Lab.PutBlob(ctx, ktrdr.Claimed{}, h, int64(len(file)), bytes.NewReader(file))
	})
}

// started starts an operation and answers with its handle.
func (s *Server) started(ctx context.Context, a *answer, start func(key string) (api.Started, error), key string) error {
	key = keyed(key)
	made, err := patient(ctx, s, func() (api.Started, error) { return start(key) })
	if err != nil {
		return err
	}
	a.handle(string(made.Operation))
	for _, w := range made.Warnings {
		a.line("warning: %s", data(w))
	}
	return nil
}

type researchRequest struct {
	Goal       string   `json:"goal,omitempty" jsonschema:"in words: symbols, timeframes, indicators, style"`
	Strategy   string   `json:"strategy,omitempty" jsonschema:"YAML to research instead of designing"`
	Symbols    []string `json:"symbols,omitempty"`
	Timeframes []string `json:"timeframes,omitempty"`
	Count      int      `json:"count,omitempty" jsonschema:"researches, default 1"`
	Hours      float64  `json:"hours,omitempty" jsonschema:"keep starting generations for this time"`
	Seed       *uint64  `json:"seed,omitempty"`
	Designer   string   `json:"designer,omitempty" jsonschema:"assistant: you design; default: the lab does"`
	DryRun     bool     `json:"dry_run,omitempty" jsonschema:"start nothing; say what is understood and how long it takes"`
	Key        string   `json:"key,omitempty"`
}

// mostHours bounds how long a run of an assistant starts generations.
const mostHours = 72

func (s *Server) research(ctx context.Context, in researchRequest, a *answer) error {
	if in.Hours < 0 || in.Hours > mostHours {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "hours must be 0 to %d", mostHours)
	}
	r := research.Request{
		Brief: in.Goal, StrategyYAML: in.Strategy, Symbols: in.Symbols, Timeframes: in.Timeframes, Count: in.Count, Seed: in.Seed,
		DryRun: in.DryRun, Designer: in.Designer, Force: true, TriggerReason: "assistant",
	}
	if in.Hours > 0 {
		r.Until = time.Now().Add(time.Duration(in.Hours * float64(time.Hour))).Truncate(time.Second).UTC()
	}
	key := keyed(in.Key)
	made, err := patient(ctx, s, func() (research.Triggered, error) { return s.Lab.Trigger(ctx, r, key) })
	if err != nil {
		return err
	}
	if len(made.Understood) > 0 {
		a.line("understood: %s", listed(made.Understood))
	}
	if len(made.NotUnderstood) > 0 {
		a.line("not understood: %s", listed(made.NotUnderstood))
	}
	for _, w := range made.Warnings {
		a.line("warning: %s", data(w))
	}
	if p := made.Preview; p != nil {
		a.line("A dry run: nothing was started. The market has %d trials and would have %d, and %d looks. To claim an edge, the next look "+
			"needs p <= %.3g.", p.Trials, p.TrialsAfter, p.Looks, p.NeededP)
		if p.Seconds != nil {
			a.line("It would take about %.0f minutes.", *p.Seconds/60)
		}
		return nil
	}
	a.line("%d researches, seed %d.", len(made.Operations), made.Seed)
	a.handle(made.Run)
	return nil
}

type trainRequest struct {
	Strategy   string   `json:"strategy,omitempty" jsonschema:"YAML or name: trains it"`
	Model      string   `json:"model,omitempty" jsonschema:"id of a training: backtests its model"`
	Symbols    []string `json:"symbols,omitempty"`
	Timeframes []string `json:"timeframes,omitempty"`
	Seed       *uint64  `json:"seed,omitempty"`
	Open       bool     `json:"open_holdout,omitempty" jsonschema:"refused unless a person allowed it; counted as a look"`
	Key        string   `json:"key,omitempty"`
}

func (s *Server) train(ctx context.Context, in trainRequest, a *answer) error {
	switch {
	case (in.Strategy == "") == (in.Model == ""):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "give a strategy to train, or a model to backtest")
	case in.Model != "":
		r := jobs.BacktestRequest{Model: in.Model, Symbols: in.Symbols, OpenHoldout: in.Open}
		return s.started(ctx, a, func(key string) (api.Started, error) { return s.Lab.StartBacktest(ctx, r, key) }, in.Key)
	}
	r := jobs.TrainingRequest{Symbols: in.Symbols, Timeframes: in.Timeframes, Seed: in.Seed, OpenHoldout: in.Open}
	if strings.Contains(in.Strategy, "\n") {
		r.StrategyYAML = in.Strategy
	} else {
		r.StrategyName = in.Strategy
	}
	return s.started(ctx, a, func(key string) (api.Started, error) { return s.Lab.StartTraining(ctx, r, key) }, in.Key)
}

type controlRequest struct {
	Handle string `json:"handle"`
	Action string `json:"action" jsonschema:"cancel or resume"`
	Reason string `json:"reason,omitempty"`
}

func (s *Server) control(ctx context.Context, in controlRequest, a *answer) error {
	id := ktrdr.OperationID(in.Handle)
	switch {
	case in.Action == "cancel" && isRun(in.Handle):
		r, err := ask(ctx, s, api.CancelRun, api.CancelRunRequest{ByKey: api.ByKey{ID: in.Handle}, Reason: in.Reason})
		a.line("%s is %s", r.ID, r.State)
		return err
	case in.Action == "cancel":
		r, err := ask(ctx, s, api.Cancel, api.CancelRequest{ByID: api.ByID{ID: id}, Reason: in.Reason})
		a.line("%s is %s; its cancel was requested", r.Operation, r.Status)
		return err
	case in.Action == "resume" && isRun(in.Handle):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a run cannot be resumed: resume the researches that failed, which results lists")
	case in.Action == "resume":
		r, err := ask(ctx, s, api.Resume, api.ResumeRequest{ByID: api.ByID{ID: id}})
		if err != nil {
			return err
		}
		a.line("%s is %s", r.Operation, r.Status)
		a.handle(string(r.Operation))
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeInvalid, "action must be cancel or resume, not %.40q", in.Action)
}

func isRun(handle string) bool { return strings.HasPrefix(handle, "run") }
