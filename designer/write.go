package designer

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/strategy"
)

// write makes the strategy of a repaired genome. Its name comes from what it
// means, so that one design has one name and one hash.
func (f *frame) write(g *Genome, description string) (*strategy.Strategy, string, error) {
	s, err := f.parse(g, "design", "")
	if err != nil {
		return nil, "", err
	}
	key := keyOf(s)
	name := strings.ReplaceAll(string(g.Idea), " ", "_") + "_" + key[:8]
	if s, err = f.parse(g, name, description); err != nil {
		return nil, "", err
	}
	return s, key, nil
}

// keyOf identifies what a strategy means, whatever it is called.
func keyOf(s *strategy.Strategy) string {
	nameless := *s
	nameless.Name = "design"
	h := nameless.Hash()
	return hex.EncodeToString(h[:16])
}

func (f *frame) parse(g *Genome, name, description string) (*strategy.Strategy, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nversion: %q\n", name, strategy.Version)
	if description != "" {
		fmt.Fprintf(&b, "description: %s\n", strconv.QuoteToASCII(description))
	}
	f.writeData(&b, g)
	f.writeInputs(&b, g)
	f.writeModel(&b, g)
	f.writeDecisions(&b, g)
	f.writeTraining(&b, g)
	f.writeBacktest(&b, g)
	s, _, err := strategy.Parse([]byte(b.String()), name)
	if err != nil {
		return nil, fmt.Errorf("a design came out as no valid strategy: %w", err)
	}
	return s, nil
}

// warmUp is about how many bars a reading of period n needs: indicators smooth twice at most.
func (f *frame) warmUp(g *Genome) int {
	longest := 0
	for _, x := range g.Inputs {
		longest = max(longest, f.ratio(x.Frame)*x.Period)
	}
	return 3*longest + 30 + g.Sequence
}

func (f *frame) writeData(b *strings.Builder, g *Genome) {
	b.WriteString("training_data:\n")
	if len(f.brief.Symbols) == 1 {
		fmt.Fprintf(b, "  symbols: {mode: single, symbol: %q}\n", f.brief.Symbols[0])
	} else {
		fmt.Fprintf(b, "  symbols: {mode: multi_symbol, symbols: [%s]}\n", strings.Join(text.Map(f.brief.Symbols, strconv.Quote), ", "))
	}
	if context := f.contextSymbols(g); len(context) > 0 {
		fmt.Fprintf(b, "  context_symbols: [%s]\n", strings.Join(text.Map(context, strconv.Quote), ", "))
	}
	f.writeTimeframes(b, g)
	fmt.Fprintf(b, "  history_required: %d\n", max(50, f.warmUp(g)))
}

func (f *frame) writeInputs(b *strings.Builder, g *Genome) {
	var indicators, fuzzySets, inputs strings.Builder
	for _, x := range g.Inputs {
		r, _ := find(x.Reading)
		name, at := f.named(x), f.readAt(g, x)
		ref := name
		if r.output != "" {
			ref += "." + r.output
		}
		fmt.Fprintf(&indicators, "  %s: {type: %s", name, r.indicator)
		if x.Context > 0 {
			fmt.Fprintf(&indicators, ", symbol: %q", f.brief.Context[x.Context-1])
		}
		for _, s := range r.set(x.Period) {
			fmt.Fprintf(&indicators, ", %s: %s", s.name, s.value)
		}
		indicators.WriteString("}\n")
		if x.Partition == Raw {
			writeRaw(&inputs, r, name, ref, at)
			continue
		}
		fmt.Fprintf(&fuzzySets, "  %s:\n    indicator: %s\n", name, ref)
		for _, m := range f.members(x, r) {
			fmt.Fprintf(&fuzzySets, "    %s: {type: %s, parameters: [%s]}\n", m.name, m.shape, m.parameters())
		}
		fmt.Fprintf(&inputs, "  - {fuzzy_set: %s, timeframes: %s}\n", name, at)
	}
	b.WriteString("indicators:\n" + indicators.String())
	if fuzzySets.Len() == 0 {
		b.WriteString("fuzzy_sets: {}\n")
	} else {
		b.WriteString("fuzzy_sets:\n" + fuzzySets.String())
	}
	b.WriteString("nn_inputs:\n" + inputs.String())
}

