package evidence

// OpenEndedTrials is the number of trials counted against each research of a
// generation in a run that lasts until a time, so that its final size is not
// known. before counts the trials made before the run. Generations count from 0.
//
// Luck alone makes one of n trials a finalist with a probability of about 1/n.
// A generation of s researches counted as s(g+1)(g+2) trials therefore has
// 1/((g+1)(g+2)) finalists by luck, and
//
//	1/(1·2) + 1/(2·3) + 1/(3·4) + … = 1
//
// All generations together have as many finalists by luck as one run of a known size.
func OpenEndedTrials(before, size, generation int) int {
	return before + size*(generation+1)*(generation+2)
}

// LookCost is the factor by which the p-value of a look is multiplied. before
// counts the looks at the same market's holdout before this one: the looks of
// all runs, and those made by hand.
//
// A look that pays (before+1)(before+2) may claim falsely with a probability of
// at most MaxLuck/((before+1)(before+2)). The shares 1/2 + 1/6 + 1/12 + … sum to
// 1, so all looks at one market together stay within MaxLuck. This holds for any
// number of looks, any number of runs, and any search between them.
func LookCost(before int) int {
	const most = 1<<31 - 3 // keeps the product within 64 bits
	before = min(max(before, 0), most)
	return (before + 1) * (before + 2)
}
