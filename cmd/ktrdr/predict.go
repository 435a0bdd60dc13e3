package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/train"
)

const predictHelp = `Ask a model about the newest bars of a symbol: what it decides at each close. The
bars are those of the data folder; no backend is needed when MODEL is a file. A
training or a sha256 is fetched from the server.

The last bar is computed twice, at once and bar by bar as live trading would, and
both must agree to the bit.`

func newPredict(a *app) *cobra.Command {
	var (
		symbol string
		last   int
	)
	cmd := &cobra.Command{
		Use: "predict MODEL", Short: "Ask a model about the newest bars", Long: predictHelp,
		Args: exactly(1, "one MODEL: a file, a training or a sha256"), ValidArgsFunction: a.completeModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 1 {
				return usagef("--last must be 1 or more, not %d", last)
			}
			m, err := a.loadModel(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.predict(m, symbol, last)
		},
	}
	cmd.Flags().StringVar(&symbol, "symbol", "", "`SYMBOL` (default: the one that the model was trained on)")
	cmd.Flags().IntVar(&last, "last", 5, "how many bars")
	_ = cmd.RegisterFlagCompletionFunc("symbol", a.completeSymbols)
	return cmd
}

// maxModelFile bounds what is read of a model.
const maxModelFile = 64 << 20

// loadModel reads a model from a file, or from the server.
func (a *app) loadModel(ctx context.Context, arg string) (*train.Model, error) {
	f, err := os.Open(arg)
	var r io.ReadCloser = f
	if errors.Is(err, fs.ErrNotExist) {
		c, connectErr := a.connect()
		if connectErr != nil {
			return nil, connectErr
		}
		r, err = openModel(ctx, c, arg)
		err = a.explain(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxModelFile+1)) // to its end, where the server's bytes are checked
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", arg, err)
	}
	m, err := train.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", arg, err)
	}
	return m, nil
}

// predicted is what a model says of a bar.
type predicted struct {
	Time       time.Time `json:"time"`   // opening of the bar
	Closed     time.Time `json:"closed"` // when it was known
	Close      float64   `json:"close"`
	Signal     string    `json:"signal"` // BUY, HOLD or SELL
	Confidence float32   `json:"confidence"`
	Answers    []float32 `json:"answers"` // probabilities of the classes, or the forecast return; empty without features
}

// prediction is what predict prints.
type prediction struct {
	Strategy  string           `json:"strategy_name"`
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Classes   []string         `json:"classes,omitempty"`
	Bars      []predicted      `json:"bars"`
}

func (a *app) predict(m *train.Model, symbol string, last int) error {
	if symbol == "" {
		symbol = m.Info.Sources[0].Symbol
	}
	data := train.Series{Symbol: symbol}
	for _, tf := range m.Strategy.Data.Timeframes {
		b, c, err := a.openSeries(series{symbol, tf})
		if err != nil {
			return err
		}
		defer c.Close()
		data.Bars = append(data.Bars, b)
	}
	said, err := train.Predict(m, data)
	if err != nil {
		return err
	}
	if err := verifyLive(m, data, said); err != nil {
		return err
	}
	base := data.Bars[slices.IndexFunc(data.Bars, func(b *market.Bars) bool { return b.Timeframe == said.Timeframe })]
	out := prediction{m.Strategy.Name, symbol, said.Timeframe, m.Strategy.Training.Labels.Classes(), []predicted{}}
	for i := max(0, base.Len()-last); i < base.Len(); i++ {
		out.Bars = append(out.Bars, predictedAt(base, said, i))
	}
	return a.print(out, func(w io.Writer) { printPrediction(w, out) })
}

func predictedAt(base *market.Bars, said *train.Signals, i int) predicted {
	p := predicted{
		Time: instant(base.Time[i]), Closed: instant(base.Timeframe.End(base.Time[i])), Close: base.Close[i],
		Signal: signalName(said.Signal[i]), Confidence: said.Confidence[i], Answers: []float32{},
	}
	if x := said.Answer(i); !math.IsNaN(float64(x[0])) {
		p.Answers = x
	}
	return p
}

func signalName(s backtest.Signal) string {
	switch s {
	case backtest.Buy:
		return "BUY"
	case backtest.Sell:
		return "SELL"
	}
	return "HOLD"
}

func printPrediction(w io.Writer, p prediction) {
	fmt.Fprintf(w, "%s on %s %s\n", plain(p.Strategy), p.Symbol, p.Timeframe)
	table(w, "BAR\tCLOSE\tSIGNAL\tCONFIDENCE\tANSWERS", func(row func(...any)) {
		for _, b := range p.Bars {
			row(minute(b.Time.Unix()), six(b.Close), b.Signal, fmt.Sprintf("%.3f", b.Confidence), answersText(p.Classes, b.Answers))
		}
	})
}

// answersText is what the network said: the probability of each class, or the
// return that it expects.
func answersText(classes []string, answers []float32) string {
	switch {
	case len(answers) == 0:
		return "no features yet"
	case len(classes) != len(answers):
		return fmt.Sprintf("%+.6f", answers[0])
	}
	texts := make([]string, len(answers))
	for i, x := range answers {
		texts[i] = fmt.Sprintf("%s %.3f", classes[i], x)
	}
	return strings.Join(texts, "  ")
}

// verifyLive computes the last answer again from bars that arrive one by one.
// What would be traded tomorrow must be what was tested.
func verifyLive(m *train.Model, data train.Series, said *train.Signals) error {
	live, window := feature.NewLive(m.Strategy), m.Strategy.Model.Window()
	var rows [][]float32 // the last rows, as the network sees them
	known := 0           // rows in a row that have every feature
	err := arrivals(data.Bars, said.Timeframe, func(tf market.Timeframe, b market.Bar) error {
		row, defined, err := live.Push(tf, b)
		if err != nil || tf != said.Timeframe {
			return err
		}
		known++
		if !defined {
			known = 0
		}
		row = slices.Clone(row)
		m.Info.Norm.Row(row)
		rows = append(rows, row)
		if len(rows) > window {
			rows = rows[1:]
		}
		return nil
	})
	at := len(said.Signal) - 1
	if err != nil || at < 0 || known < window || at < m.Strategy.Data.History {
		return err
	}
	stride := len(rows[0])
	table := neural.Dataset{Rows: len(rows), Inputs: len(m.Info.Features), Stride: stride, X: slices.Concat(rows...)}
	answer := make([]float32, said.Outputs)
	if err := neural.NewPredictor(m.Net, 1).Predict(&table, []int32{int32(len(rows) - 1)}, answer); err != nil {
		return err
	}
	m.Answers(answer)
	if !slices.Equal(answer, said.Answer(at)) {
		return fmt.Errorf("at the last bar the model answers %v when all bars are there and %v when they arrive one by one: please report this, and do not trade it", said.Answer(at), answer)
	}
	return nil
}

// arrivals gives the bars in the order in which they close, longer ones first.
func arrivals(all []*market.Bars, base market.Timeframe, take func(market.Timeframe, market.Bar) error) error {
	next := make([]int, len(all))
	for {
		first := -1
		for i, b := range all {
			if next[i] == b.Len() {
				continue
			}
			if first < 0 {
				first = i
				continue
			}
			mine, best := b.Timeframe.End(b.Time[next[i]]), all[first].Timeframe.End(all[first].Time[next[first]])
			if mine < best || mine == best && all[first].Timeframe == base {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		b := all[first]
		if err := take(b.Timeframe, b.At(next[first])); err != nil {
			return err
		}
		next[first]++
	}
}
