package backend

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// Models says which language models may be asked, where, and for how much. Keys
// are no settings: they come from the environment alone, as ANTHROPIC_API_KEY,
// and never leave the backend.
type Models struct {
	Chain     []string          // provider/model, in the order in which they are asked
	Default   string            // for researches that name none
	Providers map[string]string // addresses by name
	Prices    llm.Prices        // beside those that the program knows

	Daily    ktrdr.MicroUSD // may be spent on a day
	Research ktrdr.MicroUSD // may be spent on a research
	Wait     bool           // rather wait than go without
	Timeout  time.Duration  // of one call

	Retry      resilience.RetryPolicy
	NoBreakers bool
	Breaker    resilience.BreakerConfig
}

// ownProviders are the providers that need no address.
func ownProviders() []string {
	return text.Map(llm.Formats, func(f llm.Format) string { return f.Name })
}

func keyNames() string { return text.Join(text.Map(append(ownProviders(), "name"), keyName)) }

func (c *Config) modelSettings() []Setting {
	return []Setting{
		setting("models", "KTRDR_MODELS", "", "PROVIDER/MODEL,…", "",
			"language models in order of preference (default: none; keys: "+keyNames()+")", c.setModels),
		setting("model", "KTRDR_MODEL", "", "NAME", research.Builtin, "model of researches that name none", setText(&c.Models.Default)),
		setting("providers", "KTRDR_PROVIDERS", "", "NAME=URL,…", "",
			"OpenAI-compatible servers, or other addresses of "+text.List(ownProviders(), "and"), c.setProviders),
		setting("model_prices", "KTRDR_MODEL_PRICES", "", "PROVIDER/MODEL=IN/OUT,…", "",
			"US dollars per million input and output tokens; 0/0 for your own server", c.setPrices),
		setting("budget_daily_usd", "KTRDR_BUDGET_DAILY_USD", "", "USD", "5",
			"budget for models per day (UTC)", setMoney(&c.Models.Daily)),
		setting("budget_research_usd", "KTRDR_BUDGET_RESEARCH_USD", "", "USD", "1",
			"budget for models per research", setMoney(&c.Models.Research)),
		setting("model_wait", "KTRDR_MODEL_WAIT", "", "bool", "false",
			"wait for a rate-limited model instead of falling back to the built-in designer", setBool(&c.Models.Wait, true)),
		setting("model_timeout_seconds", "KTRDR_MODEL_TIMEOUT_SECONDS", "", "SECONDS", "120",
			"timeout of one call to a model", setSeconds(&c.Models.Timeout)),
		setting("retry.max_retries", "KTRDR_RETRY_MAX_RETRIES", "", "N", "4", "retries of one call to a model", c.setRetries),
		setting("retry.first_delay_seconds", "KTRDR_RETRY_FIRST_DELAY_SECONDS", "", "SECONDS", "2",
			"delay before the first retry, doubled each time", setSeconds(&c.Models.Retry.First)),
		setting("retry.max_delay_seconds", "KTRDR_RETRY_MAX_DELAY_SECONDS", "", "SECONDS", "60",
			"longest delay before a retry", setSeconds(&c.Models.Retry.Most)),
		setting("circuit_breaker.enabled", "CIRCUIT_BREAKER_ENABLED", "", "bool", "true",
			"circuit breakers on", setBool(&c.Models.NoBreakers, false)),
		setting("circuit_breaker.failure_threshold", "CIRCUIT_BREAKER_FAILURE_THRESHOLD", "", "N", "5",
			"consecutive failures that open a breaker", setCount(&c.Models.Breaker.FailureThreshold, 1, 1000)),
		setting("circuit_breaker.recovery_timeout_seconds", "CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECONDS", "", "SECONDS", "60",
			"time before an open breaker lets a probe through", setSeconds(&c.Models.Breaker.Recovery)),
		setting("circuit_breaker.half_open_max_calls", "CIRCUIT_BREAKER_HALF_OPEN_MAX_CALLS", "", "N", "3",
			"probes, one at a time, that must succeed to close a breaker", setCount(&c.Models.Breaker.Probes, 1, 1000)),
		setting("circuit_breaker.slow_call_seconds", "CIRCUIT_BREAKER_SLOW_CALL_SECONDS", "", "SECONDS", "60",
			"duration from which a call is slow; 80 % slow calls open a breaker", setSeconds(&c.Models.Breaker.SlowCall)),
		setting("circuit_breaker.require_human_reset", "CIRCUIT_BREAKER_REQUIRE_HUMAN_RESET", "", "bool", "false",
			"only a person closes an open breaker", setBool(&c.Models.Breaker.RequireHuman, true)),
	}
}

// setRetries says zero retries in the policy's words, where 0 means the default.
func (c *Config) setRetries(text string) error {
	err := setCount(&c.Models.Retry.Retries, 0, 1000)(text)
	if c.Models.Retry.Retries == 0 {
		c.Models.Retry.Retries = -1
	}
	return err
}

