package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

func newModels(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "models", Short: "List trained models, or save the file of one", Args: noSuchPart,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			if limit < 1 || limit > 1000 {
				return usagef("--limit must be 1 to 1000, not %d", limit)
			}
			return a.listModels(ctx, c, limit)
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "largest number of rows")
	cmd.AddCommand(newModelsSave(a))
	return cmd
}

func (a *app) listModels(ctx context.Context, c *client.Client, limit int) error {
	models, next, err := c.Models(ctx, limit, "")
	if err != nil {
		return err
	}
	return a.print(models, func(w io.Writer) {
		if len(models) == 0 {
			fmt.Fprintln(w, "No models. Train one with `ktrdr train STRATEGY`.")
			return
		}
		narrow := terminal(w) && width(w) < wholeIDsAbove
		table(w, modelHead, func(row func(...any)) {
			for _, m := range models {
				row(modelCells(m, narrow)...)
			}
		})
		if next != "" {
			fmt.Fprintln(w, "There are more: see --limit.")
		}
	})
}

const modelHead = "TRAINING\tSTRATEGY\tDATA\tPRICES\tSEED\tACCURACY\tBASELINE\tWARNINGS\tMODEL\tCOMPLETED"

// modelCells fills the columns of modelHead. On a narrow terminal an id is its random
// tail, which commands take: a whole one would be cut to what all ids begin with.
func modelCells(m jobs.Model, narrow bool) []any {
	id := string(m.Operation)
	if narrow {
		id = tail(m.Operation)
	}
	return []any{
		id, m.Strategy, strings.Join(m.Symbols, ",") + " " + strings.Join(m.Timeframes, ","), pricesText(m.MadeUp), m.Seed,
		share(m.TestAccuracy), share(m.Baseline), m.Warnings, shortHash(m.File.SHA256.String()), ago(m.CompletedAt),
	}
}

func share(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *x)
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
			if err != nil {
				return err
			}
			return a.print(savedFile{args[1], size}, func(w io.Writer) { fmt.Fprintf(w, "%s, %s\n", args[1], bytesText(size)) })
		}),
	}
}

// savedFile is a file that a command wrote.
type savedFile struct {
	File string `json:"file"`
	Size int64  `json:"size"`
}

// openModel reads a model from the server: one named by its hash, or that of a
// training. The bytes are checked on the way.
func openModel(ctx context.Context, c *client.Client, arg string) (io.ReadCloser, error) {
	if h, err := ktrdr.ParseHash(arg); err == nil {
		return c.OpenBlob(ctx, h)
	}
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

// completeModels offers the newest trainings, and files.
func (a *app) completeModels(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), shortly)
	defer cancel()
	c, err := a.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	models, _, _ := c.Models(ctx, 100, "") // completion has nobody to complain to
	var offers []string
	for _, m := range models {
		if named(m.Operation, typed) {
			offers = append(offers, fmt.Sprintf("%s\t%s, %s", m.Operation, m.Strategy, ago(m.CompletedAt)))
		}
	}
	return offers, cobra.ShellCompDirectiveKeepOrder
}
