package httpapi

import (
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/research"
)

func (s *Server) startCalibration(c *call, in research.CalibrationRequest) (api.Started, error) {
	made, err := s.research.Calibrate(c.Context(), in)
	if err != nil {
		return api.Started{}, err
	}
	started, err := s.submit(c, made.Operation)
	started.Warnings = made.Warnings
	return started, err
}

// quote puts the sentence about calibrations beside a claim.
func (s *Server) quote(c *call, r *api.Results) (err error) {
	for _, l := range r.Looks {
		if l.Claim {
			r.Calibration, err = s.research.CalibrationQuote(c.Context(), r.Trial, l.Markets)
		}
	}
	return err
}