// patience is how long one question may take in all: some models may hang, and
// others are to have their turn.
func (m Models) patience() time.Duration { return 3 * m.Timeout }

// cluster is the host that a provider shares with others, such as a gateway. Its
// breaker opens for all of them together. A provider that shares its host with no
// other has no cluster: its own breaker is enough.
func (m Models) cluster(provider string) string {
	host := hostOf(m.Providers[provider])
	for other, at := range m.Providers {
		if other != provider && host != "" && hostOf(at) == host {
			return host
		}
	}
	return ""
}

func hostOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return "" // Settings hold addresses that were parsed
	}
	return u.Host
}

func (c *Config) setModels(text string) error {
	for _, name := range list(text) {
		provider, model, ok := strings.Cut(name, "/")
		if !ok || provider == "" || model == "" {
			return fmt.Errorf("%.60q is no PROVIDER/MODEL, such as anthropic/claude-sonnet-5", name)
		}
		if !legible(name) {
			return fmt.Errorf("%.60q is no name of a model: it has at most %d bytes, all of them text", name, longestName)
		}
		if slices.Contains(c.Models.Chain, name) {
			return fmt.Errorf("%.60q is named twice", name)
		}
		c.Models.Chain = append(c.Models.Chain, name)
	}
	return nil
}

// longestName is what the journal of calls keeps of a model's name.
const longestName = 255

// legible says whether a name can be journaled, and read by people for what it
// is.
func legible(name string) bool {
	return len(name) <= longestName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) })
}

func (c *Config) setProviders(text string) error {
	c.Models.Providers = map[string]string{}
	for _, item := range list(text) {
		name, at, ok := strings.Cut(item, "=")
		if !ok || name == "" || strings.ContainsAny(name, "/ ") || !legible(name) {
			return errNoProvider
		}
		if _, twice := c.Models.Providers[name]; twice {
			return fmt.Errorf("%.60q is named twice", name)
		}
		if err := checkAddress(name, at); err != nil {
			return err
		}
		c.Models.Providers[name] = at
	}
	return nil
}

var errNoProvider = errors.New("must be NAME=URL, such as local=http://127.0.0.1:11434/v1")

// checkAddress says what is wrong with the address of a provider, and shows
// nothing of it: it may hold a key.
func checkAddress(name, at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errNoProvider
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("the address of %s holds more than an address: keys come from %s", name, keyName(name))
	}
	if _, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16); err != nil || u.Port() == "0" {
		return fmt.Errorf("the address of %s has port %.20s: ports are 1 to 65535", name, u.Port())
	}
	return nil
}

// keyName is the environment variable with a provider's key.
func keyName(provider string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, provider)) + "_API_KEY"
}

// keys are those of all providers that have one.
func (m Models) keys(getenv func(string) string) llm.Keys {
	all := append(slices.Sorted(maps.Keys(m.Providers)), ownProviders()...)
	return llm.NewKeys(text.Map(all, func(provider string) ktrdr.Secret { return ktrdr.Secret(getenv(keyName(provider))) })...)
}

func (c *Config) setPrices(text string) error {
	c.Models.Prices = llm.Prices{}
	for _, item := range list(text) {
		name, price, ok := strings.Cut(item, "=")
		in, out, both := strings.Cut(price, "/")
		input, err1 := strconv.ParseFloat(in, 64)
		output, err2 := strconv.ParseFloat(out, 64)
		p := llm.Price{Input: input, Output: output}
		if err := errors.Join(err1, err2, p.Check()); !ok || !both || err != nil || !strings.Contains(name, "/") {
			return errors.New("must be PROVIDER/MODEL=IN/OUT, such as local/llama=0/0, in US dollars per million tokens")
		}
		if _, twice := c.Models.Prices[name]; twice {
			return fmt.Errorf("the price of %.60q is given twice", name)
		}
		c.Models.Prices[name] = p
	}
	return nil
}

func setMoney(to *ktrdr.MicroUSD) func(string) error {
	return func(text string) error {
		usd, err := strconv.ParseFloat(text, 64)
		if err != nil || !(usd >= 0 && usd <= 1e6) {
			return errors.New("must be an amount of US dollars from 0 to 1000000, such as 2.50")
		}
		*to = ktrdr.MicroUSD(usd*1e6 + 0.5)
		return nil
	}
}

func list(text string) (all []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			all = append(all, item)
		}
	}
	return all
}

func (m Models) validate() []error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, name := range m.Chain {
		provider, _, _ := strings.Cut(name, "/")
		_, known := m.Providers[provider]
		if _, own := llm.FormatOf(provider); !known && !own {
			bad("models names %s, and there is no provider %s: give its address with providers, as %s=URL", name, provider, provider)
		}
	}
	if m.Default != research.Builtin && !slices.Contains(m.Chain, m.Default) {
		bad("model is %s, which is not one of models (%s): name one of them, or %s", m.Default, strings.Join(m.Chain, ", "), research.Builtin)
	}
	return problems
}
