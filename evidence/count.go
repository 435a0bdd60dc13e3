package evidence

// Trials is how often luck was tried on the test part.
type Trials struct {
	Count int `json:"count"` // every one in the ledger so far, this one included

	// Planned is how many the ledger will hold when the run ends, where that is
	// known, and else what [Spend] says. The larger of the two counts: who judges
	// the first of thirty as if it were alone, the second as one of two, and so
	// on, is wrong more often than each of these verdicts says.
	Planned int `json:"planned"`
}

func (t Trials) counted() int { return max(t.Count, t.Planned, 1) }

// Spend is as how many trials those of a generation count, of a run of which
// nobody knows how many generations it will have; before is how many trials
// there were before the run, and generations count from 0.
//
// One of n trials is let on by luck with a probability of about 1/n. A
// generation of s that counts as s(g+1)(g+2) therefore lets on 1/((g+1)(g+2))
// of a trial, and
//
//	1/(1·2) + 1/(2·3) + 1/(3·4) + … = 1
//
// so that all generations together let on as many as one run of a known size.
func Spend(before, size, generation int) int {
	return before + size*(generation+1)*(generation+2)
}

// Openings is how often the same holdout is looked at. Who may look again and
// again finds a lucky strategy there, too, even though nobody who searches is
// told what was seen: it is enough that the search has learnt the test part by
// heart, so that all that it proposes is let on.
type Openings struct {
	Known int  `json:"known"` // before this generation
	Own   int  `json:"own"`   // that this generation may make, this one included: see OwnOpenings
	Last  bool `json:"last"`  // no generation of the run comes after it
}

// OwnOpenings is how many openings a generation of so many researches may make.
// Those that know of no trial have not been fitted to the test part: all
// together are let on by luck less than once. Of others, each may be.
func OwnOpenings(size, trialsKnown int) int {
	if trialsKnown == 0 {
		return 1
	}
	return size
}

// counted is what the p-value of an opening is multiplied by: all openings of a
// run are together wrong no more often than one alone. After k openings, n of
// the s that a generation may make take
//
//	n/((k+1)(k+s+1)) ≤ 1/(k+1) − 1/(k+n+1)
//
// of the probability of a false claim. Summed over generations, all but 1/(k+1)
// of it is taken by then, however many follow; the last may take what is left.
func (o Openings) counted() int {
	known, own := max(o.Known, 0), max(o.Own, 1)
	if o.Last {
		return (known + 1) * own
	}
	return (known + 1) * (known + own + 1)
}
