package llm

// Format is a wire format: how requests and answers look on the way to a server.
type Format struct {
	Name string // also of the provider that uses it at its maker's server
	New  func(ClientConfig) (Provider, error)
}

// Formats are all wire formats. A new one is a file with its constructor, and a
// line here. The last one is that of every provider whose name is no format's:
// most servers speak it.
var Formats = []Format{
	{"anthropic", NewAnthropic},
	{"openai", NewOpenAI},
}

// FormatOf returns the wire format of a provider; own says that the provider is
// the format's maker, which needs no address.
func FormatOf(provider string) (f Format, own bool) {
	for _, f = range Formats {
		if f.Name == provider {
			return f, true
		}
	}
	return f, false
}
