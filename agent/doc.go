// Package agent does the thinking of a research: it designs strategies and
// assesses their results. Both run inside a backend.
//
//	brief, bars that research may see, memory ──DesignRunner──▶ strategy and hypothesis
//	model, backtest, gates ──AssessmentRunner──▶ verdict on the test part, and what to try next
//	finalist, holdout ──ConfirmationRunner──▶ one look
//
// A runner reads what its spec names and, for the design, memory up to the
// spec's horizon. Nothing else can be asked of it, so the same spec is the same
// answer.
package agent
