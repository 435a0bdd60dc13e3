package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
)

const predictHelp = `Show the decisions of a model at the newest closes of a symbol. MODEL is the id of a
training (or its beginning), the sha256 of a model, or a model file, which is
uploaded. The bars are those of the server's library.

The bars end where the holdout of the market begins. --open-holdout shows the
decisions in the holdout too. That is a look: it is counted, and every later claim on
this market needs stronger evidence. The same model on the same bars is counted once.
See ` + "`ktrdr data list`" + ` for the markets and their looks.

The last bar is computed twice: at once, and bar by bar as in live trading. Both
results must be identical.`

func newPredict(a *app) *cobra.Command {
	var r jobs.PredictionRequest
	cmd := &cobra.Command{
		Use: "predict MODEL", Short: "Show the decisions of a model at the newest bars", Long: predictHelp,
		Args: exactly(1, "one MODEL: a training, a sha256 or a file"), ValidArgsFunction: a.completeModels,
	}
	f := cmd.Flags()
	f.StringVar(&r.Symbol, "symbol", "", "`SYMBOL` (default: the one that the model was trained on)")
	f.IntVar(&r.Last, "last", 5, "how many bars")
	f.BoolVar(&r.OpenHoldout, "open-holdout", false, "read into the holdout; this is counted as a look")
	_ = cmd.RegisterFlagCompletionFunc("symbol", a.completeSymbols)
	ask := a.asking(func(ctx context.Context, c *client.Client, args []string) (err error) {
		if r.Model, err = modelFor(ctx, c, args[0]); err != nil {
			return err
		}
		said, err := c.Predict(ctx, r)
		if err != nil {
			return err
		}
		return a.printPrediction(said)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if r.Last < 1 || r.Last > jobs.MostPredicted {
			return usagef("--last must be 1 to %d, not %d", jobs.MostPredicted, r.Last)
		}
		return ask(cmd, args)
	}
	return cmd
}

func (a *app) printPrediction(p jobs.Prediction) error {
	if !a.json {
		for _, x := range p.Warnings {
			fmt.Fprintln(a.err, "warning:", plain(x))
		}
	}
	return a.print(p, func(w io.Writer) {
		fmt.Fprintf(w, "%s on %s %s, prices %s\n", plain(p.Strategy), p.Symbol, p.Timeframe, pricesText(p.MadeUp))
		table(w, "BAR\tCLOSE\tSIGNAL\tCONFIDENCE\tANSWERS", func(row func(...any)) {
			for _, b := range p.Bars {
				row(minute(b.Time.Unix()), six(b.Close), b.Signal, fmt.Sprintf("%.3f", b.Confidence), answersText(p.Classes, b.Answers))
			}
		})
		for _, l := range p.Look {
			fmt.Fprintf(w, "This was look %d at the holdout of market %s.\n", l.Number, plain(l.Market))
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
