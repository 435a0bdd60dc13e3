package backtest

// Overrides are what a backtest may be asked to do otherwise than its strategy
// says. nil leaves the strategy's.
type Overrides struct {
	InitialCapital *float64 `json:"initial_capital,omitempty"`
	Commission     *float64 `json:"commission,omitempty"`
	Slippage       *float64 `json:"slippage,omitempty"`
	Spread         *float64 `json:"spread,omitempty"`
}
