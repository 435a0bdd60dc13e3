package httpapi

import (
	"cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/resilience"
)

func (s *Server) models(c *call, in api.Page) (models []jobs.TrainedModel, err error) {
	models, c.next, err = s.desk.Models(c.Context(), cmp.Or(in.Limit, smallPage), in.Cursor)
	return models, err
}

func (s *Server) deleteSeries(c *call, in api.SeriesRequest) (jobs.DeletedSeries, error) {
	gone, err := s.desk.DeleteSeries(c.Context(), in.Symbol, in.Timeframe)
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
	return list, err
}

func (s *Server) resetBreaker(c *call, in api.BreakerRequest) (resilience.Decided, error) {
	if in.State != "" {
		return resilience.Decided{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a reset closes the breaker: leave out the state, or use force")
	}
	return s.resilience.ResetBreaker(c.Context(), in.Name, in.HumanDecision)
}
