package evidence

import "github.com/ktrdr/ktrdr/num"

// Frozen is what a claim is followed with. All of it follows from the claim, and
// nothing from a bar after it.
type Frozen struct {
	Mean  float64 `json:"mean_per_exposure"` // claimed net return per bar, for each unit of exposure
	Edge  float64 `json:"edge_fraction"`     // fractions of the largest bet: see NewEProcess
	Decay float64 `json:"decay_fraction"`
}

// Freeze reads a claim from the stakes of its holdout. share is how much of the measured
// Sharpe ratio is left after the correction for selection, from 0 to 1.
func Freeze(holdout []Stake, share float64) Frozen {
	var sum, exposure float64
	for _, s := range holdout {
		sum += s.Return
		exposure += s.Exposure
	}
	if exposure == 0 {
		return Frozen{Edge: least, Decay: least}
	}
	measured := sum / exposure
	f := Frozen{Mean: float64(measured * min(max(share, 0), 1))}
	var edge, decay []float64
	for _, s := range holdout {
		if s.Loss == 0 || s.Gain == 0 {
			continue
		}
		claimed := float64(f.Mean * s.Exposure)
		rest := s.Return - float64(measured*s.Exposure) // as if nothing were earned
		edge = append(edge, (rest+claimed)/s.Loss)
		decay = append(decay, (float64(claimed/2)-rest)/s.Gain)
	}
	f.Edge, f.Decay = kelly(edge), kelly(decay)
	return f
}

// Living is what the bars after a claim have shown.
//
//	Edge   null: the conditional mean of the net return is at most 0       crossed: the claim lives
//	Decay  null: it is at least half of what was claimed                   crossed: the claim is retired
//
// The payoff of Edge is the return over the worst loss of the bar: losses count in full. The
// payoff of Decay is what is missing to half the claim over the best gain of the bar: gains
// count in full. A bar without a position and without an order is no bet.
type Living struct {
	Bars     int      `json:"bars"`            // after the claim
	First    int64    `json:"first,omitempty"` // opening of the first of them, Unix seconds
	Last     int64    `json:"last,omitempty"`
	Exposed  int      `json:"exposed_bars"` // of them with something at stake
	Mean     float64  `json:"mean_return"`  // per bar
	M2       float64  `json:"m2"`           // sum of the squared distances from the mean
	Growth   float64  `json:"growth"`       // what one unit of money has become
	Edge     EProcess `json:"edge"`
	Decay    EProcess `json:"decay"`
	HalfMean float64  `json:"half_mean"` // of the null of Decay, per exposure
}

// NewLiving begins to follow a claim.
func NewLiving(f Frozen) Living {
	return Living{Growth: 1, Edge: NewEProcess(f.Edge), Decay: NewEProcess(f.Decay), HalfMean: f.Mean / 2}
}

// Add takes the next bar.
func (l *Living) Add(s Stake) {
	l.Bars++
	if l.First == 0 {
		l.First = s.Time
	}
	l.Last = s.Time
	d := s.Return - l.Mean
	l.Mean += d / float64(l.Bars)
	l.M2 += float64(d * (s.Return - l.Mean))
	l.Growth *= 1 + s.Return
	if s.Loss == 0 && s.Return == 0 {
		return
	}
	l.Exposed++
	l.Edge.step(s.Time, payoff(s.Return, s.Loss))
	l.Decay.step(s.Time, payoff(float64(l.HalfMean*s.Exposure)-s.Return, s.Gain))
}

// payoff is x over what was at stake. Nothing can be lost where nothing is: a loss there breaks
// the process.
func payoff(x, stake float64) float64 {
	switch {
	case stake > 0:
		return x / stake
	case x < 0:
		return -2
	}
	return 0
}

// Sharpe is the Sharpe ratio per bar so far; nil where it is undefined.
func (l *Living) Sharpe() *float64 {
	if l.Bars < fewest || l.M2 <= 0 {
		return nil
	}
	m := num.Moments{N: l.Bars, Mean: l.Mean, M2: l.M2}
	return num.Finite(l.Mean / m.Deviation())
}

// Adjusted is the adjuster A(x) = x^0.8 / 5 of the running maximum of an e-process
// (Shafer, Shen, Vereshchagin and Vovk 2011): ∫ A(x)/x² dx from 1 on is 1, and so it is an
// e-value at every moment, also where the process itself has fallen since.
func Adjusted(largest float64) float64 { return num.Pow(max(largest, 1), 0.8) / 5 }

// Discoveries says which of several claims are false with a false-discovery rate of at
// most level, at every moment and however they depend on each other: e-BH (Wang and
// Ramdas 2022) on adjusted running maxima (Tavyrikov, Goeman and de Heide 2025). largest
// holds the running maximum of each claim. needed is the adjusted e-value that the next
// discovery needs.
func Discoveries(largest []float64, level float64) (discovered []bool, needed float64) {
	m := float64(len(largest))
	found := 0
	for k := len(largest); k > 0; k-- {
		n := 0
		for _, x := range largest {
			if Adjusted(x) >= m/float64(level*float64(k)) {
				n++
			}
		}
		if n >= k {
			found = k
			break
		}
	}
	discovered = make([]bool, len(largest))
	needed = m / float64(level*float64(min(found+1, len(largest))))
	for i, x := range largest {
		discovered[i] = found > 0 && Adjusted(x) >= m/float64(level*float64(found))
	}
	return discovered, needed
}
