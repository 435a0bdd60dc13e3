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
	done := scans{}
	p.scanAll(done, offsets, all)
	highest, exact := -1.0, 0
	for _, c := range all {
		for _, d := range offsets {
			m := p.total(done, setting{d, c})
			if m.n < copyReturns {
				continue
			}
			r := math.Abs(m.correlation())
			if r > highest+margin || r > highest-margin && m.exact > exact {
				highest, exact, best = max(highest, r), m.exact, setting{d, c}
			}
		}
	}
	if highest < sameCorrelation {
		if s, r := p.bestPart(done, offsets, all, part); r >= askCorrelation {
			return s, r
		}
	}
	return best, max(0, highest)
}

// bestPart is the setting in which some part is most alike. A part of hourly
// bars mostly lies in one season, where every clock is a mere offset: all
// offsets are tried with the first clocks, and all clocks near the best offset.
// Of settings with equally good parts it is the one with the most parts that
// are alike, else the most alike one by all returns.
func (p *overlay) bestPart(done scans, offsets []int64, all []clocks, part int) (setting, float64) {
	const promising = 0.5 // bars of several hours reach more at a clock that is wrong in one season
	found, r := p.mostAlikePart(done, offsets, all[:1], part)
	if r < promising {
		return found, r
	}
	return p.mostAlikePart(done, []int64{found.offset, found.offset - hour, found.offset + hour}, all, part)
}

func (p *overlay) mostAlikePart(done scans, offsets []int64, all []clocks, part int) (best setting, size float64) {
	p.scanAll(done, offsets, all)
	var overall float64
	var parts, exact int
	for _, c := range all {
		for _, d := range offsets {
			s := setting{d, c}
			most, alike := p.part(done, s, part)
			r := math.Abs(most.correlation())
			if r == 0 || r <= size-margin || r <= size+margin && alike < parts {
				continue
			}
			m := p.total(done, s)
			w := math.Abs(m.correlation())
			if r > size+margin || alike > parts || w > overall+margin || w > overall-margin && m.exact > exact {
				size, parts, overall, exact, best = max(size, r), alike, w, m.exact, s
			}
		}
	}
	return best, size
}

func (p *overlay) likeness(s setting) Likeness {
	done := scans{}
	p.scanAll(done, []int64{s.offset}, []clocks{s.clocks})
	m := p.total(done, s)
	part, _ := p.part(done, s, sameReturns)
	return Likeness{
		Shared: m.n, Correlation: m.correlation(), Timeframe: p.tf,
		Offset: time.Duration(s.offset) * time.Second, Clocks: s.clocks.String(),
		Part: part.n, PartCorrelation: part.correlation(),
	}
}

type scans map[int64][]moments

// scanAll scans the offsets, and those that the clocks make of them, unless they are done.
func (p *overlay) scanAll(done scans, offsets []int64, all []clocks) {
	for _, c := range all {
		for s := range season(seasons) {
			for _, d := range offsets {
				if at := d + c.extra(s); done[at] == nil {
					done[at] = p.scan(at)
				}
			}
		}
	}
}

// inSetting gives what each offset of a setting gives, by season.
func (s scans) inSetting(at setting) (of [seasons][]moments) {
	for k := range season(seasons) {
		of[k] = s[at.offset+at.clocks.extra(k)]
	}
	return of
}

func (p *overlay) total(all scans, at setting) moments {
	var sum moments
	of := all.inSetting(at)
	for i, s := range p.seasonOf {
		sum.addAll(&of[s][i])
	}
	return sum
}

// part is the most alike part in a setting that has at least n returns in
// a row, and the number of such parts that are alike. Parts begin and end with
// a piece and overlap. The part is empty where fewer returns are shared.
func (p *overlay) part(all scans, at setting, returns int) (best moments, alike int) {
	of := all.inSetting(at)
	var joint moments
	var list []moments // pieces joined until they have some of the returns
	for i, s := range p.seasonOf {
		joint.addAll(&of[s][i])
		if joint.n >= returns/32 {
			list, joint = append(list, joint), moments{}
		}
	}
	if joint.n > 0 {
		list = append(list, joint)
	}
	highest := -1.0
	for i := range list {
		var sum moments
		for k := i; k < len(list) && sum.n < returns; k++ {
			sum.addAll(&list[k])
		}
		if sum.n < returns {
			break
		}
		r := math.Abs(sum.correlation())
		if r > highest {
			highest, best = r, sum
		}
		if r >= askCorrelation {
			alike++
		}
	}
	return best, alike
}

// Contains tells whether the prices of part are in longer at the same times:
// nearly all of its returns, all but exactly. A series that is contained needs
// not be compared with others where the longer one is.
func Contains(longer, part *Prices) bool {
	if longer.Timeframe != part.Timeframe || part.Len() < 2 {
		return false
	}
	returns := part.Len() - 1
	l := newOverlay(part, longer.between(part.time[0], part.last()), part.Timeframe).likeness(setting{})
	missing := returns - l.Shared
	return missing*100 <= returns && missing < sameReturns/2 && l.Shared >= copyReturns && l.Correlation >= copyCorrelation
}
