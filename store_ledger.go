package ktrdr

import (
	"context"
	"time"
)

// Runs is what requests for researches started. A run's row is made by Create,
// with its first research.
type Runs interface {
	// Run returns one by its id, or by a beginning of its id that no other run
	// has; CodeNotFound, or CodeInvalid when several have it.
	Run(ctx context.Context, id string) (Run, error)

	// Runs returns a page, newest first unless another order is asked for.
	Runs(ctx context.Context, q RunQuery) (RunPage, error)

	// OpenRuns returns the runs that have not ended, oldest first.
	OpenRuns(ctx context.Context) ([]OpenRun, error)

	// CancelRun marks a run. No operation of it is claimed, started or created
	// afterwards; CancelBatch ends those that are open. Again it changes
	// nothing. CodeConflict when the run has ended.
	CancelRun(ctx context.Context, id, by, reason string) (Run, error)

	// CancelBatch cancels at most 500 open operations of a cancelled run and
	// says whether more are left; CodeNotFound.
	CancelBatch(ctx context.Context, id string) (more bool, err error)

	// GiveUpRun marks a RUNNING run that starts no more generations, and why.
	// changed is false when it was not RUNNING; CodeNotFound.
	GiveUpRun(ctx context.Context, id, why string) (changed bool, err error)

	// SettleRun lowers the number of planned researches to those that were
	// created: the request was broken off.
	SettleRun(ctx context.Context, id string) error

	// Finalists returns the best finalists of a generation, at most a number of them:
	// the highest score first, then the lowest index.
	Finalists(ctx context.Context, run string, generation, most int) ([]Operation, error)

	// CloseGeneration closes the generation that is the run's next to be
	// closed, once none of its researches is open, and creates the operation
	// that confirms its finalist, if there is one. It stores with the trials of the
	// finalists what their examinations came to. changed is false when it was closed
	// before, is not complete, or the run is not RUNNING; CodeNotFound.
	CloseGeneration(ctx context.Context, run string, generation int, confirm *NewOperation, examined ...Examined) (changed bool, err error)

	// TallyGenerations tells how the last two generations of a run ended.
	TallyGenerations(ctx context.Context, run string) ([]GenerationTally, error)

	// ReserveTest gives the test of a run its number on markets, and returns it: that of the
	// tests before it there, and at least the given one. Again it returns the same; CodeNotFound. The result
	// is stored when the operation completes.
	ReserveTest(ctx context.Context, run string, markets []string, before int) (RunTest, error)

	// EndRun ends a run of which nothing is open and every generation is
	// closed, or that is not RUNNING. The caller knows that no generation
	// follows. changed is false when it may not end yet, or had ended;
	// CodeNotFound.
	EndRun(ctx context.Context, id string) (changed bool, err error)

	// NextUndelivered leases a run that has ended and was not delivered to the
	// webhook; nil if there is no such run. Another call does not get it before the
	// lease is over. MarkDelivered records the delivery.
	NextUndelivered(ctx context.Context, lease time.Duration) (*Run, error)
	MarkDelivered(ctx context.Context, id string) error
}

// Markets is the ledger: which series are one market, what was tried on it and
// who looked at its holdout. Nothing is deleted from it.
type Markets interface {
	// Markets lists them with the newest series of each symbol and timeframe,
	// oldest first.
	Markets(ctx context.Context) ([]Market, error)

	// SeriesOf returns how a series was assigned; CodeNotFound.
	SeriesOf(ctx context.Context, symbol, timeframe string, hash Hash) (MarketSeries, error)

	// Series lists every series that was assigned to a market, oldest first, and of one instant by symbol.
	Series(ctx context.Context) ([]MarketSeries, error)

	// AddSeries assigns a series to a market. Several markets that it is the
	// same as are merged into the oldest: their trials and looks are added. A
	// series that was assigned before keeps its market unless it now bridges.
	// CodeConflict with ErrMoreSeries when there are more series than it has seen.
	AddSeries(ctx context.Context, s NewSeries) (MarketSeries, error)

	// FixHoldout sets where the holdout of a market begins, if that is not set
	// yet, and returns what is set; CodeNotFound.
	FixHoldout(ctx context.Context, market string, from time.Time) (time.Time, error)

	// RenewHoldouts replaces the holdouts of markets by later ones, all or none. One that
	// begins there already stays as it is. CodeConflict when another holdout was set or
	// another look was reserved since; CodeInvalid when a new one breaks a rule: see
	// HoldoutLength; CodeNotFound. Researches keep the holdout that they were given.
	RenewHoldouts(ctx context.Context, renew []NewHoldout) error

	// Market returns one with all its series; CodeNotFound. One that was merged
	// is the market it was merged into.
	Market(ctx context.Context, id string) (Market, error)

	// Links returns links of the chain of a market's ledger in their order, those after
	// a position, at most limit (1..1000; 0 means 1000). Of a market that was merged
	// they are those of its own chain; CodeNotFound.
	Links(ctx context.Context, market string, after, limit int) ([]ChainLink, error)

	// Trials returns trials with what the ledger knows of their market now. By
	// score, what earned on the test part comes first: the best Limit of each
	// market. While there are fewer than Limit, what lost follows.
	Trials(ctx context.Context, q TrialQuery) (TrialPage, error)

	// TrialPoints returns what a figure of all trials needs, in the order in which
	// they were tried. Limit and cursor of the query are not used: it returns the
	// newest MostTrialPoints.
	TrialPoints(ctx context.Context, q TrialQuery) ([]TrialPoint, error)

	// Tally sums up the ledger with one statement.
	Tally(ctx context.Context, q TallyQuery) (Tally, error)

	// Looks returns a page of looks, newest first.
	Looks(ctx context.Context, q LookQuery) (LookPage, error)

	// LookOf returns the look of an operation; CodeNotFound.
	LookOf(ctx context.Context, op OperationID) (Look, error)

	// ReserveLook reserves a look that no operation makes. The same key again
	// returns the first.
	ReserveLook(ctx context.Context, l NewLook) (Look, error)
}
