// Package evidence says how much a backtest proves.
//
// A search that tries many strategies finds a good backtest whether or not
// there is anything to find. This package holds the arithmetic that takes such
// luck out of a number, and the judge that puts the numbers together:
//
//	returns ──▶ EstimateSharpe ──▶ deflated by every trial made ───────────┐
//	        ──▶ Versus buy-and-hold ──────────────────────────────────────┤
//	trades  ──▶ CostsOf, TradesOf ────────────────────────────────────────┼──▶ Judge ──▶ Verdict
//	in sample, out of sample ──▶ DecayOf ─────────────────────────────────┤
//	the holdout, every opening counted ───────────────────────────────────┘
//
// Beside it stands [CurveOf], which shows a curve to people: its months, its
// deepest falls and, by [Bootstrap], how far its Sharpe ratio could be off. No
// verdict rests on it.
//
// Everything is pure and gives the same bits everywhere; what resamples takes a
// [num.Rand]. Sharpe ratios are per bar unless a name says annualized. A figure
// that is undefined is nil, and a sentence beside it says why; nothing here
// holds a NaN or an infinity, so everything can be written as JSON.
package evidence
