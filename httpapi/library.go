package httpapi

import (
	"context"
	"net/http"

	"github.com/ktrdr/ktrdr/jobs"
)

// LibraryDesk changes what the lab holds: bars and strategies.
type LibraryDesk interface {
	// DeleteSeries deletes a series and those that it replaced; CodeNotFound.
	DeleteSeries(ctx context.Context, symbol, timeframe string) (jobs.DeletedSeries, error)
	// RenameSeries gives all series of a symbol another symbol; CodeNotFound, and
	// CodeConflict where that has one of them.
	RenameSeries(ctx context.Context, r jobs.RenameRequest) ([]jobs.LibrarySeries, error)
	// AddStrategy gives the lab a strategy; CodeConflict.
	AddStrategy(ctx context.Context, r jobs.StrategyRequest) (jobs.Strategy, error)
	// DeleteStrategy deletes a strategy of the lab; CodeNotFound.
	DeleteStrategy(ctx context.Context, name string) error
}

// The routes that change the library.
func libraryRoutes() []row {
	return []row{
		on(del("/api/v1/data/{symbol}/{timeframe}", "Delete a series and those that it replaced; its market keeps its trials and looks"),
			(*Server).deleteSeries),
		on(post("/api/v1/data/rename", "Give all series of a symbol another symbol; they stay in their markets"), (*Server).renameSeries),
		on(post("/api/v1/strategies", "Give the lab a strategy, for every backend").answers(http.StatusCreated), (*Server).addStrategy),
		on(del("/api/v1/strategies/{name}", "Delete a strategy of the lab"), (*Server).deleteStrategy),
	}
}

func (s *Server) deleteSeries(c *call, _ none) (jobs.DeletedSeries, error) {
	gone, err := s.desk.DeleteSeries(c.Context(), c.PathValue("symbol"), c.PathValue("timeframe"))
	if err == nil {
		s.log.InfoContext(c.Context(), "series deleted", "symbol", gone.Symbol, "timeframe", gone.Timeframe, "by", c.token.ID)
	}
	return gone, err
}

func (s *Server) renameSeries(c *call, in jobs.RenameRequest) ([]jobs.LibrarySeries, error) {
	list, err := s.desk.RenameSeries(c.Context(), in)
	if err == nil {
		s.log.InfoContext(c.Context(), "series renamed", "symbol", in.Symbol, "new_symbol", in.NewSymbol, "by", c.token.ID)
	}
	return listed(list), err
}

func (s *Server) addStrategy(c *call, in jobs.StrategyRequest) (jobs.Strategy, error) {
	return s.desk.AddStrategy(c.Context(), in)
}

func (s *Server) deleteStrategy(c *call, _ none) (none, error) {
	return none{}, s.desk.DeleteStrategy(c.Context(), c.PathValue("name"))
}
