package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/metrics"
)

// What is too little.
const (
	LeastTraining = 100 // samples, to train at all
	leastJudging  = 30  // samples, for a figure that means something
)

var partNames = [...]string{"training", "validation", "test"}

// checkSamples looks at how many samples there are, and of what.
func checkSamples(p *metrics.Preflight, classes []string, weights int) {
	train := p.Parts[0]
	if train.Samples < LeastTraining {
		p.Refuse(metrics.CodeFewSamples,
			"there are %d training samples (%d were purged) of %d bars, and at least %d are needed: use more data, or labels that end sooner",
			train.Samples, train.Purged, p.Rows, LeastTraining)
	}
	for _, part := range p.Parts[1:] {
		if part.Samples > 0 && part.Samples < leastJudging {
			p.Warn(metrics.CodeFewSamples, "the %s part has only %d samples: its figures are mostly chance", part.Name, part.Samples)
		}
	}
	if weights > train.Samples {
		p.Warn(metrics.CodeOverfit,
			"the network has %d weights and there are %d training samples: it can learn them by heart", weights, train.Samples)
	}
	if classes != nil && train.Samples > 0 {
		checkMix(p, classes)
	}
}

// checkMix looks at the classes of the labels.
func checkMix(p *metrics.Preflight, classes []string) {
	train := p.Parts[0]
	occurring := 0
	for _, n := range train.Classes {
		if n > 0 {
			occurring++
		}
	}
	if occurring < 2 {
		p.Refuse(metrics.CodeLabelMix,
			"all %d training samples have one label (%s): there is nothing to learn; use other labels or their thresholds",
			train.Samples, mixOf(classes, train.Classes))
		return
	}
	for c, name := range classes {
		if later := p.Parts[1].Classes[c] + p.Parts[2].Classes[c]; train.Classes[c] == 0 && later > 0 {
			p.Warn(metrics.CodeLabelMix, "no training sample is %s and %d later ones are: the network cannot know it", name, later)
		}
	}
}

// mixOf reads as "BUY 120, HOLD 0, SELL 98".
func mixOf(classes []string, counts []int) string {
	list := make([]string, len(classes))
	for i, name := range classes {
		list[i] = fmt.Sprintf("%s %d", name, counts[i])
	}
	return strings.Join(list, ", ")
}

// checkFeatures takes over what is known of the inputs.
func checkFeatures(p *metrics.Preflight, r feature.InputReport) {
	p.Inputs = r
	constant := 0
	for _, f := range r.Features {
		if f.Constant {
			constant++
		}
	}
	if constant == len(r.Features) {
		p.Refuse(metrics.CodeInputs, "all %d features are constant in the training samples: the network would see nothing", constant)
	}
	for _, message := range r.Warnings {
		p.Warn(metrics.CodeInputs, "%s", message)
	}
}

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

// withValues is the size of the correlation of the feature and the targets; 0 where one of them is constant.
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
	most := slices.Max(append([]int{0}, train.Classes...))
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
