package quality

import (
	"fmt"
	"math"
	"time"

	"github.com/ktrdr/ktrdr/num"
)

// Limits of jumps, in usual moves of their time.
const (
	lookAt      = 8.0   // a bar is looked at when its range with the last close is this many moves
	spikeClose  = 18.0  // a close that leaves and comes back
	spikeMost   = 30.0  // the same where tails are fat
	spikeSevere = 45.0  // such a close that no market makes
	spikeLong   = 90.0  // the same of several closes
	spikeWick   = 35.0  // a high, low or open that no close near it has
	jumpSplit   = 10.0  // an opening at a split's share of the last close
	jumpLevel   = 30.0  // an opening that stays
	jumpSevere  = 150.0 // such an opening where no market opens
	jumpJoint   = 6.0   // an opening where the number of decimals changes
	comesBack   = 0.25  // share of a spike that may remain after it
	spikeBars   = 3     // bars a spike lasts at most
	otherBars   = 5000  // bars that a part of another market has at most
	twoForOne   = 0.9   // a step of a split of at least 2 for 1
	otherLevel  = 0.04  // how far off it lies at least
)

// longestSession is the seconds of a day that an exchange of shares is open.
const longestSession = 18 * 3600

// jump is a step of the price that stays.
type jump struct {
	bar   int
	ratio float64 // of the price after it to that before
	moves float64 // how many usual openings it is
	open  bool    // it happened between a close and an opening
}

// jumps looks at the bars whose range is beyond what is usual, which are few.
func (j *judge) jumps() {
	b := j.bars
	var steps []jump
	back := 0 // the bar at which the last spike ended
	for at := range b.Places(0, b.Len(), blockBars) {
		limit, end := 1+lookAt*j.scale.at(at), min(b.Len(), at+blockBars)
		for i := max(1, at, back); i < end; i++ {
			p := b.Close[i-1]
			if max(p, b.High[i]) <= limit*min(p, b.Low[i]) {
				continue
			}
			if i == back { // its way from the last close is the other half of the spike
				j.wick(i)
				continue
			}
			if until := j.spike(i); until > i {
				back, i = until, until-1
				continue
			}
			if s, ok := j.stays(i); ok {
				steps = append(steps, s)
			} else {
				j.wick(i)
			}
		}
	}
	j.judgeSteps(steps)
}

// spike notes closes from bar i on that leave the price before and come back to
// it within spikeBars, and returns the bar at which they are back; 0 if they do not.
func (j *judge) spike(i int) int {
	b := j.bars
	before := b.Close[i-1]
	out := num.Log(b.Close[i] / before)
	moves := j.move(i, size(before, b.Close[i]))
	if moves < j.scale.spike {
		return 0
	}
	for back := i + 1; back <= i+spikeBars && back < b.Len(); back++ {
		if math.Abs(num.Log(b.Close[back]/before)) > comesBack*math.Abs(out) {
			continue
		}
		at := b.Time[i]
		if k := powerOfTen(b.Close[i] / before); k != 0 {
			j.notes.add(UnitJump, Severe, at, b.Time[back-1], math.Abs(out),
				"%s closes at %s, %s times the close before, and is back at %s", when(at), price(b.Close[i]), tens(k), price(b.Close[back]))
			return back
		}
		severity := Warning
		if moves >= spikeLong || moves >= spikeSevere && back == i+1 {
			severity = Severe
		}
		j.notes.add(Spike, severity, at, b.Time[back-1], moves,
			"the close of %s is %s, %s away from %s before it, and %s is back at %s: %.0f usual moves",
			when(at), price(b.Close[i]), percent(b.Close[i]/before-1), price(before), when(b.Time[back]), price(b.Close[back]), moves)
		return back
	}
	return 0
}

// wick notes a high, low or open of bar i far from every close around it.
func (j *judge) wick(i int) {
	b := j.bars
	top, bottom := max(b.Close[i-1], b.Close[i]), min(b.Close[i-1], b.Close[i])
	if i+1 < b.Len() {
		top, bottom = max(top, b.Close[i+1]), min(bottom, b.Close[i+1])
	}
	value, name, from := b.High[i], "high", top
	if b.Low[i] < bottom && size(b.Low[i], bottom) > size(top, max(top, b.High[i])) {
		value, name, from = b.Low[i], "low", bottom
	}
	if name == "high" && value <= top {
		return
	}
	distance := size(value, from)
	moves := j.move(i, distance)
	if moves < spikeWick {
		return
	}
	at := b.Time[i]
	if k := powerOfTen(value / from); k != 0 {
		j.notes.add(UnitJump, Severe, at, at, distance, "the %s of %s is %s, %s times the closes around it",
			name, when(at), price(value), tens(k))
		return
	}
	severity := Warning
	if distance > 0.5 && moves >= 3*spikeWick {
		severity = Severe
	}
	j.notes.add(Spike, severity, at, at, moves, "the %s of %s is %s, %s away from every close around it: %.0f usual moves",
		name, when(at), price(value), percent(value/from-1), moves)
}

