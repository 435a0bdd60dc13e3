package engine

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
)

// This file is runs and the ledger, as users and the keeper of runs see them.

// FindRun returns one run; CodeNotFound.
func (e *Engine) FindRun(ctx context.Context, id string) (ktrdr.Run, error) {
	return e.store.Run(ctx, id)
}

// Runs returns a page of runs, newest first.
func (e *Engine) Runs(ctx context.Context, q ktrdr.RunQuery) (ktrdr.RunPage, error) {
	return e.store.Runs(ctx, q)
}

// OpenRuns returns the runs that have not ended.
func (e *Engine) OpenRuns(ctx context.Context) ([]ktrdr.OpenRun, error) { return e.store.OpenRuns(ctx) }

// CancelRun marks a run: nothing of it starts afterwards. Its open operations
// are cancelled in batches by the backend that keeps runs.
func (e *Engine) CancelRun(ctx context.Context, id, by, reason string) (ktrdr.Run, error) {
	return e.store.CancelRun(ctx, id, by, ktrdr.CleanText(reason))
}

// CancelBatch cancels some of what is open of a cancelled run.
func (e *Engine) CancelBatch(ctx context.Context, id string) (bool, error) {
	return e.store.CancelBatch(ctx, id)
}

// SettleRun ends the creation of a run that was broken off.
func (e *Engine) SettleRun(ctx context.Context, id string) error { return e.store.SettleRun(ctx, id) }

// Finalist returns the best finalist of a generation.
func (e *Engine) Finalist(ctx context.Context, run string, generation int) (*ktrdr.Operation, error) {
	return e.store.Finalist(ctx, run, generation)
}

// CloseGeneration closes a generation and creates the confirmation of its
// finalist.
func (e *Engine) CloseGeneration(ctx context.Context, run string, generation int, confirm *ktrdr.NewOperation) (bool, error) {
	return e.store.CloseGeneration(ctx, run, generation, confirm)
}

// TrialPoints lists what a figure of all trials needs.
func (e *Engine) TrialPoints(ctx context.Context, q ktrdr.TrialQuery) ([]ktrdr.TrialPoint, error) {
	return e.store.TrialPoints(ctx, q)
}

// TallyGenerations tells how the last generations of a run ended.
func (e *Engine) TallyGenerations(ctx context.Context, run string) ([]ktrdr.GenerationTally, error) {
	return e.store.TallyGenerations(ctx, run)
}

// GiveUpRun marks a run that starts no more generations.
func (e *Engine) GiveUpRun(ctx context.Context, id, why string) (bool, error) {
	return e.store.GiveUpRun(ctx, id, why)
}

// EndRun ends a run of which nothing is open.
func (e *Engine) EndRun(ctx context.Context, id string) (bool, error) { return e.store.EndRun(ctx, id) }

// RunToTell leases a run whose end was not told to the webhook.
func (e *Engine) RunToTell(ctx context.Context, lease time.Duration) (*ktrdr.Run, error) {
	return e.store.RunToTell(ctx, lease)
}

// RunTold records that the end of a run was told.
func (e *Engine) RunTold(ctx context.Context, id string) error { return e.store.RunTold(ctx, id) }

// Markets lists the markets.
func (e *Engine) Markets(ctx context.Context) ([]ktrdr.Market, error) { return e.store.Markets(ctx) }

// Market returns one market.
func (e *Engine) Market(ctx context.Context, id string) (ktrdr.Market, error) {
	return e.store.Market(ctx, id)
}

// SeriesOf returns how a series was assigned to a market.
func (e *Engine) SeriesOf(ctx context.Context, symbol, timeframe string, hash ktrdr.Hash) (ktrdr.MarketSeries, error) {
	return e.store.SeriesOf(ctx, symbol, timeframe, hash)
}

// Series lists every series that was assigned to a market.
func (e *Engine) Series(ctx context.Context) ([]ktrdr.MarketSeries, error) {
	return e.store.Series(ctx)
}

// AddSeries assigns a series to a market.
func (e *Engine) AddSeries(ctx context.Context, s ktrdr.NewSeries) (ktrdr.MarketSeries, error) {
	return e.store.AddSeries(ctx, s)
}

// FixHoldout sets where the holdout of a market begins, once.
func (e *Engine) FixHoldout(ctx context.Context, market string, from time.Time) (time.Time, error) {
	return e.store.FixHoldout(ctx, market, from)
}

// Trials returns trials with what the ledger knows of their markets now.
func (e *Engine) Trials(ctx context.Context, q ktrdr.TrialQuery) (ktrdr.TrialPage, error) {
	return e.store.Trials(ctx, q)
}

// Tally sums up the ledger.
func (e *Engine) Tally(ctx context.Context, q ktrdr.TallyQuery) (ktrdr.Tally, error) {
	return e.store.Tally(ctx, q)
}

// EndedSince counts the operations that ended at an instant or later.
func (e *Engine) EndedSince(ctx context.Context, at time.Time) ([]ktrdr.EndedCount, error) {
	return e.store.EndedSince(ctx, at)
}

// Failures returns operations that failed, newest first.
func (e *Engine) Failures(ctx context.Context, q ktrdr.FailureQuery) ([]ktrdr.FailedOperation, error) {
	return e.store.Failures(ctx, q)
}

// MachineSince counts what happened to processes at an instant or later.
func (e *Engine) MachineSince(ctx context.Context, at time.Time) (ktrdr.MachineCounts, error) {
	return e.store.MachineSince(ctx, at)
}

// Looks returns a page of looks, newest first.
func (e *Engine) Looks(ctx context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error) {
	return e.store.Looks(ctx, q)
}

// LookOf returns the look of an operation.
func (e *Engine) LookOf(ctx context.Context, op ktrdr.OperationID) (ktrdr.Look, error) {
	return e.store.LookOf(ctx, op)
}

// ReserveLook reserves a look that no operation makes.
func (e *Engine) ReserveLook(ctx context.Context, l ktrdr.NewLook) (ktrdr.Look, error) {
	return e.store.ReserveLook(ctx, l)
}
