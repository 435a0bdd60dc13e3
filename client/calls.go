package client

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// Operation returns one operation.
func (c *Client) Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	return Call(ctx, c, api.GetOperation, api.ByID{ID: id})
}

// List returns a page of operations: rows without spec, state, metadata and
// result, which Operation has.
func (c *Client) List(ctx context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, err error) {
	// A row has the names of an operation.
	rt := api.Route[ktrdr.OperationQuery, []ktrdr.Operation]{Spec: api.ListOperations.Spec}
	page.Operations, page.Next, err = call(ctx, c, rt, q, "")
	return page, err
}

// Rows returns a page of operations as the API lists them, and the cursor of the
// next.
func (c *Client) Rows(ctx context.Context, q ktrdr.OperationQuery) ([]api.OperationRow, string, error) {
	return call(ctx, c, api.ListOperations, q, "")
}

// Results returns the result of an operation and, of a backtest, a page of the
// columns named; the cursor of the next page is empty on the last.
func (c *Client) Results(ctx context.Context, id ktrdr.OperationID, include []string, limit int, cursor string) (out api.Results,
	next string, err error,
) {
	return call(ctx, c, api.GetResults, api.ResultsRequest{
		ByID: api.ByID{ID: id}, Include: include, Page: api.Page{Limit: limit, Cursor: cursor},
	}, "")
}

// Cancel cancels an operation and everything below it. CodeConflict when it has
// ended.
func (c *Client) Cancel(ctx context.Context, id ktrdr.OperationID, reason string) (api.CancelReply, error) {
	return Call(ctx, c, api.Cancel, api.CancelRequest{ByID: api.ByID{ID: id}, Reason: reason})
}

// Resume continues an operation from its newest checkpoint. CodeNoCheckpoint,
// CodeConflict, CodeMismatch.
func (c *Client) Resume(ctx context.Context, id ktrdr.OperationID) (api.ResumeReply, error) {
	return c.ResumeFrom(ctx, id, "")
}

// ResumeFrom continues an operation from one of its checkpoints; newer ones are left
// out. CodeNotFound, and the codes of Resume.
func (c *Client) ResumeFrom(ctx context.Context, id ktrdr.OperationID, checkpoint string) (api.ResumeReply, error) {
	return Call(ctx, c, api.Resume, api.ResumeRequest{ByID: api.ByID{ID: id}, Checkpoint: checkpoint})
}

// Retry makes a new operation with the same spec. The key may be empty.
func (c *Client) Retry(ctx context.Context, id ktrdr.OperationID, key string) (api.Started, error) {
	return create(ctx, c, api.Retry, api.ByID{ID: id}, key)
}

// Pin keeps the files of the research that an operation belongs to.
func (c *Client) Pin(ctx context.Context, id ktrdr.OperationID) (api.PinReply, error) {
	return Call(ctx, c, api.Pin, api.ByID{ID: id})
}

// Unpin lets it be compacted if it claims nothing.
func (c *Client) Unpin(ctx context.Context, id ktrdr.OperationID) (api.PinReply, error) {
	return Call(ctx, c, api.Unpin, api.ByID{ID: id})
}

// StartDummy starts a dummy operation. The key may be empty.
func (c *Client) StartDummy(ctx context.Context, spec dummy.Spec, key string) (api.Started, error) {
	return create(ctx, c, api.StartDummy, spec, key)
}

// SetPaused stops or allows new claims everywhere.
func (c *Client) SetPaused(ctx context.Context, paused bool) error {
	_, err := Call(ctx, c, api.SetPaused, api.PauseRequest{Paused: &paused})
	return err
}

// Paused says whether claims are stopped.
func (c *Client) Paused(ctx context.Context) (bool, error) {
	out, err := Call(ctx, c, api.Paused, api.None{})
	return out.Paused, err
}

// StartCalibration starts a calibration. The key may be empty.
func (c *Client) StartCalibration(ctx context.Context, r research.CalibrationRequest, key string) (api.Started, error) {
	return create(ctx, c, api.StartCalibration, r, key)
}

// TestRun starts the test of a run on permuted copies of its bars.
func (c *Client) TestRun(ctx context.Context, r research.RunTestRequest) (api.Started, error) {
	return Call(ctx, c, api.TestRun, r)
}

