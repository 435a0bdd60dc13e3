package designer

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/strategy"
)

// Genome is a design as the search handles it. Sizes are relative: horizons in
// bars, widths in volatilities, fuzzy sets by quantiles; so a genome that did
// well in one market can be a parent in another.
//
//	Genome ──repair──▶ within the ladders and the brief ──write──▶ strategy
//
// Any value may come from memory, or from a later version; repair brings it to
// the nearest one that is allowed.
type Genome struct {
	Idea   Family `json:"idea"` // what it began as
	Inputs []Gene `json:"inputs"`

	Label   strategy.LabelSource `json:"label"`
	Horizon int                  `json:"horizon"` // bars that the label looks ahead
	Width   float64              `json:"width"`   // of the label's barriers, in volatilities over the horizon

	Model    strategy.ModelType `json:"model"`
	Hidden   []int              `json:"hidden"`             // a recurrent network uses the first
	Sequence int                `json:"sequence,omitempty"` // recurrent: bars read for one decision
	Dropout  float64            `json:"dropout"`
	Rate     float64            `json:"rate"` // of learning
	Decay    float64            `json:"decay"`
	Epochs   int                `json:"epochs"`
	Batch    int                `json:"batch"`

	Caution int     `json:"caution"` // rung of the threshold below which the answer is hold
	Short   bool    `json:"short"`
	Flip    bool    `json:"flip"`           // an opposite signal reverses
	Pause   int     `json:"pause"`          // least bars between trades
	Stop    float64 `json:"stop"`           // in volatilities over the horizon; 0: none
	Target  float64 `json:"target"`         // likewise
	Exit    float64 `json:"exit,omitempty"` // in horizons without a signal in its direction, after which a position is closed; 0: never
	Size    float64 `json:"size"`           // of a position, as a fraction of the equity
}

// Gene is one input: a reading, its window, how it is put to the network, and at which bars it is read.
type Gene struct {
	Reading   string    `json:"reading"`
	Period    int       `json:"period"`
	Partition Partition `json:"partition"`

	// Frame is 0 for the bars at which decisions are made, and n for the n-th of the brief's longer timeframes.
	Frame int `json:"frame,omitempty"`

	// Context is 0 for the symbol that is traded, and n for the n-th context symbol of the brief.
	Context int `json:"context,omitempty"`
}

// Partition is how the values of a reading are divided into fuzzy sets.
type Partition string

// The partitions.
const (
	Thirds Partition = "thirds" // low, middle, high, about the quartiles
	Tails  Partition = "tails"  // very low, ordinary, very high, about the outer tenths
	Fifths Partition = "fifths" // five of them
	Raw    Partition = "raw"    // the value itself, normalised
)

var partitions = []Partition{Thirds, Tails, Fifths, Raw}

// The ladders: the values that a gene may have, in order, so that a mutation is a step up or down.
var (
	horizons  = []int{1, 2, 4, 6, 8, 12, 16, 24, 36, 48, 72, 96, 144, 192, 288}
	pauses    = []int{0, 1, 2, 4, 8, 12, 24, 48, 96, 144}
	widths    = []float64{0.25, 0.4, 0.55, 0.75, 1, 1.25}
	stops     = []float64{0, 1.5, 2, 3, 4, 6}
	targets   = []float64{0, 0.75, 1, 1.5, 2, 3}
	exits     = []float64{0, 0.5, 1, 2}
	sizes     = []float64{0.1, 0.25, 0.5, 1}
	dropouts  = []float64{0, 0.05, 0.1, 0.15, 0.2, 0.3}
	rates     = []float64{0.001, 0.0015, 0.002, 0.0025, 0.003, 0.004, 0.005, 0.006, 0.008}
	decays    = []float64{0, 0.00003, 0.0001, 0.0003, 0.001, 0.003}
	epochs    = []int{8, 10, 12, 15}
	batches   = []int{128, 256}
	sequences = []int{6, 8, 12, 16}
	layers    = [][]int{{8}, {12}, {16}, {16, 8}, {24}, {24, 12}, {32}, {32, 16}}
	labels    = []strategy.LabelSource{strategy.TripleBarrier, strategy.Context, strategy.Zigzag, strategy.ForwardReturn}
)

// drawn is labels as often as they are drawn: small networks learn the most from the first two.
var drawn = []strategy.LabelSource{
	strategy.Context, strategy.Context, strategy.Context, strategy.ForwardReturn, strategy.ForwardReturn, strategy.TripleBarrier,
	strategy.Zigzag,
}

// What caution means: the probability that the likeliest of three classes must
// have, and the round trips that a forecast return must pay for.
var (
	confidences = []float64{0.34, 0.35, 0.36, 0.375, 0.39, 0.41, 0.44, 0.48}
	edges       = []float64{0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3}
)

// Bounds of a design's inputs.
const (
	mostInputs   = 5
	simpleInputs = 2
)

func (g Genome) clone() Genome {
	g.Inputs, g.Hidden = slices.Clone(g.Inputs), slices.Clone(g.Hidden)
	return g
}

// fingerprint is a number that tells genomes apart that mean different strategies.
func (g Genome) fingerprint() uint64 {
	g.Idea = ""
	b, err := json.Marshal(g)
	if err != nil {
		panic("designer: a genome that is not JSON: " + err.Error()) // repair leaves only finite numbers
	}
	h := fnv.New64a()
	h.Write(b) // never an error, says package hash
	return h.Sum64()
}

// outline is what makes two designs kin: what they look at and what they are asked. Parameters are left out.
func (g *Genome) outline() string {
	parts := []string{string(g.Label), string(g.Model)}
	for _, x := range g.Inputs {
		name := x.Reading
		if x.Frame > 0 {
			name = fmt.Sprintf("%s@%d", name, x.Frame)
		}
		if x.Context > 0 {
			name = fmt.Sprintf("%s^%d", name, x.Context)
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, "/")
}

// has says whether the genome looks at a reading of a frame.
func (g *Genome) has(name string, frame int) bool {
	return g.hasLike(Gene{Reading: name, Frame: frame})
}

// hasLike says whether the genome looks at the reading of an input where that does.
func (g *Genome) hasLike(as Gene) bool {
	return slices.ContainsFunc(g.Inputs, func(x Gene) bool {
		return x.Reading == as.Reading && x.Frame == as.Frame && x.Context == as.Context
	})
}
