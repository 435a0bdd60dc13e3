package panel

import "slices"

// TrialDays is the daily net returns of one trial.
type TrialDays struct {
	Days    []int32 // days since 1970-01-01, rising
	Returns []float64
}

// Panel is the returns of several trials on the same days.
type Panel struct {
	Days    []int32
	Returns [][]float64 // one row for each trial
}

// sharedDays is the share of the days of the reference that a trial must have.
const sharedDays = 0.9

// Align puts trials on common days. The reference is the list of days that most
// trials have; of several the longest, then the one that begins first. A trial is
// a member if it has at least 90 % of the days of the reference: it was made on the
// same test part. The days of the panel are those of the reference that every
// member has. No day is filled. members are the positions of the trials in the
// panel, in their order; the others are left out.
func Align(trials []TrialDays) (p Panel, members []int) {
	reference := mostFrequent(trials)
	if len(reference) == 0 {
		return Panel{}, nil
	}
	counts := make([]int, len(reference))
	for i := range trials {
		has := shared(reference, trials[i].Days)
		if float64(len(has)) < sharedDays*float64(len(reference)) {
			continue
		}
		members = append(members, i)
		for _, at := range has {
			counts[at]++
		}
	}
	for at, n := range counts {
		if n == len(members) {
			p.Days = append(p.Days, reference[at])
		}
	}
	for _, i := range members {
		p.Returns = append(p.Returns, trials[i].on(p.Days))
	}
	return p, members
}

// mostFrequent is the list of days that most trials have.
func mostFrequent(trials []TrialDays) []int32 {
	type group struct {
		days []int32
		n    int
	}
	var groups []group
	for i := range trials {
		days := trials[i].Days
		if len(days) == 0 {
			continue
		}
		k := slices.IndexFunc(groups, func(g group) bool { return slices.Equal(g.days, days) })
		if k < 0 {
			k, groups = len(groups), append(groups, group{days: days})
		}
		groups[k].n++
	}
	var best group
	for _, g := range groups {
		switch {
		case g.n != best.n && g.n < best.n, g.n == best.n && len(g.days) < len(best.days),
			g.n == best.n && len(g.days) == len(best.days) && g.days[0] >= best.days[0]:
		default:
			best = g
		}
	}
	return best.days
}

// shared are the positions in reference of the days that are in both lists.
func shared(reference, days []int32) (at []int) {
	k := 0
	for i, d := range reference {
		for k < len(days) && days[k] < d {
			k++
		}
		if k < len(days) && days[k] == d {
			at = append(at, i)
		}
	}
	return at
}

// on are the returns on some of the days of a trial.
func (s *TrialDays) on(days []int32) []float64 {
	returns, k := make([]float64, len(days)), 0
	for i, d := range days {
		for s.Days[k] < d {
			k++
		}
		returns[i] = s.Returns[k]
	}
	return returns
}

// perYear is how many days of the panel are in a year, measured on the panel.
func (p *Panel) perYear() float64 {
	n := len(p.Days)
	if n < 2 || p.Days[n-1] <= p.Days[0] {
		return 0
	}
	return float64(n-1) * 365.25 / float64(p.Days[n-1]-p.Days[0])
}