// Calibrations lists the calibrations of a market or symbol, newest first; "" means all.
func (c *Client) Calibrations(ctx context.Context, market string) ([]research.CalibrationRow, error) {
	return Call(ctx, c, api.Calibrations, api.CalibrationsRequest{Market: market})
}

// StartTraining starts a training. The key may be empty.
func (c *Client) StartTraining(ctx context.Context, r jobs.TrainingRequest, key string) (api.Started, error) {
	return create(ctx, c, api.StartTraining, r, key)
}

// StartBacktest starts a backtest. The key may be empty.
func (c *Client) StartBacktest(ctx context.Context, r jobs.BacktestRequest, key string) (api.Started, error) {
	return create(ctx, c, api.StartBacktest, r, key)
}

// StartDataFetch starts a fetch of prices. The key may be empty.
func (c *Client) StartDataFetch(ctx context.Context, r jobs.DataFetchRequest, key string) (api.Started, error) {
	return create(ctx, c, api.StartDataFetch, r, key)
}

// StartDataLoad starts an import. The key may be empty.
func (c *Client) StartDataLoad(ctx context.Context, r jobs.DataLoadRequest, key string) (api.Started, error) {
	return create(ctx, c, api.StartDataLoad, r, key)
}

// Predict asks a model about the newest bars of a symbol.
func (c *Client) Predict(ctx context.Context, r jobs.PredictionRequest) (jobs.Prediction, error) {
	return Call(ctx, c, api.Predict, r)
}

// Models returns a page of trained models, newest first, and the cursor of the
// next.
func (c *Client) Models(ctx context.Context, limit int, cursor string) ([]jobs.TrainedModel, string, error) {
	return call(ctx, c, api.Models, api.Page{Limit: limit, Cursor: cursor}, "")
}

// Strategies returns the strategies that can be named.
func (c *Client) Strategies(ctx context.Context) ([]jobs.Strategy, error) {
	return Call(ctx, c, api.Strategies, api.None{})
}

// Trigger starts researches. The key may be empty.
func (c *Client) Trigger(ctx context.Context, r research.Request, key string) (research.Triggered, error) {
	return create(ctx, c, api.Trigger, r, key)
}

// ResearchStatus returns how research stands, with the first of those that wait.
func (c *Client) ResearchStatus(ctx context.Context) (research.Status, error) {
	return Call(ctx, c, api.ResearchStatus, api.StatusRequest{})
}

// CancelResearch cancels one research and its children.
func (c *Client) CancelResearch(ctx context.Context, id ktrdr.OperationID, reason string) (api.CancelReply, error) {
	return Call(ctx, c, api.CancelResearch, api.CancelRequest{ByID: api.ByID{ID: id}, Reason: reason})
}

// Budget returns how much may be spent on models today.
func (c *Client) Budget(ctx context.Context) (research.BudgetStatus, error) {
	return Call(ctx, c, api.Budget, api.None{})
}

// Memory returns a page of what researches left, and the cursor of the next.
func (c *Client) Memory(ctx context.Context, q research.MemoryQuery) (research.MemoryPage, string, error) {
	return call(ctx, c, api.Memory, q, "")
}

// Experiment returns all that is remembered of a research; CodeNotFound.
func (c *Client) Experiment(ctx context.Context, id ktrdr.OperationID) (research.ExperimentRow, error) {
	return Call(ctx, c, api.Experiment, api.ByID{ID: id})
}

// Conversation returns the messages between a research and models.
func (c *Client) Conversation(ctx context.Context, id ktrdr.OperationID) (agent.Conversation, error) {
	return Call(ctx, c, api.Conversation, api.ByID{ID: id})
}

// Compare puts 2 to 5 researches side by side.
func (c *Client) Compare(ctx context.Context, ids ...string) (report.Compared, error) {
	return Call(ctx, c, api.Compare, api.CompareRequest{IDs: ids})
}

// Claims lists claims and what the bars after each have shown.
func (c *Client) Claims(ctx context.Context) (research.ClaimsList, error) {
	return Call(ctx, c, api.LivingClaims, api.None{})
}

// Leaderboard ranks researches.
func (c *Client) Leaderboard(ctx context.Context, q report.LeaderboardQuery) (out report.Leaderboard, err error) {
	out, out.Next, err = call(ctx, c, api.Leaderboard, q, "")
	return out, err
}

