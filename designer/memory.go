package designer

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/strategy"
)

// Experiment is what memory holds of one research.
type Experiment struct {
	Source     string `json:"source,omitempty"` // names it among all
	Generation int    `json:"generation"`
	Index      int    `json:"index"`
	Earlier    bool   `json:"earlier,omitempty"`   // of a run before this one
	Elsewhere  bool   `json:"elsewhere,omitempty"` // on another market

	Strategy string  `json:"strategy,omitempty"` // YAML
	Key      string  `json:"key,omitempty"`      // as in Proposal; empty: from Strategy
	Genome   *Genome `json:"genome,omitempty"`   // nil: from Strategy, as well as it can be told

	Outcome Outcome  `json:"outcome"`
	Open    []string `json:"open,omitempty"` // codes of lessons that it asks for and that were not tried on it
}

// Outcome is how a research ended.
type Outcome struct {
	Reasons   []Refusal `json:"reasons,omitempty"` // why a gate or the verdict rejected it
	Failed    bool      `json:"failed,omitempty"`  // it ended with an error
	Rejected  bool      `json:"rejected,omitempty"`
	Verdict   string    `json:"verdict,omitempty"` // promising, neutral or poor
	Sharpe    *float64  `json:"sharpe,omitempty"`  // of the test part, after costs
	Trades    int       `json:"trades"`
	Collapsed bool      `json:"collapsed,omitempty"`
	Drawdown  float64   `json:"drawdown,omitempty"`   // fraction
	CostShare float64   `json:"cost_share,omitempty"` // costs as a part of the profit before them

	Behaviour *Behaviour `json:"behaviour,omitempty"` // nil without a trade, and in the notes of earlier versions
}

// Brief is the outcome without the shape of its returns, as models and people read it.
func (o Outcome) Brief() Outcome {
	if o.Behaviour != nil {
		o.Behaviour = &Behaviour{Held: o.Behaviour.Held, Exposure: o.Behaviour.Exposure}
	}
	return o
}

// Refusal is a check that a gate or the verdict refused a research for.
type Refusal struct {
	Code  string   `json:"code"` // see lessons
	Value *float64 `json:"value,omitempty"`
	Limit *float64 `json:"limit,omitempty"`
}

// UnmarshalJSON also reads a reason as earlier versions wrote it: a text that begins with a code.
func (r *Refusal) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		code, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		*r = Refusal{Code: strings.ToLower(strings.TrimRight(code, ":,("))}
		return nil
	}
	type plain Refusal
	return json.Unmarshal(data, (*plain)(r))
}

// Promising is the verdict that counts for a design.
const Promising = "promising"

// score is how fit a design is to be a parent. It is not its Sharpe ratio:
// that of few trades is mostly luck and is shrunk, and what a design pays, how
// deep it falls and how much it is made of count against it.
func score(o Outcome, g *Genome) float64 {
	s := -2.0
	if o.Sharpe != nil && !math.IsNaN(*o.Sharpe) {
		n := float64(max(o.Trades, 0))
		s = float64(max(-3, min(4, *o.Sharpe)) * (n / (n + 40)))
		if n == 0 {
			s = -1.5 // it did not even lose
		}
	}
	if o.Failed {
		s = min(s, -3)
	}
	if o.Rejected {
		s -= 0.5
	}
	if o.Collapsed {
		s--
	}
	if o.Verdict == Promising {
		s += 0.5
	}
	s -= float64(0.5 * unit(o.CostShare))
	s -= float64(2 * unit(o.Drawdown))
	return s - float64(perInput*float64(len(g.Inputs))) - float64(perNeuron*float64(neurons(g)))
}

// What a simpler design gains: of two that earn the same, it is the one to believe.
const (
	perInput  = 0.04
	perNeuron = 0.002
)

func neurons(g *Genome) (n int) {
	for _, width := range g.Hidden {
		n += width
	}
	return n
}

// unit brings a share into 0 to 1; NaN counts as 0.
func unit(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(0, min(1, x))
}

type known struct {
	Experiment
	genome Genome
	score  float64
}

// memory is what was tried, as the search uses it.
type memory struct {
	keys    map[string]bool
	parents []known // by (generation, index)
	known   knowledge
}

