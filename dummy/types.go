package dummy

import (
	"encoding/json"

	"github.com/ktrdr/ktrdr"
)

// Types defines the dummy operation.
func Types() ktrdr.Types {
	return ktrdr.Types{ktrdr.Dummy: {
		Spec: func(text json.RawMessage) error { _, err := parse(text); return err },
		Plan: plan{}, Fingerprint: fingerprint, Restart: ktrdr.RestartInChild,
		Route: "POST /api/v1/dummy/start", Verb: "dummy",
	}}
}
