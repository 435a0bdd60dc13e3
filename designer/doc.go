// Package designer proposes strategies without a model, a key or a network: an
// evolutionary search that reads a goal in words, learns from what was tried,
// and writes strategies of the grammar.
//
//	text ──Read───────▶ Brief ──────┐
//	bars ──Measure────▶ Stats ──────┤
//	bars, costs ──Screen──▶ Hints ──┤
//	memory ───────▶ Experiments ────┼──Design(seed, generation, index)──▶ Proposal
//	costs ────────▶ instrument.Costs┘
//
// What it holds to:
//
//   - A proposal is a function of its arguments: the same ones give the same
//     bytes, on any machine, whatever else is being designed at that moment.
//   - Every proposal is a valid strategy, in its canonical form, small enough
//     to be trained in seconds, and is unlike all that memory has.
//   - Designs of one generation do not know each other, and differ all the
//     same: see mark.
//   - It reads no bar of a test part. Stats describe the values that indicators take,
//     so that fuzzy sets lie where the values are. Hints name the indicators
//     that earned there; which way to trade, only training learns.
package designer
