// Package research is what this product is about: a goal, carried through
// design, training, backtest and assessment to an honest verdict, many at once.
//
//	Trigger ──Desk──▶ Spec ──queue──▶ Plan
//
//	IDLE ──▶ DESIGNING ──▶ TRAINING ──gate──▶ BACKTESTING ──gate──▶ ASSESSING ──▶ DONE
//	                           ▲        │                     │          ▲
//	            a strategy ────┘        └────── rejected ─────┴──────────┘
//
// The Desk turns a request into specs that say everything: goal,
// seed, what may be remembered, what counts as good enough, and the bars, cut
// into the part that research may see and the holdout, which only a
// confirmation reads.
//
// The Plan moves a research. It is a function of rows: it reads which children
// there are and how they ended, and answers what is to be done. So a lost
// wake-up, a crash or a second backend cannot lead it astray, and a research
// that fails stops no other.
//
// What was tried is noted in the transaction that ends it: every trial, every
// experiment, every hypothesis. Memory reads the notes back for the designer, as
// far as the research's horizon reaches.
package research
