// Package panel judges a search by the daily net returns of all its trials, where
// package evidence judges one strategy.
//
//	daily returns of each trial ──▶ Align ──▶ Panel (days × trials, no gaps)
//	                                            │
//	       ┌────────────────────┬───────────────┼──────────────────┐
//	       ▼                    ▼               ▼                  ▼
//	stationary bootstrap   stationary       CSCV, 16 blocks   correlations
//	Hansen's SPA           bootstrap        12,870 splits
//	is any above 0?        StepM: which?    PBO               effective number of trials
//
// References: Politis and Romano 1994 (stationary bootstrap), Politis and White
// 2004 with the correction of Patton, Politis and White 2009 (length of blocks),
// Hansen 2005 (SPA), Romano and Wolf 2005 and 2016 (StepM and its p-values), Bailey,
// Borwein, López de Prado and Zhu 2015 (PBO by CSCV).
//
// Everything is pure and gives the same bits everywhere; what resamples takes a seed.
// A figure that is undefined is nil, and a sentence beside it says why.
package panel
