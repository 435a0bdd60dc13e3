package httpapi

import (
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/strategy"
)

// table binds every route of package api to what answers it.
func table() []row {
	return append(slices.Concat(workRows(), blobRows(), threadRows()),
		on(api.ListOperations, (*Server).listOperations),
		byID(api.GetOperation, toEngine, Engine.Operation),
		on(api.Children, (*Server).children),
		on(api.Metrics, (*Server).operationMetrics),
		on(api.GetResults, (*Server).results),
		on(api.GetInputs, (*Server).inputs),
		on(api.Cancel, (*Server).cancel),
		on(api.Resume, (*Server).resume),
		on(api.Retry, (*Server).retry),
		raw(api.File, (*Server).file),
		raw(api.ClaimBundle, (*Server).claimBundle),
		on(api.Pin, (*Server).pin),
		on(api.Unpin, (*Server).unpin),
		raw(api.OperationEvents, (*Server).operationEvents),
		raw(api.Events, (*Server).allEvents),
		on(api.StartDummy, (*Server).startDummy),
		on(api.SetPaused, (*Server).setPaused),
		on(api.Paused, (*Server).paused),

		on(api.StartTraining, start(Desk.Training)),
		on(api.StartTrainings, start(Desk.Training)),
		on(api.StartBacktest, start(Desk.Backtest)),
		on(api.StartDataLoad, start(Desk.DataLoad)),
		on(api.StartDataFetch, outside(start(Desk.DataFetch))),
		forward(api.Predict, toDesk, Desk.Predict),
		on(api.Models, (*Server).models),
		ask(api.Strategies, toDesk, Desk.Strategies),
		forward(api.AddStrategy, toDesk, Desk.AddStrategy),
		on(api.ValidateStrategy, func(s *Server, _ *call, in api.ValidateRequest) (strategy.Validation, error) {
			return s.desk.ValidateStrategy(in.Strategy), nil
		}),
		on(api.DeleteStrategy, func(s *Server, c *call, in api.ByName) (api.None, error) {
			return api.None{}, s.desk.DeleteStrategy(c.Context(), in.Name)
		}),
		on(api.Indicators, func(s *Server, _ *call, _ api.None) ([]indicator.Description, error) { return s.desk.Indicators(), nil }),
		ask(api.Series, toDesk, Desk.Series),
		on(api.SeriesBars, (*Server).seriesBars),
		forward(api.DecideMarket, toDesk, Desk.DecideMarket),
		on(api.AcceptFindings, func(s *Server, c *call, in jobs.AcceptRequest) (jobs.LibrarySeries, error) {
			return s.desk.AcceptFindings(c.Context(), in, "token "+c.token.Name)
		}),
		on(api.CheckSeries, func(s *Server, c *call, in api.SeriesRequest) (jobs.SeriesCheck, error) {
			return s.desk.CheckSeries(c.Context(), in.Symbol, in.Timeframe)
		}),
		on(api.DeleteSeries, (*Server).deleteSeries),
		on(api.RenameSeries, (*Server).renameSeries),

		on(api.Trigger, (*Server).trigger),
		on(api.StartCalibration, (*Server).startCalibration),
		on(api.Calibrations, func(s *Server, c *call, in api.CalibrationsRequest) ([]research.CalibrationRow, error) {
			return s.research.Calibrations(c.Context(), in.Market)
		}),
		on(api.ResearchStatus, (*Server).researchStatus),
		on(api.CancelResearch, (*Server).cancelResearch),
		ask(api.Budget, toResearch, Research.Budget),
		on(api.LanguageModels, func(s *Server, _ *call, _ api.None) ([]llm.ModelHealth, error) { return s.resilience.Models(), nil }),
		ask(api.Designs, toResearch, Research.WaitingDesigns),
		forward(api.SubmitDesign, toResearch, Research.SubmitDesign),
		on(api.Memory, (*Server).memory),
		byID(api.Experiment, toResearch, Research.Experiment),
		byID(api.Conversation, toResearch, Research.Conversation),
		on(api.Leaderboard, (*Server).leaderboard),
		on(api.Report, (*Server).report),
		on(api.Search, (*Server).search),
		on(api.Panel, (*Server).panel),
		on(api.Compare, (*Server).compare),
		on(api.Runs, (*Server).runs),
		on(api.Run, (*Server).run),
		on(api.CancelRun, (*Server).cancelRun),
		on(api.TestRun, func(s *Server, c *call, in research.RunTestRequest) (api.Started, error) {
			op, err := s.research.TestRun(c.Context(), in)
			return api.Started{Operation: op.ID, Status: op.Status, RetryOf: op.RetryOf}, err
		}),
		raw(api.RunEvents, (*Server).runEvents),
		on(api.Looks, (*Server).looks),
		ask(api.LivingClaims, toResearch, Research.Claims),

		on(api.ListCheckpoints, (*Server).listCheckpoints),
		ask(api.CheckpointStats, toEngine, Engine.CheckpointStats),
		on(api.Cleanup, (*Server).cleanup),
		on(api.GetCheckpoint, func(s *Server, c *call, in api.CheckpointRequest) (ktrdr.Checkpoint, error) {
			return s.engine.CheckpointAt(c.Context(), in.ID, in.Checkpoint)
		}),
		byID(api.CheckpointHistory, toEngine, Engine.History),
		on(api.DeleteCheckpoints, func(s *Server, c *call, in api.ByID) (api.DeletedCheckpoints, error) {
			n, err := s.engine.DeleteCheckpoints(c.Context(), in.ID)
			return api.DeletedCheckpoints{Operation: in.ID, Deleted: n}, err
		}),

		on(api.Breakers, func(s *Server, _ *call, _ api.None) ([]resilience.Status, error) { return s.resilience.Breakers(), nil }),
		on(api.Settings, func(s *Server, _ *call, _ api.None) ([]ktrdr.EffectiveSetting, error) { return s.settings, nil }),
		on(api.BreakerHistory, func(s *Server, c *call, in api.HistoryRequest) ([]ktrdr.BreakerChange, error) {
			return s.resilience.BreakerHistory(c.Context(), in.Name, in.Limit)
		}),
		on(api.ResetBreaker, (*Server).resetBreaker),
		on(api.ForceBreaker, func(s *Server, c *call, in api.BreakerRequest) (resilience.Decided, error) {
			return s.resilience.ForceBreaker(c.Context(), in.Name, in.HumanDecision)
		}),
		on(api.Degradation, func(s *Server, _ *call, _ api.None) (resilience.DegradationStatus, error) {
			return s.resilience.Degradation(), nil
		}),

		on(api.CreateToken, (*Server).createToken),
		on(api.CreateLink, (*Server).createLink),
		ask(api.Tokens, toEngine, Engine.Tokens),
		on(api.RevokeToken, (*Server).revokeToken),
		on(api.Health, (*Server).health),
		raw(api.ServerMetrics, (*Server).prometheus),
		raw(api.RootMetrics, (*Server).prometheus),
		raw(api.OpenAPI, (*Server).openapi),
	)
}

// workRows are the rows of workers.
func workRows() []row {
	register := &jsonRow[ktrdr.Registration, ktrdr.Registered]{inputOf[ktrdr.Registration](api.RegisterWorker.Spec), (*Server).register}
	register.precheck = speaksProtocol
	return []row{
		register,
		on(api.Workers, (*Server).listWorkers),
		forward(api.Heartbeat, toEngine, Engine.Heartbeat),
		on(api.Claim, (*Server).claim),
		tell(api.Progress, toEngine, Engine.Progress),
		forward(api.Checkpoint, toEngine, Engine.Checkpoint),
		forward(api.SkipCheckpoint, toEngine, Engine.SkipCheckpoint),
		on(api.Finish, (*Server).finish),
		tell(api.Release, toEngine, Engine.Release),
		on(api.Unregister, (*Server).unregister),
	}
}

func blobRows() []row {
	return []row{
		raw(api.StatBlob, (*Server).statBlob),
		raw(api.GetBlob, (*Server).getBlob),
		raw(api.PutBlob, (*Server).putBlob),
	}
}