// writeRaw writes the values of a reading as inputs.
func writeRaw(b *strings.Builder, r reading, name, ref, at string) {
	if r.clock == nil {
		fmt.Fprintf(b, "  - {raw_indicator: %s, timeframes: %s, normalization: zscore}\n", ref, at)
		return
	}
	for _, output := range r.clock.around {
		fmt.Fprintf(b, "  - {raw_indicator: %s.%s, timeframes: %s, normalization: none}\n", name, output, at)
	}
}

// number writes four digits: more would be a false precision in a fuzzy set.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

type member struct {
	name, shape string
	at, slope   float64 // centre and slope of a sigmoid, mean and deviation of a gaussian, middle and half the width of a triangle
}

// members are the fuzzy sets of an input.
func (f *frame) members(x Gene, r reading) []member {
	if x.Partition == Each {
		return r.clock.values(f.brief.Timeframe)
	}
	c, _ := f.statsOf(x).column(x.Reading, x.Period)
	return x.Partition.members(c.Quantiles)
}

// sets are what those of a partition are called, and the quantiles that they lie about.
var sets = map[Partition][]struct {
	name     string
	quantile int
}{
	Thirds: {{"low", q25}, {"middle", q50}, {"high", q75}},
	Tails:  {{"very_low", q10}, {"ordinary", q50}, {"very_high", q90}},
	Fifths: {{"very_low", q10}, {"low", q25}, {"middle", q50}, {"high", q75}, {"very_high", q90}},
}

// members lays fuzzy sets over where the values are. Each is as wide as the
// larger gap to its neighbours, so that none is between two sets, and the outer
// ones are open to their side, so that none is beyond them. Where quantiles fall
// together (a direction has only two values) the whole range gives the width.
func (p Partition) members(q [7]float64) []member {
	list := sets[p]
	at := func(i int) float64 { return q[list[min(max(i, 0), len(list)-1)].quantile] }
	least := (q[q98] - q[q02]) / 16
	out := make([]member, len(list))
	for i, x := range list {
		width := max(0.75*(at(i)-at(i-1)), 0.75*(at(i+1)-at(i)), least)
		switch i {
		case 0:
			out[i] = member{x.name, "sigmoid", at(i), -2 / width}
		case len(list) - 1:
			out[i] = member{x.name, "sigmoid", at(i), 2 / width}
		default:
			out[i] = member{x.name, "gaussian", at(i), width}
		}
	}
	return out
}

func (f *frame) writeModel(b *strings.Builder, g *Genome) {
	if g.Model != strategy.MLP {
		fmt.Fprintf(b, "model: {type: %s, architecture: {sequence_length: %d, hidden_size: %d, num_layers: 1, dropout: %v}}\n",
			g.Model, g.Sequence, g.Hidden[0], g.Dropout)
		return
	}
	fmt.Fprintf(b, "model: {type: mlp, architecture: {hidden_layers: [%s], activation: relu, dropout: %v}}\n",
		strings.Join(text.Map(g.Hidden, strconv.Itoa), ", "), g.Dropout)
}

func (f *frame) writeDecisions(b *strings.Builder, g *Genome) {
	const most = 24 * 365 // hours, by the grammar
	pause := min(float64(g.Pause)*(float64(f.brief.Timeframe.End(0))/3600), most)
	fmt.Fprintf(b, "decisions:\n  position_awareness: true\n  allow_short_from_flat: %v\n  filters: {min_signal_separation: %v}\n",
		g.Short, pause)
	if g.Label != strategy.ForwardReturn {
		fmt.Fprintf(b, "  output_format: classification\n  confidence_threshold: %v\n", confidences[g.Caution])
		return
	}
	// Where trading is free a forecast must still stand out from none at all.
	roundTrip := max(2*f.cost.PerSide(), f.brief.Stats.Volatility/20)
	fmt.Fprintf(b, "  output_format: regression\n  cost_model: {round_trip_cost: %s, min_edge_multiplier: %v}\n", number(roundTrip),
		edges[g.Caution])
}

