package httpapi

import (
	"net/http"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/resilience"
)

// health answers 503 when the store cannot be reached or takes no writes, so
// that a balancer sends requests elsewhere. A backend that merely lacks workers,
// or refuses new work because the disk is nearly full, stays in: through it
// running work must be able to end.
func (s *Server) health(c *call, _ api.None) (ktrdr.Health, error) {
	h := s.engine.Health(c.Context())
	if !h.Store.OK {
		c.answer = http.StatusServiceUnavailable
	}
	s.addLevel(&h)
	h.Operations = filled(h.Operations)
	if h.Workers.ByType == nil {
		h.Workers.ByType = map[ktrdr.Type]ktrdr.WorkerSlots{}
	}
	return h, nil
}

// addLevel adds the degradation level. A server that refuses new researches is
// not ok, although its store may be back already: a better level comes later.
func (s *Server) addLevel(h *ktrdr.Health) {
	d := s.resilience.Degradation()
	h.Degradation = ktrdr.HealthLevel{Level: string(d.Level), Shed: []string{}}
	for _, f := range d.Shed {
		h.Degradation.Shed = append(h.Degradation.Shed, string(f))
	}
	if d.Level == resilience.Offline {
		h.Status = "degraded"
		h.Problems = append(h.Problems,
			"the degradation level is OFFLINE and new researches are refused; `ktrdr degradation` shows which service is the cause")
	}
}

func (s *Server) openapi(c *call, _ api.None) error {
	document, err := s.document()
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", api.ContentJSON)
	_, err = c.Write(document)
	return gone(err)
}
