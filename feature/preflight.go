package feature

import (
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/strategy"
)

// InputReport is what is known before a training is paid for.
type InputReport struct {
	Rows     int             `json:"rows"`     // samples looked at
	Features []FeatureReport `json:"features"` // in order
	Sets     []SetReport     `json:"fuzzy_sets,omitempty"`
	Classes  []ClassReport   `json:"classes,omitempty"`
	Warnings []string        `json:"warnings,omitempty"` // sentences for people
}

// FeatureReport is one feature over the samples.
type FeatureReport struct {
	Name      string  `json:"name"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Constant  bool    `json:"constant"`            // it carries no information
	Undefined int     `json:"undefined,omitempty"` // rows after the warm-up that have no value and are no samples
}

// SetReport is one fuzzy set on one timeframe.
type SetReport struct {
	Timeframe string  `json:"timeframe"`
	Set       string  `json:"fuzzy_set"`
	Dead      float64 `json:"dead"` // share of the samples in which no membership says anything
}

// ClassReport is one class of the labels.
type ClassReport struct {
	Name  string  `json:"name"`
	Count int     `json:"count"`
	Share float64 `json:"share"`
}

// What is worth a warning.
const (
	deadShare   = 0.2
	rareShare   = 0.01
	commonShare = 0.95
)

// faint is the degree below which a membership says nothing: a network cannot
// tell it from 0. Where all of a set are faint it is a dead zone: the network
// cannot know whether the value is far above or far below.
const faint = 1e-6

// Preflight looks at the rows that will be trained on and at the number of
// labels of each class (nil for a regression): constant features, fuzzy sets
// that leave values uncovered, labels that are nearly all alike.
func Preflight(s *strategy.Strategy, m *Matrix, rows []int32, classes []int) InputReport {
	r := InputReport{Rows: len(rows)}
	for k, name := range m.Names {
		f := FeatureReport{Name: name, Undefined: m.Undefined[k]}
		f.Min, f.Max = valueRange(m, rows, k)
		f.Constant = !(f.Max > f.Min)
		r.Features = append(r.Features, f)
		if f.Constant {
			r.warn("feature %s has one value in all %d samples: the network learns nothing from it", name, len(rows))
		}
		if f.Undefined > 0 {
			r.warn("feature %s has no value in %d bars after the warm-up, which are left out", name, f.Undefined)
		}
	}
	r.sets(s, m, rows)
	r.labels(s.Training.Labels.Classes(), classes)
	return r
}

func (r *InputReport) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// valueRange is 0 to 0 without rows, which JSON can hold.
func valueRange(m *Matrix, rows []int32, k int) (least, most float64) {
	if len(rows) == 0 {
		return 0, 0
	}
	least, most = math.Inf(1), math.Inf(-1)
	for _, i := range rows {
		x := float64(m.X[int(i)*m.Stride+k])
		least, most = min(least, x), max(most, x)
	}
	return least, most
}

// sets reports the fuzzy sets. The memberships of one on one timeframe are neighbouring columns.
func (r *InputReport) sets(s *strategy.Strategy, m *Matrix, rows []int32) {
	k := 0
	for _, in := range s.Inputs {
		for _, tf := range in.Timeframes {
			if in.IsRaw() {
				k++
				continue
			}
			width := len(s.FuzzySets[in.Set].Members)
			dead := 0
			for _, i := range rows {
				if !slices.ContainsFunc(m.Row(int(i))[k:k+width], func(v float32) bool { return v >= faint }) {
					dead++
				}
			}
			k += width
			share := part(dead, len(rows))
			r.Sets = append(r.Sets, SetReport{string(tf), in.Fuzzy, share})
			if share > deadShare {
				r.warn("fuzzy set %s on %s says nothing in %.0f %% of the samples: widen its memberships, or add the raw indicator", in.Fuzzy,
					tf, 100*share)
			}
		}
	}
}

func (r *InputReport) labels(names []string, counts []int) {
	total := 0
	for _, n := range counts {
		total += n
	}
	for i, n := range counts {
		c := ClassReport{names[i], n, part(n, total)}
		r.Classes = append(r.Classes, c)
		switch {
		case c.Share > commonShare:
			r.warn("%.1f %% of the labels are %s: a network that always says so looks good and knows nothing", 100*c.Share, c.Name)
		case c.Share < rareShare:
			r.warn("only %d of %d labels are %s", n, total, c.Name)
		}
	}
}

func part(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