// reach is how far the market typically moves within the horizon.
func (f *frame) reach(g *Genome) float64 {
	return f.brief.Stats.Volatility * math.Sqrt(float64(g.Horizon))
}

func (f *frame) writeTraining(b *strings.Builder, g *Genome) {
	b.WriteString("training:\n  labels: ")
	move := min(float64(g.Width*f.reach(g)), 0.9)
	switch g.Label {
	case strategy.ForwardReturn:
		fmt.Fprintf(b, "{source: forward_return, horizon: %d}\n", g.Horizon)
	case strategy.Context:
		fmt.Fprintf(b, "{source: context, horizon: %d, bullish_threshold: %s, bearish_threshold: %s}\n", g.Horizon, number(move), number(-move))
	case strategy.Zigzag:
		fmt.Fprintf(b, "{source: zigzag, zigzag_threshold: %s}\n", number(min(2*move, 0.9)))
	default:
		// The same distance up and down: which is touched first must not hang on which is nearer.
		barrier := number(g.Width * math.Sqrt(float64(g.Horizon)))
		fmt.Fprintf(b,
			"{source: triple_barrier, pt_multiplier: %s, sl_multiplier: %s, max_holding_period: %d, vol_span: 50, vol_method: ewm, "+
				"compute_weights: true}\n", barrier, barrier, g.Horizon)
	}
	fmt.Fprintf(b, "  epochs: %d\n  batch_size: %d\n  learning_rate: %v\n  weight_decay: %v\n", g.Epochs, g.Batch, g.Rate, g.Decay)
	if !validated(g) {
		fmt.Fprintf(b, "  data_split: {train: %v, validation: 0, test: %v}\n", shareOfTrain+shareOfValidation, shareOfTest)
		return
	}
	b.WriteString("  early_stopping: {enabled: true, patience: 5, min_delta: 0, monitor: val_loss}\n")
	fmt.Fprintf(b, "  data_split: {train: %v, validation: %v, test: %v}\n", shareOfTrain, shareOfValidation, shareOfTest)
}

// validated says whether a design keeps a validation part to choose its best epoch by.
// A small network on one or two readings does not overfit in a few epochs. It learns
// more from the bars than it gains by a choice that a short part makes at random.
func validated(g *Genome) bool {
	return g.Model != strategy.MLP || len(g.Hidden) > 1 || len(g.Inputs) > simpleInputs
}

func (f *frame) writeBacktest(b *strings.Builder, g *Genome) {
	size := g.Size
	if f.brief.Risk > 0 {
		size = f.brief.Risk
	}
	fmt.Fprintf(b, "backtest:\n  commission: %v\n  slippage: %v\n  spread: %v\n  position_size: %v\n  flip: %v\n",
		f.cost.Commission, f.cost.Slippage, f.cost.Spread, size, g.Flip)
	if g.Exit > 0 {
		fmt.Fprintf(b, "  exit_after: %d\n", exitAfter(g.Exit, g.Horizon))
	}
	if f.brief.Risk > 0 {
		b.WriteString("  size_mode: risk\n")
	}
	writeExit(b, "stop_loss", f.brief.Stop.At, min(g.Stop*f.reach(g), 0.5))
	writeExit(b, "take_profit", f.brief.Target.At, min(g.Target*f.reach(g), 0.9))
}

// exitAfter is the gene of the exit in bars.
func exitAfter(exit float64, horizon int) int { return max(1, int(exit*float64(horizon))) }

// writeExit writes the distance that the brief gives, else the design's.
func writeExit(b *strings.Builder, name string, given, own float64) {
	if x := cmp.Or(given, own); x > 0 {
		fmt.Fprintf(b, "  %s: %s\n", name, number(x))
	}
}