// stays tells whether the price steps at bar i to another level and stays there.
func (j *judge) stays(i int) (jump, bool) {
	b := j.bars
	before := b.Close[i-1]
	s := jump{bar: i, ratio: b.Open[i] / before, open: true}
	if size(before, b.Close[i]) > 2*size(before, b.Open[i]) {
		s.ratio, s.open = b.Close[i]/before, false
	}
	distance := size(1, s.ratio)
	if distance == 0 {
		return s, false
	}
	if s.moves = j.opening(i, distance); !s.open {
		s.moves = j.move(i, distance)
	}
	var after []float64
	for k := i; k < min(b.Len(), i+5); k++ {
		after = append(after, b.Close[k])
	}
	level := num.Log(median(after) / before)
	step := num.Log(s.ratio)
	return s, s.moves >= jumpJoint && math.Abs(level-step) < 0.5*math.Abs(step)
}

// judgeSteps names the steps by their size. A part between two steps that undo
// each other is of another market.
func (j *judge) judgeSteps(steps []jump) {
	splits := j.splits()
	for k := 0; k < len(steps); k++ {
		s := steps[k]
		if j.knownSplit(j.bars.Time[s.bar], s.ratio) || j.unitStep(s) {
			continue
		}
		if splits && (size(1, s.ratio) >= twoForOne && j.splitStep(s) || j.jointStep(s)) {
			continue
		}
		if back := j.undone(steps[k:]); back > 0 {
			j.otherPart(s, steps[k+back])
			k += back
			continue
		}
		if !splits || !j.calm(s) || !j.splitStep(s) {
			j.levelStep(s)
		}
	}
}

// splits tells whether the market may be one of shares: it closes at night or
// has no bars on weekends, unless the user says what it is. The name of the symbol
// decides for currencies and coins, and for markets that trade all day from Monday to Friday.
func (j *judge) splits() bool {
	if j.opt.Class != AnyClass {
		return j.opt.Class == Stock
	}
	if j.opt.Named == Currency || j.opt.Named == Crypto {
		return false
	}
	if j.step == 0 || j.step > daySeconds {
		return true
	}
	weekend, bars := 0, make([]float64, 0, len(j.days))
	for _, d := range j.days {
		if ofWeek(d.date*daySeconds) >= saturdayStart {
			weekend++
			continue
		}
		bars = append(bars, float64(d.to-d.from))
	}
	if 5*weekend > len(j.days) {
		return false
	}
	return !j.intraday() || j.opt.Named == Stock || median(bars)*float64(j.step) <= longestSession
}

// story says from where to where a step goes.
func (j *judge) story(s jump) (at int64, text string) {
	before := j.bars.Close[s.bar-1]
	at = j.bars.Time[s.bar]
	return at, fmt.Sprintf("from %s to %s at %s", price(before), price(before*s.ratio), when(at))
}

// unitStep notes a step by a power of ten.
func (j *judge) unitStep(s jump) bool {
	k := powerOfTen(s.ratio)
	if k == 0 || s.moves < jumpSplit {
		return false
	}
	at, story := j.story(s)
	j.notes.add(UnitJump, Severe, at, at, math.Abs(float64(k)), "prices go %s and stay there: %s times", story, tens(k))
	return true
}

// jointStep notes a step at a bar from which prices have another number of decimals.
func (j *judge) jointStep(s jump) bool {
	if !s.open || !j.nearJoint(s.bar) {
		return false
	}
	at, story := j.story(s)
	j.notes.add(AdjustedJoined, Severe, at, at, s.moves,
		"prices go %s, by %s, and have another number of decimals from there: adjusted prices joined with unadjusted ones",
		story, percent(s.ratio-1))
	return true
}

// splitStep notes a step by the ratio of a split.
func (j *judge) splitStep(s jump) bool {
	n := splitOf(s.ratio)
	if n == "" || s.moves < jumpSplit {
		return false
	}
	severity := Severe
	if !s.open || size(1, s.ratio) < twoForOne {
		severity = Warning
	}
	at, story := j.story(s)
	rule, text := SplitMissed, "prices fall %s and stay there, as at a split of %s that is missed"
	if s.ratio > 1 {
		rule, text = SplitTwice, "prices rise %s and stay there, as where a split of %s is applied twice"
	}
	j.notes.add(rule, severity, at, at, s.moves, text, story, n)
	return true
}

