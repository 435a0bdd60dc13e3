package httpapi

import (
	"net/http"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
)

// The routes of trainings, backtests and imports, and of what they are made
// from.
func labRoutes() []row {
	const start = "Train a strategy's network: a durable operation whose result is a model and its figures"
	return []row{
		on(post("/api/v1/training/start", start).makes(http.StatusAccepted), (*Server).startTraining),
		on(post("/api/v1/trainings/start", start+" (the same as /training/start)").makes(http.StatusAccepted), (*Server).startTraining),
		on(post("/api/v1/backtests/start", "Trade a model's decisions on past bars: none that it was trained on, and none of the holdout, "+
			"unless asked otherwise").makes(http.StatusAccepted), (*Server).startBacktest),
		on(post("/api/v1/predictions", "Ask a model about the newest bars before the holdout; with open_holdout about those of the holdout "+
			"too, which is a look"), (*Server).predict),
		on(post("/api/v1/data/load", "Import a price file into the library").makes(http.StatusAccepted), (*Server).startDataLoad),
		on(get("/api/v1/models", "Trained models, newest first", paramLimit, paramCursor), (*Server).models),
		on(get("/api/v1/strategies", "Strategies that can be named"), (*Server).strategies),
		on(get("/api/v1/indicators", "Indicators that strategies may use"), (*Server).indicators),
		on(get("/api/v1/data", "Series of bars in the library, with their markets"), (*Server).series),
		on(post("/api/v1/data/market", "Say to which market a series of the library belongs"), (*Server).decideMarket),
	}
}

func (s *Server) startTraining(c *call, in jobs.TrainingRequest) (Started, error) {
	order, err := s.desk.Training(c.Context(), in)
	return s.place(c, order, err)
}

func (s *Server) startBacktest(c *call, in jobs.BacktestRequest) (Started, error) {
	order, err := s.desk.Backtest(c.Context(), in)
	return s.place(c, order, err)
}

func (s *Server) predict(c *call, in jobs.PredictionRequest) (jobs.Prediction, error) {
	return s.desk.Predict(c.Context(), in)
}

func (s *Server) startDataLoad(c *call, in jobs.DataLoadRequest) (Started, error) {
	order, err := s.desk.DataLoad(c.Context(), in)
	return s.place(c, order, err)
}

// place submits what the desk made of a request.
func (s *Server) place(c *call, o jobs.Accepted, err error) (Started, error) {
	if err != nil {
		return Started{}, err
	}
	started, err := s.start(c, o.Operation)
	started.Warnings = o.Warnings
	return started, err
}

// modelsPage is the length of a page for which none was asked.
const modelsPage = 100

func (s *Server) models(c *call, _ none) ([]jobs.TrainedModel, error) {
	limit := c.query.count("limit", maxPage)
	if c.query.err != nil {
		return nil, c.query.err
	}
	if limit == 0 {
		limit = modelsPage
	}
	models, next, err := s.desk.Models(c.Context(), limit, c.query.Get("cursor"))
	c.next = next
	return listed(models), err
}

func (s *Server) strategies(c *call, _ none) ([]jobs.Strategy, error) {
	list, err := s.desk.Strategies(c.Context())
	return listed(list), err
}

func (s *Server) indicators(*call, none) ([]indicator.Description, error) {
	return s.desk.Indicators(), nil
}

func (s *Server) series(c *call, _ none) ([]jobs.LibrarySeries, error) {
	list, err := s.desk.Series(c.Context())
	return listed(list), err
}

func (s *Server) decideMarket(c *call, in jobs.MarketRequest) (jobs.LibrarySeries, error) {
	return s.desk.DecideMarket(c.Context(), in)
}
