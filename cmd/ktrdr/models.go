package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/jobs"
)

func newModels(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "models", Short: "List trained models, or save the file of one", Args: noSuchPart,
		RunE: a.asking(func(ctx context.Context, c *httpapi.Client, _ []string) error {
			return a.listModels(ctx, c, limit)
		}),
	}
	limitFlag(cmd, &limit, 20)
	cmd.AddCommand(newModelsSave(a))
	return cmd
}

func (a *app) listModels(ctx context.Context, c *httpapi.Client, limit int) error {
	models, next, err := c.Models(ctx, limit, "")
	return a.show(models, err, func(w io.Writer) {
		if len(models) == 0 {
			fmt.Fprintln(w, "No models. Train one with `ktrdr train STRATEGY`.")
			return
		}
		narrow := term.IsTerminal(w) && term.Width(w) < term.FullIDsAbove
		term.Table(w, view.ModelHead, models, func(m jobs.Model) []any {
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
		RunE: a.asking(func(ctx context.Context, c *httpapi.Client, args []string) error {
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

// savedFile is a file that a command wrote.
type savedFile struct {
	File string `json:"file"`
	Size int64  `json:"size"`
}

// openModel reads a model from the server: one named by its hash, or that of a
// training. The bytes are checked on the way.
func openModel(ctx context.Context, c *httpapi.Client, arg string) (io.ReadCloser, error) {
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
	models, _, _ := c.Models(ctx, 100, "") // shell completion shows no errors
	var offers []string
	for _, m := range models {
		if named(m.Operation, typed) {
			offers = append(offers, fmt.Sprintf("%s\t%s, %s", m.Operation, m.Strategy, term.Ago(m.CompletedAt)))
		}
	}
	return offers, cobra.ShellCompDirectiveKeepOrder
}
