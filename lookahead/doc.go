// Package lookahead finds decisions of a strategy that use future prices: it computes
// everything again with other prices after some instant, and compares what lies before it.
package lookahead
