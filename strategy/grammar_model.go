package strategy

// Bounds of a network. maxWeights is four million: what is larger has no place in a night of many.
const (
	maxLayers  = 16
	maxWidth   = 1024
	maxWindow  = 512
	maxWeights = 1 << 22
)

func (m *Model) grammar() shape {
	dropout := field{name: "dropout", shape: number{&m.Dropout, 0, 0.95, false}, doc: "chance that training drops a value"}
	recurrent := func(t ModelType) alternative[ModelType] {
		return m.alternative(t, Model{Type: t, HiddenSize: 64, Layers: 2, Dropout: 0.2}, fields{
			{name: "sequence_length", required: true, shape: integer{&m.SequenceLength, 2, maxWindow}, doc: "bars read for one decision"},
			{name: "hidden_size", shape: integer{&m.HiddenSize, 1, maxWidth}},
			{name: "num_layers", shape: integer{&m.Layers, 1, maxLayers}},
			dropout,
			{name: "activation", shape: refused{"a recurrent network has its own activations; remove it"}},
		})
	}
	return variant[ModelType]{tag: "type", into: &m.Type, cases: []alternative[ModelType]{
		m.alternative(MLP, Model{Type: MLP, Activation: ReLU, Dropout: 0.2}, fields{
			{
				name: "hidden_layers", required: true,
				shape: list[int]{into: &m.Hidden, max: maxLayers, item: func(x *int) shape { return integer{x, 1, maxWidth} }},
				doc:   "widths of the hidden layers",
			},
			{name: "activation", shape: oneOf[Activation]{&m.Activation, []Activation{ReLU, Tanh, Sigmoid, LeakyReLU}}},
			dropout,
		}),
		recurrent(LSTM), recurrent(GRU),
	}}
}

func (m *Model) alternative(t ModelType, defaults Model, architecture fields) alternative[ModelType] {
	architecture = append(architecture, field{
		name:  "output_activation",
		shape: refused{"it cannot be chosen: a classification answers by softmax, a regression by the number itself; remove it"},
	})
	return alternative[ModelType]{t, func() { *m = defaults }, fields{
		{name: "architecture", required: true, shape: architecture},
		{
			name: "features",
			shape: refused{"version 3 has no model.features: what the network sees is nn_inputs, and a recurrent network's sequence_length says " +
				"how far back"},
		},
		{name: "training", shape: refused{"version 3 has no model.training: put these keys into training"}},
	}}
}

func (d *Decisions) grammar() fields {
	classes := func() bool { return d.Output == Classification }
	return fields{
		{
			name: "output_format", shape: oneOf[OutputFormat]{&d.Output, []OutputFormat{Classification, Regression}},
			doc: "regression for forward_return labels, classification for all others",
		},
		{
			name: "confidence_threshold", shape: number{&d.Confidence, 0, 1, false}, when: classes,
			doc: "probability below which the answer is hold",
		},
		{
			name: "position_awareness", shape: always{"there is one position, and a signal in its direction is held; remove it, or set it to true"},
			doc: "hold on a signal in the direction of the position, which is always so",
		},
		{
			name: "allow_short_from_flat", shape: flag{&d.AllowShort},
			doc: "a sell signal without a position opens a short one; true for a regression if not given",
		},
		{name: "filters", shape: fields{
			{name: "min_signal_separation", shape: hours{&d.Separation}, doc: "hours between trades"},
		}},
		{name: "cost_model", shape: section{begin: func() { d.Cost = CostModel{0.003, 1.5} }, fields: fields{
			{name: "round_trip_cost", shape: number{&d.Cost.RoundTrip, 0, 1, true}, doc: "cost of buying and selling, as a fraction"},
			{
				name: "min_edge_multiplier", shape: number{&d.Cost.MinEdge, 0, 1000, true},
				doc: "times that cost which an expected return must exceed",
			},
		}}, when: func() bool { return !classes() }, doc: "of a regression, which needs it"},
	}
}

func (b *Backtest) grammar() fields {
	rate := func(x *float64) shape { return number{x, 0, 0.2, false} }
	return fields{
		{name: "date_range", shape: b.Span.grammar(), doc: "stretch of the data to test on"},
		{name: "initial_capital", shape: number{&b.InitialCapital, 0, 1e15, true}},
		{name: "commission", shape: rate(&b.Commission), doc: "rate of the traded value, each side"},
		{name: "slippage", shape: rate(&b.Slippage), doc: "rate of the price, each side"},
		{name: "spread", shape: rate(&b.Spread), doc: "bid to ask, as a rate of the price"},
		{
			name: "size_mode", shape: oneOf[SizeMode]{&b.SizeMode, []SizeMode{SizeFraction, SizeUnits, SizeRisk}},
			doc: "what position_size is: a fraction of the equity, units, or the fraction lost at the stop",
		},
		{name: "position_size", shape: number{&b.PositionSize, 0, 1e15, true}},
		{name: "lot_size", shape: number{&b.LotSize, 0, 1e15, false}, doc: "quantities are multiples of it; 0 for any"},
		{name: "leverage", shape: number{&b.Leverage, 1, 100, false}},
		{name: "stop_loss", shape: number{&b.StopLoss, 0, 0.99, false}, doc: "fraction of the entry price; 0 for none"},
		{name: "take_profit", shape: number{&b.TakeProfit, 0, 1000, false}, doc: "fraction of the entry price; 0 for none"},
		{
			name: "exit_after", shape: integer{&b.ExitAfter, 0, 100_000}, when: func() bool { return b.ExitAfter > 0 },
			doc: "bars without a signal in its direction after which a position is closed; 0 for never",
		},
		{name: "flip", shape: flag{&b.Flip}, doc: "an opposite signal closes and reverses at once"},
	}
}
