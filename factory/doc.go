// Package factory tests the whole search instead of one strategy: it runs the same
// search on permuted copies of the bars and compares the best results.
//
//	bars ──▶ Copy(seed) ──▶ Search ──▶ best score ─┐
//	bars ─────────────────▶ Search ──▶ best score ─┴─▶ rank ──▶ p-value
//
// Search runs researches without a store: the plan and the runners are those of the
// backend, so the results have the same bits. Nothing of it reaches a ledger or a
// memory.
package factory
