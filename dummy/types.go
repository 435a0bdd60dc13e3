package dummy

import "github.com/ktrdr/ktrdr"

// Types defines the dummy operation.
func Types() ktrdr.Types {
	return ktrdr.Types{ktrdr.Dummy: {
		Spec: ktrdr.SpecOf[Spec], Plan: plan{}, Fingerprint: fingerprint, Restart: ktrdr.RestartInChild,
		Route: "POST /api/v1/dummy/start", Verb: "dummy",
	}}
}
