package library

import "github.com/ktrdr/ktrdr/market"

// candidate is a series that is added or placed. Its hash and its prices are made
// once: of a long series each takes a reading of all bars.
type candidate struct {
	*market.Bars
	hash   *[32]byte
	prices *market.Prices
}

func candidateOf(b *market.Bars) *candidate { return &candidate{Bars: b} }

// Hash is that of the bars.
func (c *candidate) Hash() [32]byte {
	if c.hash == nil {
		c.hash = new(c.Bars.Hash())
	}
	return *c.hash
}

// Prices are those of the bars, to be compared.
func (c *candidate) Prices() *market.Prices {
	if c.prices == nil {
		c.prices = market.NewPrices(c.Bars)
	}
	return c.prices
}
