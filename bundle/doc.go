// Package bundle writes a claim into one file and checks such a file on another
// machine. A file is a claim of others: nothing in it is believed before it was
// computed again or found in a chain whose head was published.
//
//	spec, strategy ──▶ training ──▶ backtest ──▶ verdict ──▶ look ──▶ the same hashes?
//	ledger ──▶ link by link ──▶ a head that was published?
package bundle
