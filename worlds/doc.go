// Package worlds measures how often ktrdr claims an edge that is not there, and how
// often it finds one that is.
//
//	World   a market without an edge; in one the edge dies where the holdout begins
//	Kind    a market with an edge of a chosen strength, and the rule that knows it
//
// Each run researches a market of its own, and the share of runs with a claim is
// printed with its 95 % interval. The short form runs with the other tests; the long
// one needs the build tag soak.
package worlds