// recall orders experiments, so that the order in which they were stored says nothing,
// and makes what it can of each. Of what it can make nothing, nothing is learnt.
func (f *frame) recall(past []Experiment) memory {
	list := slices.Clone(past)
	slices.SortStableFunc(list, func(a, b Experiment) int {
		return cmp.Or(before(a.Earlier, b.Earlier), cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Index, b.Index),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Strategy, b.Strategy))
	})
	m := memory{keys: map[string]bool{}}
	kin := map[string]int{}
	for _, e := range list {
		var parsed *strategy.Strategy
		if e.Strategy != "" && (e.Key == "" || e.Genome == nil) {
			parsed, _, _ = strategy.Parse([]byte(e.Strategy), "memory") // what is not valid is not learnt from
		}
		if e.Key == "" && parsed != nil {
			e.Key = keyOf(parsed)
		}
		if e.Key != "" {
			m.keys[e.Key] = true
		}
		g := e.Genome
		if g == nil {
			g = genomeOf(parsed)
		}
		if g == nil || len(g.Inputs) == 0 {
			continue
		}
		repaired := f.repair(*g)
		m.parents = append(m.parents, known{e, repaired, score(e.Outcome, &repaired)})
		kin[repaired.outline()]++
	}
	for i := range m.parents { // many of a kind have had their turn
		p := &m.parents[i]
		p.score -= float64(0.02 * float64(min(kin[p.genome.outline()]-1, 5)))
	}
	m.learn()
	return m
}

func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// genomeOf reads a strategy that the designer did not write as a genome, as far as
// the catalogue knows its inputs; nil where it knows none.
func genomeOf(s *strategy.Strategy) *Genome {
	if s == nil {
		return nil
	}
	t, b := s.Training, s.Backtest
	g := Genome{
		Label: t.Labels.Source, Model: s.Model.Type, Hidden: s.Model.Hidden, Sequence: s.Model.SequenceLength,
		Dropout: s.Model.Dropout, Rate: t.LearningRate, Decay: t.WeightDecay, Epochs: t.Epochs, Batch: t.BatchSize,
		Width: 0.75, Caution: 2, Short: s.Decisions.AllowShort, Flip: b.Flip, Size: b.PositionSize,
	}
	g.Horizon = max(t.Labels.ForwardReturn.Horizon, t.Labels.TripleBarrier.Holding, t.Labels.Context.Horizon)
	if g.Horizon == 0 {
		g.Horizon = 24
	}
	for i, c := range confidences {
		if s.Decisions.Confidence >= c {
			g.Caution = i
		}
	}
	if b.StopLoss > 0 {
		g.Stop = 3
	}
	if b.ExitAfter > 0 {
		g.Exit = snap(exits[1:], float64(b.ExitAfter)/float64(max(1, g.Horizon)))
	}
	if b.TakeProfit > 0 {
		g.Target = 1.5
	}
	for _, c := range s.Columns() {
		if x, ok := geneOf(s, c); ok && !g.has(x.Reading, x.Frame) {
			g.Inputs = append(g.Inputs, x)
		}
	}
	if len(g.Inputs) == 0 {
		return nil
	}
	return &g
}

func geneOf(s *strategy.Strategy, c strategy.Column) (Gene, bool) {
	ind := s.Indicators[c.Ref.Indicator]
	if ind.Symbol != "" { // which context symbol of a brief it is cannot be told
		return Gene{}, false
	}
	_, output, _ := strings.Cut(c.Ref.Name, ".")
	x := Gene{Period: 24, Partition: Raw, Frame: frameOf(s, c.Timeframe)}
	for _, p := range ind.Settings {
		if p.Name == "period" || p.Name == "k_period" || p.Name == "slow_period" || p.Name == "bb_period" || p.Name == "most" {
			x.Period = nearest(periods, int(max(0, min(p.Number, 1000))))
		}
		if p.Text == "EMA" {
			output = "EMA"
		}
	}
	if c.Member != nil {
		x.Partition = Thirds
	}
	for _, r := range readings {
		if r.indicator == ind.Type && (r.output == output || r.name == "ema_distance" && output == "EMA" || r.clock != nil) {
			x.Reading = r.name
			return x, true
		}
	}
	return x, false
}
