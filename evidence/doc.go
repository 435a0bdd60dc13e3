// Package evidence says how much a backtest proves.
//
// A search that tries many strategies finds a good backtest whether or not
// there is anything to find. This package adjusts the figures for that luck and
// judges a strategy by them:
//
//	the test part                                           every trial counted
//	returns ──▶ EstimateSharpe, Versus buy-and-hold ──▶ Deflate ─┐
//	trades  ──▶ CostsOf, TradesOf ───────────────────────────────┼──▶ Judge ──▶ Verdict: a finalist or not
//	in-sample, test part ──▶ DecayOf ────────────────────────────┘                 │
//	                                                                 the best of a generation
//	the holdout                                              every look counted    ▼
//	returns ──▶ EstimateSharpe, Versus buy-and-hold ──▶ p × LookFactor ─▶ Confirm ──▶ Confirmation: a claim or not
//
// [CurveOf] describes an equity curve for readers: its months, its deepest
// drawdowns and a [Bootstrap] interval of its Sharpe ratio. No verdict uses it.
//
// Everything is pure and gives the same bits everywhere; what resamples takes a
// [num.Rand]. Sharpe ratios are per bar unless a name says annualized. A figure
// that is undefined is nil, and a sentence beside it says why; nothing here
// holds a NaN or an infinity, so everything can be written as JSON.
package evidence
