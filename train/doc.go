// Package train stands between a strategy with its bars and a network that can be traded:
//
//	strategy, bars ──Prepare──▶ Dataset ──Start──▶ Run ──Epoch…Epoch──▶ Finish ──▶ Model, Metrics
//	                              │ Preflight         │      ▲
//	                              └ refused           └─ MarshalBinary ─▶ Restore
//
//	Model, bars ──Predict──▶ Signals ──▶ package backtest
//
// What it holds to:
//
//   - Features and label of a sample belong to one bar of one symbol. A row of
//     the table is a bar of a symbol and everything about it is written into
//     that row, so there is no second index that could run apart.
//   - The split is by time, with the same instants for every symbol, and a
//     sample whose label looks past the end of its part (or into the embargo
//     before it) is left out. What is fitted (normalisation, class weights) is
//     fitted on training samples. CheckLookahead and CheckSignals hold any
//     preparation and any predictor to that, ours included.
//   - A run may be stopped between any two batches and resumed elsewhere, from
//     what MarshalBinary wrote, with the same bits.
//   - The figures of a model come from the test part alone, and come with what
//     a model that learned nothing would have reached.
package train

import "github.com/ktrdr/ktrdr/neural"

// Numerics is the version of the arithmetic of this package and of those that
// make its samples: how indicators, memberships and labels are computed, how
// samples are chosen, weighed, ordered and judged. A model or a run of another
// version would continue with other bits, and is refused.
const Numerics = "train/2"

// versions are the versions of all the arithmetic that a run depends on.
func versions() string { return Numerics + " " + neural.Numerics }