// Report tells what happened since an instant (RFC 3339), for a duration, or
// since "last"; an empty since leaves it to the server. With a run, of that run.
func (c *Client) Report(ctx context.Context, since, run string) (report.Report, error) {
	return Call(ctx, c, api.Report, api.FullReportRequest{ReportRequest: api.ReportRequest{Since: since, Run: run}})
}

// Panel judges the daily returns of all trials of a run, of the run of a research, or
// on a market.
func (c *Client) Panel(ctx context.Context, q report.PanelQuery) (report.Panel, error) {
	return Call(ctx, c, api.Panel, q)
}

// Run returns one run; CodeNotFound.
func (c *Client) Run(ctx context.Context, id string) (ktrdr.Run, error) {
	return Call(ctx, c, api.Run, api.ByKey{ID: id})
}

// Runs returns a page of runs, newest first.
func (c *Client) Runs(ctx context.Context, q ktrdr.RunQuery) (page ktrdr.RunPage, err error) {
	page.Runs, page.Next, err = call(ctx, c, api.Runs, q, "")
	return page, err
}

// CancelRun cancels a run: nothing of it starts afterwards. CodeConflict when it
// has ended.
func (c *Client) CancelRun(ctx context.Context, id, reason string) (ktrdr.Run, error) {
	return Call(ctx, c, api.CancelRun, api.CancelRunRequest{ByKey: api.ByKey{ID: id}, Reason: reason})
}

// Looks returns a page of looks at holdouts, newest first.
func (c *Client) Looks(ctx context.Context, q ktrdr.LookQuery) (page ktrdr.LookPage, err error) {
	page.Looks, page.Next, err = call(ctx, c, api.Looks, q, "")
	return page, err
}

// ListCheckpoints returns a page of operations' newest checkpoints.
func (c *Client) ListCheckpoints(ctx context.Context, q ktrdr.CheckpointQuery) (page ktrdr.CheckpointPage, err error) {
	page.Checkpoints, page.Next, err = call(ctx, c, api.ListCheckpoints, q, "")
	return page, err
}

// CheckpointAt returns an operation's checkpoint with its state, or its newest
// when id is "".
func (c *Client) CheckpointAt(ctx context.Context, op ktrdr.OperationID, id string) (ktrdr.Checkpoint, error) {
	return Call(ctx, c, api.GetCheckpoint, api.CheckpointRequest{ByID: api.ByID{ID: op}, Checkpoint: id})
}

// History lists an operation's checkpoints, newest first.
func (c *Client) History(ctx context.Context, op ktrdr.OperationID) ([]ktrdr.CheckpointInfo, error) {
	return Call(ctx, c, api.CheckpointHistory, api.ByID{ID: op})
}

// DeleteCheckpoints deletes the checkpoints of an operation that has ended and
// says how many there were.
func (c *Client) DeleteCheckpoints(ctx context.Context, op ktrdr.OperationID) (int, error) {
	out, err := Call(ctx, c, api.DeleteCheckpoints, api.ByID{ID: op})
	return out.Deleted, err
}

// CheckpointStats counts checkpoints and their bytes.
func (c *Client) CheckpointStats(ctx context.Context) (ktrdr.CheckpointStats, error) {
	return Call(ctx, c, api.CheckpointStats, api.None{})
}

// Cleanup deletes checkpoints older than age and blobs that nothing names. It
// may take minutes.
func (c *Client) Cleanup(ctx context.Context, age time.Duration) (api.CleanupReply, error) {
	return Call(ctx, c, api.Cleanup, api.CleanupRequest{MaxAge: &age})
}

// Breakers returns every breaker.
func (c *Client) Breakers(ctx context.Context) ([]resilience.Status, error) {
	return Call(ctx, c, api.Breakers, api.None{})
}

// BreakerHistory returns changes, newest first; of all breakers for no name.
func (c *Client) BreakerHistory(ctx context.Context, name string, limit int) ([]ktrdr.BreakerChange, error) {
	return Call(ctx, c, api.BreakerHistory, api.HistoryRequest{Name: name, Limit: limit})
}

