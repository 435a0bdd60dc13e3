package train

import (
	"fmt"
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
