// Package backtest turns decisions into trades, an equity curve and figures.
//
// Decisions are made at a bar's close and filled at the next bar's open:
//
//	bar t                         bar t+1
//	open ─ high/low ─ close       open ─ high/low ─────── close
//	                    │          │        │               │
//	           signal ──┘          │        │               └─ equity is marked, next signal
//	           rules: Pending ─────┘        └─ stop, then target
//	                         fill: exit, entry, or both (Flip)
//
// Nothing in it can see further than that: [Run] goes through the bars once and
// touches bar t+1 only after the signal of bar t was taken. [CheckFills]
// checks other deciders for the same rule.
//
// What is assumed where bars do not tell:
//
//   - Prices are mid prices. A fill pays half the spread and the slippage, always
//     to our disadvantage, stops and targets included, and commission on its value.
//   - A stop or target works from the bar of the entry on. A bar that opens
//     beyond it fills at the open, whatever it touches later. A bar that touches
//     both after its open is taken to have touched the stop first.
//   - A position may have a time: [Config.ExitAfter] bars without a signal in its
//     direction, and the next open leaves it.
//   - An open position is worth its units at the close; what leaving it will
//     cost is paid when it is left. The last bar's close leaves it.
//   - An account whose equity would reach zero is closed there, within the bar,
//     and the run ends: an account without equity cannot trade.
//
// Times are the opening instants of the bars in which things happened.
//
// [Combine] adds up the accounts of several symbols: a [Portfolio].
package backtest
