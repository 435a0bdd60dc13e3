package indicator

// Description is a definition as the API and the command line list it.
type Description struct {
	Name    string              `json:"name"`
	Aliases []string            `json:"aliases,omitempty"`
	Doc     string              `json:"definition"`
	Follows string              `json:"follows"`
	Params  []ParamDescription  `json:"parameters"`
	Outputs []OutputDescription `json:"outputs"`
}

// ParamDescription is a parameter in a Description.
type ParamDescription struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Default any      `json:"default"` // a number, a boolean or, for a choice, text
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Doc     string   `json:"description,omitempty"`
}

// OutputDescription is an output in a Description.
type OutputDescription struct {
	Name   string `json:"name"`
	Unit   Unit   `json:"unit"`
	WarmUp int    `json:"warm_up"` // with the default parameters: bars before the first value
}

// Describe tells what there is to know about an indicator.
func Describe(d Definition) Description {
	out := Description{
		Name: d.Name, Aliases: d.Aliases, Doc: d.Doc, Follows: d.Follows,
		Params: make([]ParamDescription, len(d.Params)), Outputs: make([]OutputDescription, len(d.Outputs)),
	}
	for i, p := range d.Params {
		out.Params[i] = p.describe()
	}
	warm := d.Make(d.defaults()).WarmUp()
	for i, name := range d.Outputs {
		out.Outputs[i] = OutputDescription{Name: name, Unit: d.Units[i], WarmUp: warm[i]}
	}
	return out
}

func (p Param) describe() ParamDescription {
	out := ParamDescription{Name: p.Name, Kind: p.Kind.String(), Choices: p.Choices, Doc: p.Doc}
	switch p.Kind {
	case Bool:
		out.Default = p.Default != 0
	case Choice:
		out.Default = p.Choices[int(p.Default)]
	default:
		out.Default, out.Min, out.Max = p.Default, &p.Min, &p.Max
	}
	return out
}
