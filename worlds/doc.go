// Package worlds measures, through the real binary, how often ktrdr claims an
// edge that is not there.
//
// A world is a way to make a market. Most worlds have no edge; in one the edge
// dies where the holdout begins. Each run researches a market of its own, and
// the share of runs with a claim is printed with its 95 % interval. The short
// form runs with the other tests; the long one needs the build tag soak.
package worlds