// ResetBreaker closes a breaker.
func (c *Client) ResetBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error) {
	return Call(ctx, c, api.ResetBreaker, api.BreakerRequest{Name: name, HumanDecision: d})
}

// ForceBreaker holds a breaker in a state, or sets it back to automatic.
func (c *Client) ForceBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error) {
	return Call(ctx, c, api.ForceBreaker, api.BreakerRequest{Name: name, HumanDecision: d})
}

// Degradation returns how much of its service the system gives.
func (c *Client) Degradation(ctx context.Context) (resilience.DegradationStatus, error) {
	return Call(ctx, c, api.Degradation, api.None{})
}

// CreateToken makes a token. The answer holds its secret; no other ever will.
func (c *Client) CreateToken(ctx context.Context, name string, scope ktrdr.Scope) (ktrdr.Secret, ktrdr.Token, error) {
	out, err := Call(ctx, c, api.CreateToken, api.NewTokenRequest{Name: name, Scope: scope})
	return ktrdr.Secret(out.Secret), out.Token, err
}

// Tokens lists the tokens without their secrets.
func (c *Client) Tokens(ctx context.Context) ([]ktrdr.Token, error) {
	return Call(ctx, c, api.Tokens, api.None{})
}

// RevokeToken ends a token; the servers notice within seconds.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return tell(ctx, c, api.RevokeToken, api.ByKey{ID: id})
}

// Health tells how things stand. It works without a token, and also when the
// server says that its store is away.
func (c *Client) Health(ctx context.Context) (h ktrdr.Health, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errTimeout)
	defer cancel()
	res, err := c.send(ctx, requestOf(api.Health, api.None{}))
	if err != nil {
		return h, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return h, c.away(ctx, err)
	}
	if json.Unmarshal(body, &h) != nil || h.Status == "" {
		return h, ktrdr.Errorf(ktrdr.CodeUnavailable, "%s answered %s, but not with a ktrdr server's health; is the address right?",
			c.URL(), res.Status)
	}
	return h, nil
}

// Workers lists the workers.
func (c *Client) Workers(ctx context.Context) ([]ktrdr.Worker, error) {
	return Call(ctx, c, api.Workers, api.WorkersRequest{})
}

// Register introduces a worker. CodeProtocol when the versions do not fit.
func (c *Client) Register(ctx context.Context, r ktrdr.Registration) (ktrdr.Registered, error) {
	return Call(ctx, c, api.RegisterWorker, r)
}

// Heartbeat says what a worker runs. CodeNotFound when the server has forgotten
// the worker.
func (c *Client) Heartbeat(ctx context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error) {
	return Call(ctx, c, api.Heartbeat, h)
}

// Claim waits for an operation or for orders, as long as the request says and a
// little longer for the answer.
func (c *Client) Claim(ctx context.Context, r ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	wait := min(time.Duration(r.Wait*float64(time.Second)), api.MaxPoll)
	ctx, cancel := context.WithTimeoutCause(ctx, max(wait, 0)+c.timeout, errTimeout)
	defer cancel()
	return Call(ctx, c, api.Claim, r)
}

// Progress overwrites an operation's progress.
func (c *Client) Progress(ctx context.Context, p ktrdr.ProgressReport) error {
	return tell(ctx, c, api.Progress, p)
}

// Checkpoint stores a checkpoint whose blobs were uploaded before.
func (c *Client) Checkpoint(ctx context.Context, n ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
	return Call(ctx, c, api.Checkpoint, n)
}

// SkipCheckpoint says that a checkpoint cannot be used and returns the one to
// use instead; nil means none.
func (c *Client) SkipCheckpoint(ctx context.Context, s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error) {
	return Call(ctx, c, api.SkipCheckpoint, s)
}

// Finish ends an operation.
func (c *Client) Finish(ctx context.Context, f ktrdr.Finished) error {
	return tell(ctx, c, api.Finish, f)
}

// Release gives an operation back.
func (c *Client) Release(ctx context.Context, r ktrdr.Released) error {
	return tell(ctx, c, api.Release, r)
}

// Unregister forgets a worker that has stopped for good.
func (c *Client) Unregister(ctx context.Context, id ktrdr.WorkerID) error {
	return tell(ctx, c, api.Unregister, api.ByKey{ID: string(id)})
}
