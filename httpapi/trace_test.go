package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

func TestTrace_WhatWouldOnlyHideTheRestHasNoSpan(t *testing.T) {
	for name, c := range map[string]struct {
		spec   api.Spec
		parent string
		none   bool
	}{
		"a user's request":       {spec: api.Trigger.Spec},
		"a stream":               {spec: api.Events.Spec, none: true},
		"health":                 {spec: api.Health.Spec, none: true},
		"a scrape":               {spec: api.RootMetrics.Spec, none: true},
		"the other scrape":       {spec: api.ServerMetrics.Spec, none: true},
		"a poll":                 {spec: api.Claim.Spec, none: true},
		"a request for a worker": {spec: api.Finish.Spec, parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			if c.parent != "" {
				r.Header.Set("traceparent", c.parent)
			}
			if got := untraced(&call{Request: r, spec: &c.spec, token: ktrdr.Token{ID: "t"}}); got != c.none {
				t.Errorf("it has no span: %v, want %v", got, c.none)
			}
		})
	}
}