// undone finds the step that undoes the first of steps; 0 if nothing does.
func (j *judge) undone(steps []jump) int {
	s := steps[0]
	if !s.open || s.moves < jumpLevel || size(1, s.ratio) < otherLevel {
		return 0
	}
	for k := 1; k < len(steps) && steps[k].bar-s.bar <= otherBars; k++ {
		total := math.Abs(num.Log(s.ratio) + num.Log(steps[k].ratio))
		if steps[k].open && steps[k].moves >= jumpLevel && total <= comesBack*math.Abs(num.Log(s.ratio)) {
			return k
		}
	}
	return 0
}

func (j *judge) otherPart(s, back jump) {
	b := j.bars
	first, last := b.Time[s.bar], b.Time[back.bar-1]
	n := back.bar - s.bar
	severity := Warning
	if s.moves >= 2*jumpLevel && back.moves >= 2*jumpLevel {
		severity = Severe
	}
	j.notes.add(OtherMarket, severity, first, last, s.moves,
		"the %d bars from %s to %s are at %.4g times the price before and after them", n, when(first), when(last), s.ratio)
}

// levelStep notes an opening that nothing explains. A bar with a wide range is
// news and no joint.
func (j *judge) levelStep(s jump) {
	b, i := j.bars, s.bar
	if s.moves < jumpLevel || !j.calm(s) {
		return
	}
	severity := Warning
	if s.moves >= jumpSevere {
		severity = Severe
	}
	at := b.Time[i]
	j.notes.add(LevelJump, severity, at, at, s.moves,
		"prices go from %s to %s at %s, by %s, and stay there: %.0f usual openings",
		price(b.Close[i-1]), price(b.Open[i]), when(at), percent(s.ratio-1), s.moves)
}

// calm tells whether a step lies between two bars, the second of which has a
// usual range. A bar without one does not show when it moved.
func (j *judge) calm(s jump) bool {
	b, i := j.bars, s.bar
	return s.open && b.High[i] > b.Low[i] && size(b.Low[i], b.High[i]) <= 4*j.scale.width*j.scale.at(i)
}

// knownSplit tells whether the user knows of a split at t of about that ratio.
func (j *judge) knownSplit(t int64, ratio float64) bool {
	for _, s := range j.opt.Splits {
		away := t - s.At.Unix()
		if max(away, -away) <= max(4*daySeconds, 2*j.step) && math.Abs(num.Log(ratio*s.Ratio)) < 0.15 {
			return true
		}
	}
	return false
}

func (j *judge) nearJoint(i int) bool {
	for k := i - 2; k <= i+2; k++ {
		if j.joint[k] {
			return true
		}
	}
	return false
}

// powerOfTen is k where a ratio is about 10^k, and 0 for other ratios.
func powerOfTen(ratio float64) int {
	k := num.Log(ratio) / math.Ln10
	near := math.Round(k)
	if near == 0 || math.Abs(k-near) > 0.05 {
		return 0
	}
	return int(near)
}

// splitOf names the split that a ratio is within 6 % of; "" for other ratios.
func splitOf(ratio float64) string {
	if ratio < 1 {
		ratio = 1 / ratio
	}
	for _, n := range []float64{2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 20, 25, 30, 40, 50} {
		if size(n, ratio) <= 0.06 {
			return fmt.Sprintf("%.0f for 1", n)
		}
	}
	for _, n := range []struct {
		ratio float64
		name  string
	}{{1.5, "3 for 2"}, {4.0 / 3, "4 for 3"}, {1.25, "5 for 4"}} {
		if size(n.ratio, ratio) <= 0.02 {
			return n.name
		}
	}
	return ""
}

// tens is 10^k in sentences.
type tens int

// String writes it out.
func (k tens) String() string {
	if k > 0 {
		return fmt.Sprintf("%.0f", math.Pow10(int(k)))
	}
	return fmt.Sprintf("1/%.0f", math.Pow10(-int(k)))
}

// when is an instant in sentences, Unix seconds. Like price and percent it is written
// out only where its sentence is kept: of a bad file there may be one for each bar.
type when int64

// String writes it out.
func (t when) String() string { return time.Unix(int64(t), 0).UTC().Format("2006-01-02 15:04") }

// price is a price in sentences.
type price float64

// String writes it out.
func (p price) String() string { return fmt.Sprintf("%.6g", float64(p)) }

// percent is a share in sentences.
type percent float64

// String writes it out.
func (share percent) String() string { return fmt.Sprintf("%+.2f %%", 100*float64(share)) }
