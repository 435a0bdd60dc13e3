package ktrdr

// EffectiveSetting is a setting of a backend as it is in force, and where it was
// given. A value that may hold a secret is shortened.
type EffectiveSetting struct {
	Key     string `json:"key"`               // in the configuration file
	Env     string `json:"env"`               // environment variable
	Flag    string `json:"flag,omitempty"`    // of `ktrdr serve`
	Value   string `json:"value"`             // empty: what Help says is the default
	From    string `json:"from"`              // a flag, a variable, a line of a file, or default
	Default string `json:"default,omitempty"` // where there is a fixed one
	Help    string `json:"help"`              // what it does
	Changed bool   `json:"changed,omitempty"` // it was given, and is not the default
}
