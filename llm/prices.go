package llm

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/ktrdr/ktrdr"
)

//go:embed prices.yaml
var embeddedPrices []byte

// Price is what tokens of a model cost, in US dollars per million. A model that
// costs nothing has a price of zeros; one whose price is not known has none.
type Price struct {
	Input      float64  `yaml:"input" json:"input"`
	Output     float64  `yaml:"output" json:"output"`
	CacheRead  *float64 `yaml:"cache_read" json:"cache_read,omitempty"`   // nil: as input
	CacheWrite *float64 `yaml:"cache_write" json:"cache_write,omitempty"` // nil: as input
	UpTo       int64    `yaml:"up_to" json:"up_to,omitempty"`             // input tokens beyond which another price holds; 0: none
	Date       string   `yaml:"date" json:"date,omitempty"`               // when it was so
	Source     string   `yaml:"source" json:"source,omitempty"`
}

// Prices holds prices by provider/model.
type Prices map[string]Price

// DefaultPrices are those that the program was built with.
func DefaultPrices() Prices { return maps.Clone(builtIn()) }

var builtIn = sync.OnceValue(func() Prices {
	p, err := ParsePrices(embeddedPrices)
	if err != nil {
		panic("llm: embedded prices.yaml: " + err.Error()) // a test reads it, so no build has this
	}
	return p
})

// ParsePrices reads a list of prices: provider/model, then the fields of Price.
// Unknown fields and prices that are no amounts are CodeInvalid.
func ParsePrices(text []byte) (Prices, error) {
	var p Prices
	if err := yaml.UnmarshalWithOptions(text, &p, yaml.Strict()); err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "prices: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if err := p[name].Check(); err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "price of %s: %w", name, err)
		}
	}
	return p, nil
}

// Price bounds, far beyond what is asked for today: sums of bounded prices and
// bounded counts are exact in 64 bits.
const (
	maxPrice  = 10_000      // dollars per million tokens
	maxTokens = 100_000_000 // of one call
)

// Check returns an error when p is not a price: negative, NaN, or beyond all
// bounds.
func (p Price) Check() error {
	for _, rate := range []float64{p.Input, p.Output, p.cacheRead(), p.cacheWrite()} {
		if !(rate >= 0 && rate <= maxPrice) {
			return fmt.Errorf("%v dollars per million tokens is not an amount between 0 and %d", rate, maxPrice)
		}
	}
	if p.UpTo < 0 {
		return fmt.Errorf("up_to is %d tokens; it must not be negative", p.UpTo)
	}
	return nil
}

func (p Price) cacheRead() float64  { return p.orInput(p.CacheRead) }
func (p Price) cacheWrite() float64 { return p.orInput(p.CacheWrite) }

func (p Price) orInput(rate *float64) float64 {
	if rate != nil {
		return *rate
	}
	return p.Input
}

// dated ends the name of a model whose release is pinned.
var dated = regexp.MustCompile(`-(\d{8}|\d{4}-\d{2}-\d{2})$`)

// Of returns the price of a provider's model, nil when it is not known. A
// pinned release costs what the model costs, unless it has its own line.
func (p Prices) Of(provider, model string) *Price {
	name := provider + "/" + model
	for _, n := range []string{name, dated.ReplaceAllString(name, "")} {
		if price, known := p[n]; known {
			return &price
		}
	}
	return nil
}

// With returns p with the prices of over in their place.
func (p Prices) With(over Prices) Prices {
	all := make(Prices, len(p)+len(over))
	maps.Copy(all, p)
	maps.Copy(all, over)
	return all
}

// hiddenTokens is room for what a server adds to a conversation unseen: the
// marks between turns, and the text that explains tools to the model.
const hiddenTokens = 2048

// MostCost is an upper bound of what a request can cost, known before the call.
// No tokenizer in use makes more tokens than there are bytes, so the bytes of
// the request stand for its tokens; the answer is bounded by maxTokens. It is
// false when the price is not known, or not for a request of this size.
func MostCost(p *Price, r Request, maxTokens int) (ktrdr.MicroUSD, bool) {
	if p == nil || p.Check() != nil {
		return 0, false
	}
	input := Size(r) + hiddenTokens
	if p.UpTo > 0 && input > p.UpTo {
		return 0, false
	}
	dearest := *p
	dearest.Input = max(p.Input, p.cacheRead(), p.cacheWrite())
	return Cost(&dearest, &Usage{Input: input, Output: int64(maxTokens)})
}

// Cost is what usage costs, rounded up to the next millionth of a dollar. It is
// false when the price or the usage is not known, or no count of tokens.
func Cost(p *Price, u *Usage) (ktrdr.MicroUSD, bool) {
	if p == nil || u == nil || p.Check() != nil {
		return 0, false
	}
	var sum int64 // in millionths of a MicroUSD
	for _, part := range []struct {
		tokens int64
		rate   float64
	}{{u.Input, p.Input}, {u.Output, p.Output}, {u.CacheRead, p.cacheRead()}, {u.CacheWrite, p.cacheWrite()}} {
		if part.tokens < 0 || part.tokens > maxTokens {
			return 0, false
		}
		sum += part.tokens * exact(part.rate)
	}
	return ktrdr.MicroUSD((sum + 999_999) / 1_000_000), true
}

// exact is dollars per million tokens, which is MicroUSD per token, in
// millionths of that. Sums of it do not round; the half makes up for decimals
// that a float64 cannot hold.
func exact(rate float64) int64 { return int64(rate*1_000_000 + 0.5) }

// Size is all the bytes of a request, as it is sent and kept: an upper bound of
// its tokens.
func Size(r Request) int64 {
	text, err := encode(r)
	if err != nil {
		return maxTokens + 1 // no JSON, no bound
	}
	return int64(len(text))
}
