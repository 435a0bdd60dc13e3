// Package examine judges a finalist by more out-of-sample bars than its test part:
//
//	research bars │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │        six groups of the bars at which decisions are possible
//	split (1,4)     t   ▓   t   t   ▓   t          trained on four (t), traded on two (▓): 15 splits
//	fold 3          t   t   t   ▓                  walk-forward: trained on all before, traded on one: 4 folds
//
//	splits ──▶ 5 paths, each over all groups ──▶ mean of the paths ──▶ Score
//	folds  ──▶ one walk-forward ──▶ the same with one thing changed ──▶ fragile, or not
//
// Each split and each fold trains an ensemble: networks with different seeds, whose answers
// are averaged. The strategy's own decision rule makes signals of the mean answer. The bars
// of a traded group are sealed while its networks are trained: see [train.Fold].
//
// The work is cut into units. A unit depends on the input and its number alone, so units may
// be made in any order, on any machine, and be stored in between: the result is the same.
package examine
