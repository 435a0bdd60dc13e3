package train

import (
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/metrics"
)

// What a feature may know of the label. Nothing that is known at a bar's close
// comes near these; a feature that does has been given the answer.
const (
	leakCorrelation = 0.99
	leakAccuracy    = 0.99
)

const (
	surveyed = 20_000 // samples looked at, evenly among all
	bins     = 64     // how finely the range of a feature is looked at
)

type survey struct {
	ds *Dataset
	x  []float64 // the feature under review
	y  []float64 // regression: the targets
	c  []int8    // classification: the classes
}

func newSurvey(ds *Dataset) *survey {
	s := &survey{ds: ds}
	for i := 0; i < len(ds.Train); i += s.step() {
		if row := ds.Train[i]; ds.Classes != nil {
			s.c = append(s.c, ds.Table.Class[row])
		} else {
			s.y = append(s.y, float64(ds.Table.Target[row]))
		}
	}
	s.x = make([]float64, max(len(s.c), len(s.y)))
	return s
}

func (s *survey) step() int { return (len(s.ds.Train) + surveyed - 1) / surveyed }

// feature says what a column of the table knows of the label.
func (s *survey) feature(name string, column int) metrics.LeakReport {
	r := metrics.LeakReport{Feature: name}
	if len(s.x) == 0 {
		return r
	}
	table, step := &s.ds.Table, s.step()
	mean, low, high := 0.0, math.Inf(1), math.Inf(-1)
	for i := range s.x {
		x := float64(table.X[int(s.ds.Train[i*step])*table.Stride+column])
		s.x[i] = x
		mean += x
		low, high = min(low, x), max(high, x)
	}
	mean /= float64(len(s.x))
	switch {
	case low == high:
	case s.ds.Classes == nil:
		r.Correlation = s.withValues(mean)
	default:
		r.Correlation = s.withClasses(mean)
		r.Alone = s.alone(low, high)
	}
	return r
}

// withValues is the size of the correlation of the feature and the targets; 0
// where one of them is constant.
func (s *survey) withValues(mean float64) float64 {
	meanY := 0.0
	for _, y := range s.y {
		meanY += y
	}
	meanY /= float64(len(s.y))
	var xx, xy, yy float64
	for i, x := range s.x {
		dx, dy := x-mean, s.y[i]-meanY
		xx += float64(dx * dx)
		xy += float64(dx * dy)
		yy += float64(dy * dy)
	}
	return correlation(xy, xx, yy)
}

// withClasses is the largest correlation, in size, of the feature and the label being one of the classes.
func (s *survey) withClasses(mean float64) float64 {
	n, xx := float64(len(s.x)), 0.0
	of, count := make([]float64, len(s.ds.Classes)), make([]float64, len(s.ds.Classes))
	for i, x := range s.x {
		d := x - mean
		xx += float64(d * d)
		of[s.c[i]] += d
		count[s.c[i]]++
	}
	most := 0.0
	for c := range of {
		most = max(most, correlation(of[c], xx, count[c]*(1-count[c]/n)))
	}
	return most
}

func correlation(xy, xx, yy float64) float64 {
	if xx == 0 || yy == 0 {
		return 0
	}
	return math.Abs(xy) / math.Sqrt(float64(xx*yy))
}

// alone is the share of the labels that are told right by answering each bin of
// the feature's range with its most frequent class.
func (s *survey) alone(low, high float64) float64 {
	classes := len(s.ds.Classes)
	counts := make([]int, bins*classes)
	scale := bins / (high - low)
	for i, x := range s.x {
		bin := min(int((x-low)*scale), bins-1)
		counts[bin*classes+int(s.c[i])]++
	}
	right := 0
	for b := range bins {
		right += slices.Max(counts[b*classes : (b+1)*classes])
	}
	return float64(right) / float64(len(s.x))
}

// checkLeaks refuses features that know the answer.
func checkLeaks(p *metrics.Preflight, s *survey) {
	train := p.Parts[0]
	most := 0
	for _, n := range train.Classes {
		most = max(most, n)
	}
	// Where one class is nearly all there is, telling it is no feat.
	mixed := float64(most) < 0.95*float64(train.Samples)
	for column, name := range s.ds.Features {
		r := s.feature(name, column)
		p.Leaks = append(p.Leaks, r)
		switch {
		case r.Correlation > leakCorrelation:
			p.Refuse(metrics.CodeLeakage,
				"feature %s has a correlation of %.4f with the label: it is the answer, which nothing known at the close can be",
				name, r.Correlation)
		case r.Alone > leakAccuracy && mixed:
			p.Refuse(metrics.CodeLeakage,
				"feature %s alone tells the label in %.2f %% of the training samples: it knows the answer, which nothing known at the close can", name,
				100*r.Alone)
		}
	}
}
