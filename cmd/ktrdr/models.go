package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/jobs"
)

func newModels(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "models", Short: "List trained models, or save the file of one", Args: noSuchPart,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			return a.listModels(ctx, c, limit)
		}),
	}
	limitFlag(cmd, &limit, 20)
	cmd.AddCommand(newModelsSave(a))
	return cmd
}

func (a *app) listModels(ctx context.Context, c *client.Client, limit int) error {
	models, next, err := c.Models(ctx, limit, "")
	return a.show(models, err, func(w io.Writer) {
		if len(models) == 0 {
			fmt.Fprintln(w, "No models. Train one with `ktrdr train STRATEGY`.")
			return
		}
		narrow := term.IsTerminal(w) && term.Width(w) < term.FullIDsAbove
		term.Table(w, view.ModelHead, models, func(m jobs.TrainedModel) []any {
			return view.ModelCells(m, narrow)
		})
		if next != "" {
			fmt.Fprintln(w, "There are more: see --limit.")
		}
	})
}

func newModelsSave(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "save TRAINING FILE", Short: "Save the model file of a training",
		Args: exactly(2, "a TRAINING and a FILE"), ValidArgsFunction: a.completeModels,
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			blob, err := openModel(ctx, c, args[0])
			if err != nil {
				return err
			}
			defer blob.Close()
			size, err := backend.WriteFile(args[1], func(w io.Writer) error {
				_, err := io.Copy(w, blob)
				return err
			})
			return a.show(savedFile{args[1], size}, err, func(w io.Writer) { fmt.Fprintf(w, "%s, %s\n", args[1], term.Bytes(size)) })
		}),
	}
}

type savedFile struct {
	File string `json:"file"`
	Size int64  `json:"size"`
}

// openModel reads the model of a training from the server. The bytes are checked
// on the way.
func openModel(ctx context.Context, c *client.Client, arg string) (io.ReadCloser, error) {
	id, err := resolveAs(ctx, c, arg, ktrdr.Training)
	if err != nil {
		return nil, err
	}
	op, err := c.Operation(ctx, id)
	if err != nil {
		return nil, err
	}
	var r struct {
		Model *ktrdr.Artifact `json:"model"`
	}
	if op.Type != ktrdr.Training || op.Status != ktrdr.Completed || json.Unmarshal(op.Result, &r) != nil || r.Model == nil {
		return nil, fmt.Errorf("%s is an operation of type %s that is %s: only a COMPLETED training has a model; `ktrdr models` lists them", id,
			op.Type, op.Status)
	}
	return c.OpenFile(ctx, id, *r.Model)
}

func (a *app) completeModels(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.offers(cmd, func(ctx context.Context, c *client.Client) (offers []string) {
		models, _, _ := c.Models(ctx, 100, "")
		for _, m := range models {
			if named(m.Operation, typed) {
				offers = append(offers, fmt.Sprintf("%s\t%s, %s", m.Operation, m.Strategy, term.Ago(m.CompletedAt)))
			}
		}
		return offers
	}), cobra.ShellCompDirectiveKeepOrder
}

const predictHelp = `Show the decisions of a model at the last closes of a symbol before its holdout. MODEL
is the id of a training (or its beginning), the sha256 of a model, or a model file,
which is uploaded. The bars are those of the server's library.

The holdout is the newest part of the bars. --open-holdout shows the decisions in the
holdout too. That is a look: it is counted, and every later claim on
this market needs stronger evidence. The same model on the same bars is counted once.
See ` + "`ktrdr data list`" + ` for the markets and their looks.

As a check, the last bar is computed twice: in one pass over all bars, and bar by bar
as in live trading. Both results must be identical.`

func newPredict(a *app) *cobra.Command {
	var r jobs.PredictionRequest
	cmd := &cobra.Command{
		Use: "predict MODEL", Short: "Show the decisions of a model at the last bars before the holdout", Long: predictHelp,
		Args: exactly(1, "one MODEL: a training, a sha256 or a file"), ValidArgsFunction: a.completeModels,
	}
	f := cmd.Flags()
	f.StringVar(&r.Symbol, "symbol", "", "`SYMBOL` (default: the one that the model was trained on)")
	f.IntVar(&r.Last, "last", 5, "number of bars")
	bounded(cmd, "last", &r.Last, 1, jobs.MostPredicted)
	f.BoolVar(&r.OpenHoldout, "open-holdout", false, "also show the holdout; this is counted as a look")
	_ = cmd.RegisterFlagCompletionFunc("symbol", a.completeSymbols)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) (err error) {
		if r.Model, err = modelFor(ctx, c, args[0]); err != nil {
			return err
		}
		said, err := c.Predict(ctx, r)
		if err != nil {
			return err
		}
		return a.printPrediction(said)
	})
	return cmd
}

func (a *app) printPrediction(p jobs.Prediction) error {
	a.warn(p.Warnings)
	return a.print(p, func(w io.Writer) {
		fmt.Fprintf(w, "%s on %s %s, prices %s\n", term.Plain(p.Strategy), p.Symbol, p.Timeframe, term.Prices(p.MadeUp))
		term.Table(w, "BAR\tCLOSE\tSIGNAL\tCONFIDENCE\tANSWERS", p.Bars, func(b jobs.PredictedBar) []any {
			return []any{
				term.Minute(b.Time.Unix()), term.Six(b.Close), b.Signal, fmt.Sprintf("%.3f", b.Confidence), answersText(p.Classes, b.Answers),
			}
		})
		for _, l := range p.Look {
			fmt.Fprintf(w, "This was look %d at the holdout of market %s.\n", l.Number, term.Plain(l.Market))
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
