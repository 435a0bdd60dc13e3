// Package indicator computes the technical indicators that strategies are made
// of, each in a file of its own that registers itself.
//
// An indicator has one implementation, a machine that takes bars in pieces of
// any length and continues where the last piece ended:
//
//	Compute  a fresh machine, pieces of 1,024 bars   (research, training)
//	Stream   a fresh machine, pieces of one bar      (bar by bar)
//
// so the two agree bit for bit because they are the same code, and no value can
// depend on a bar that came later.
//
// What holds for all of them:
//
//   - A value that is not defined is NaN: during warm-up, and where the
//     definition divides by nothing. No neutral number ever stands in.
//   - A bar with a NaN or an infinity in a column that the indicator reads ends
//     its series: the outputs are NaN there, and behind it the indicator begins
//     again with its full warm-up. Nothing is poisoned for ever.
//   - Windows never subtract what left them (see block): a huge price is gone
//     with the bar that carried it, and sums do not drift.
//   - Prices multiplied by a power of two multiply the outputs in the unit of
//     the price by exactly that and leave the others exactly as they are. No
//     threshold of absolute size is used anywhere.
package indicator
