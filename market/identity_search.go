package market

import (
	"math"
	"time"
)

// margin is more than rounding makes of the correlation of the same returns.
const margin = 1e-6

// best is the setting in which the two series are most alike, of the given
// offsets with each of the given clocks, and the size of their correlation in
// it. Of settings that are equally good it is the one in which the most closes
// fall on the same instant, else the first. The size is 0 where fewer than
// copyReturns returns are shared.
//
// Where no setting shows the same market by all shared returns, the best one is that
// of the most alike part of at least n returns in a row, if that part may be a copy.
func (p *overlay) best(offsets []int64, all []clocks, part int) (best setting, size float64) {
	done := p.sumUp(settingsOf(offsets, all), len(offsets), part)
	highest, exact := -1.0, 0
	for i := range done {
		m := &done[i].total
		if m.n < copyReturns {
			continue
		}
		r := math.Abs(m.correlation())
		if r > highest+margin || r > highest-margin && m.exact > exact {
			highest, exact, best = max(highest, r), m.exact, done[i].setting
		}
	}
	if highest < sameCorrelation {
		if s, r := p.bestPart(done[:len(offsets)], all, part); r >= askCorrelation {
			return s, r
		}
	}
	return best, max(0, highest)
}

// settingsOf are all offsets with the first clocks, then all with the next.
func settingsOf(offsets []int64, all []clocks) (list []setting) {
	for _, c := range all {
		for _, d := range offsets {
			list = append(list, setting{d, c})
		}
	}
	return list
}

// bestPart is the setting in which some part is most alike. A part of hourly
// bars mostly lies in one season, where every clock is a mere offset: all
// offsets are tried with the first clocks, and all clocks near the best offset.
// Of settings with equally good parts it is the one with the most parts that
// are alike, else the most alike one by all returns.
func (p *overlay) bestPart(first []sums, all []clocks, part int) (setting, float64) {
	const promising = 0.5 // bars of several hours reach more at a clock that is wrong in one season
	found, r := mostAlikePart(first)
	if r < promising {
		return found, r
	}
	near := settingsOf([]int64{found.offset, found.offset - hour, found.offset + hour}, all)
	return mostAlikePart(p.sumUp(near, len(near), part))
}

func mostAlikePart(of []sums) (best setting, size float64) {
	var overall float64
	var parts, exact int
	for i := range of {
		t := &of[i]
		r := math.Abs(t.part.correlation())
		if r == 0 || r <= size-margin || r <= size+margin && t.alike < parts {
			continue
		}
		w := math.Abs(t.total.correlation())
		if r > size+margin || t.alike > parts || w > overall+margin || w > overall-margin && t.total.exact > exact {
			size, parts, overall, exact, best = max(size, r), t.alike, w, t.total.exact, t.setting
		}
	}
	return best, size
}

func (p *overlay) likeness(s setting) Likeness {
	of := p.sumUp([]setting{s}, 1, sameReturns)[0]
	return Likeness{
		Shared: of.total.n, Correlation: of.total.correlation(), Timeframe: p.tf,
		Offset: time.Duration(s.offset) * time.Second, Clocks: s.clocks.String(),
		Part: of.part.n, PartCorrelation: of.part.correlation(),
	}
}

// Contains tells whether the prices of part are in longer at the same times:
// nearly all of its returns, all but exactly. A series that is contained needs
// not be compared with others where the longer one is.
func Contains(longer, part *Prices) bool {
	if longer.Timeframe != part.Timeframe || part.Len() < 2 {
		return false
	}
	returns := part.Len() - 1
	l := newOverlay(part.all(), longer.all().between(part.first(), part.last), part.Timeframe).likeness(setting{})
	missing := returns - l.Shared
	return missing*100 <= returns && missing < sameReturns/2 && l.Shared >= copyReturns && l.Correlation >= copyCorrelation
}
