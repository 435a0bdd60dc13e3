package llm_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
)

func TestPrices_EveryBuiltInOneIsComplete(t *testing.T) {
	prices := llm.DefaultPrices()
	if len(prices) < 10 {
		t.Fatalf("%d prices are built in", len(prices))
	}
	for name, p := range prices {
		if !strings.Contains(name, "/") || p.Input <= 0 || p.Output < p.Input || p.CacheRead == nil || *p.CacheRead > p.Input || p.Date == "" ||
			p.Source == "" {
			t.Errorf("%s: %+v is not whole", name, p)
		}
	}
}

func TestPrices_UnknownIsNilAndNeverZero(t *testing.T) {
	prices := llm.DefaultPrices()
	if p := prices.Of("openai", "a-model-of-tomorrow"); p != nil {
		t.Errorf("price = %+v, want nil", p)
	}
	if most, known := llm.MostCost(nil, question("q"), 10); known {
		t.Errorf("most = %d, want not known", most)
	}
	if cost, known := llm.Cost(nil, &llm.Usage{Input: 1}); known {
		t.Errorf("cost = %d, want not known", cost)
	}
	if cost, known := llm.Cost(&llm.Price{Input: 1}, nil); known {
		t.Errorf("cost of unknown usage = %d, want not known", cost)
	}
}

func TestPrices_APinnedReleaseCostsWhatItsModelCosts(t *testing.T) {
	prices := llm.DefaultPrices()
	for pinned, model := range map[string]string{"claude-haiku-4-5-20251001": "claude-haiku-4-5", "gpt-4o-mini-2024-07-18": "gpt-4o-mini"} {
		provider := map[bool]string{true: "anthropic", false: "openai"}[strings.HasPrefix(model, "claude")]
		got, want := prices.Of(provider, pinned), prices.Of(provider, model)
		if got == nil || want == nil || got.Input != want.Input {
			t.Errorf("%s: price = %v, want that of %s, %v", pinned, got, model, want)
		}
	}
	own := prices.With(llm.Prices{"openai/gpt-4o-mini-2024-07-18": {Input: 9, Output: 9}})
	if p := own.Of("openai", "gpt-4o-mini-2024-07-18"); p == nil || p.Input != 9 {
		t.Errorf("price = %+v, want its own", p)
	}
	if p := prices.Of("openai", "gpt-4o-mini-2024-07-18"); p.Input == 9 {
		t.Error("With changed the prices that it was given")
	}
}

func TestCost_IsExactAndRoundedUp(t *testing.T) {
	tenth := 0.1
	for name, c := range map[string]struct {
		price llm.Price
		usage llm.Usage
		want  ktrdr.MicroUSD
	}{
		"whole":                  {llm.Price{Input: 3, Output: 15}, llm.Usage{Input: 1000, Output: 200}, 6000},
		"a part of a millionth":  {llm.Price{Input: 0.05}, llm.Usage{Input: 1}, 1},
		"no float's error":       {llm.Price{Input: 0.15, Output: 0.6}, llm.Usage{Input: 1_000_000, Output: 1_000_000}, 750_000},
		"cache at its own price": {llm.Price{Input: 1, CacheRead: &tenth}, llm.Usage{CacheRead: 1000}, 100},
		"cache at input's price": {llm.Price{Input: 1}, llm.Usage{CacheRead: 1000, CacheWrite: 1000}, 2000},
		"nothing for a free one": {llm.Price{}, llm.Usage{Input: 1000, Output: 1000}, 0},
		"the most that is summed": {
			llm.Price{Input: 10_000, Output: 10_000},
			llm.Usage{Input: 100_000_000, Output: 100_000_000, CacheRead: 100_000_000, CacheWrite: 100_000_000},
			4e12,
		},
	} {
		if got, known := llm.Cost(&c.price, &c.usage); !known || got != c.want {
			t.Errorf("%s: cost = %d, %v; want %d", name, got, known, c.want)
		}
	}
}

func TestCost_OfNoCountOfTokensIsNotKnown(t *testing.T) {
	for _, u := range []llm.Usage{{Input: -1}, {Output: math.MaxInt64}, {CacheRead: 1 << 40}} {
		if cost, known := llm.Cost(&llm.Price{Input: 1, Output: 1}, &u); known {
			t.Errorf("cost of %+v = %d, want not known", u, cost)
		}
	}
}

// The bound is one for the dearest thing that can happen: every byte a token,
// all of them written to a cache, and the answer as long as it may be.
func TestMostCost_BoundsEveryCost(t *testing.T) {
	write := 6.25
	price := &llm.Price{Input: 5, Output: 25, CacheWrite: &write}
	r := withTools()
	most, known := llm.MostCost(price, r, 1000)
	if !known {
		t.Fatal("the most is not known")
	}
	text := len(r.System) + len("hello") + len("so be it") + len(`{"a":1}`) + len("no such name") + len("save saves")
	for _, u := range []llm.Usage{
		{Input: int64(text), Output: 1000}, {CacheWrite: int64(text), Output: 1000}, {Input: int64(text) + 1500, Output: 1000},
	} {
		if cost, _ := llm.Cost(price, &u); cost > most {
			t.Errorf("%+v costs %d, more than the most, %d", u, cost, most)
		}
	}
}

func TestParsePrices_RefusesWhatIsNoPrice(t *testing.T) {
	for name, text := range map[string]string{
		"a misspelt field": "x/y: {input: 1, in_put: 2}",
		"a negative price": "x/y: {input: -1, output: 2}",
		"no number":        "x/y: {input: .nan, output: 2}",
		"beyond all sense": "x/y: {input: 1, output: 1e9}",
		"a negative bound": "x/y: {input: 1, output: 1, up_to: -5}",
		"no list":          "- 1",
	} {
		if _, err := llm.ParsePrices([]byte(text)); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("%s: err = %v, want invalid", name, err)
		}
	}
}
