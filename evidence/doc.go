// Package evidence says how much a backtest proves.
//
// A search that tries many strategies finds a good backtest whether or not
// there is anything to find. This package holds the arithmetic that takes such
// luck out of a number, and the judge that puts the numbers together:
//
//	returns ──▶ EstimateSharpe ──▶ DeflatedSharpe, given every trial made ─┐
//	        ──▶ Versus buy-and-hold ──────────────────────────────────────┤
//	trades  ──▶ CostsOf, TradesOf ────────────────────────────────────────┼──▶ Judge ──▶ Verdict
//	in sample, out of sample ──▶ DecayOf ─────────────────────────────────┤
//	the holdout, opened once ─────────────────────────────────────────────┘
//
// Beside it stand [Bootstrap], which asks the data itself how far a figure could
// be off, [RealityCheck], which asks whether the best of many is better than
// luck, and [Overfit], which asks whether choosing the best in one half of the
// time helps in the other.
//
// Everything is pure and gives the same bits everywhere; what resamples takes a
// [num.Rand]. Sharpe ratios are per bar unless a name says annualized. A figure
// that is undefined is nil, and a sentence beside it says why; nothing here
// holds a NaN or an infinity, so everything can be written as JSON.
package evidence
