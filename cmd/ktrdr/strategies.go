package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

const strategiesHelp = `List the strategies that commands accept by name. If two have the same name, the first
in this order is used:

  a file    NAME.yaml in the folder strategies of the data folder; only the backend on
            that folder has it. The lab gets a copy when the backend starts.
  lab       added with "ktrdr strategies add"; every backend has it
  built-in  an example of the program

To write your own, start with an example. "ktrdr help strategies" explains the file:

  ktrdr strategies example rsi_mean_reversion > mine.yaml
  ktrdr validate mine.yaml`

func newStrategies(a *app) *cobra.Command {
	list := func(cmd *cobra.Command, _ []string) error { return a.listStrategies(cmd) }
	cmd := &cobra.Command{
		Use: "strategies", Short: "List, show, add and delete strategies", Long: strategiesHelp, Args: noSuchPart, RunE: list,
	}
	storageFlags(cmd)
	named := &cobra.Command{Use: "list", Short: "List the strategies that can be named", Args: noArgs, RunE: list}
	storageFlags(named)
	cmd.AddCommand(
		named,
		newStrategiesShow(a),
		newStrategiesAdd(a),
		newStrategiesDelete(a),
		&cobra.Command{
			Use: "schema", Short: "Print the JSON Schema of strategies, for editors and programs", Args: noArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := a.out.Write(strategy.Schema())
				return err
			},
		},
		newStrategiesExample(a),
	)
	return cmd
}

type listedStrategy struct {
	Name     string          `json:"name"`
	From     string          `json:"from"`
	Valid    bool            `json:"valid"`
	Error    string          `json:"error,omitempty"`
	Strategy *strategy.Facts `json:"strategy,omitempty"`
}

func (a *app) listStrategies(cmd *cobra.Command) error {
	sources, err := a.strategySources(cmd)
	if err != nil {
		return err
	}
	list := make([]listedStrategy, len(sources))
	for i, src := range sources {
		list[i] = listedStrategy{Name: src.Name, From: src.From}
		if src.Err != nil {
			list[i].Error = src.Err.Error()
			continue
		}
		v := strategy.Validate(src.Text, src.Where())
		list[i].Valid, list[i].Strategy = v.Valid, v.Strategy
		if !v.Valid {
			list[i].Error = text.Counted(len(v.Problems), "problem") + ": see `ktrdr validate " + src.Argument() + "`"
		}
	}
	return a.print(list, func(w io.Writer) {
		term.Table(w, "NAME\tFROM\tMODEL\tTIMEFRAMES\tFEATURES\tDESCRIPTION", list, func(s listedStrategy) []any {
			if !s.Valid {
				return []any{s.Name, s.From, "-", "-", "-", "not valid: " + s.Error}
			}
			f := s.Strategy
			return []any{s.Name, s.From, f.Model, strings.Join(text.Strings(f.Timeframes), " "), len(f.Features), f.Description}
		})
	})
}

func newStrategiesShow(a *app) *cobra.Command {
	var yaml bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show the features, size and training time of a strategy",
		Args: exactly(1, "one NAME, or a file"), ValidArgsFunction: a.completeStrategies,
	}
	cmd.Flags().BoolVar(&yaml, "yaml", false, "print the file with every default written out")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.parseNamed(cmd, args[0])
		if err != nil {
			return err
		}
		if yaml {
			_, err := a.out.Write(s.YAML())
			return err
		}
		shown := struct {
			*strategy.Facts
			Spelled json.RawMessage `json:"strategy"` // with every default
		}{strategy.FactsOf(s), bytes.TrimSpace(s.JSON())}
		return a.print(shown, func(w io.Writer) { printFacts(w, shown.Facts) })
	}
	return cmd
}

func printFacts(w io.Writer, f *strategy.Facts) {
	fmt.Fprintln(w, term.Plain(f.Name))
	if f.Description != "" {
		term.Field(w, "about", "%s", f.Description)
	}
	term.Field(w, "hash", "%s", f.Hash)
	frames := strings.Join(text.Strings(f.Timeframes), " ")
	term.Field(w, "data", "%s, bars of %s, decides at those of %s", strings.Join(f.Symbols, " "), frames, f.Base)
	if len(f.Context) > 0 {
		term.Field(w, "context", "%s, read and not traded", strings.Join(f.Context, " "))
	}
	term.Field(w, "labels", "%s", f.Labels)
	term.Field(w, "model", "%s, %d inputs, %d weights, %s", f.Model, len(f.Features), f.Weights, f.Output)
	term.Field(w, "warm-up", "%d bars of %s", f.WarmUp, f.Base)
	cpu := time.Duration(f.CPU * float64(time.Second))
	term.Field(w, "cost", "about %s of one core and %s of memory, for %d bars of each symbol", term.Brief(cpu), term.Bytes(f.Memory),
		strategy.CostBars)
	term.Field(w, "features", "")
	for _, name := range f.Features {
		fmt.Fprintln(w, "    "+term.Plain(name))
	}
}

func newStrategiesExample(a *app) *cobra.Command {
	names := text.Map(strategy.Examples(), func(e strategy.Example) string { return e.Name })
	return &cobra.Command{
		Use: "example NAME", Short: "Print an example strategy",
		Args: exactly(1, "one NAME: "+strings.Join(names, ", ")), ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			for _, e := range strategy.Examples() {
				if e.Name == args[0] {
					_, err := a.out.Write(e.Source)
					return err
				}
			}
			return usagef("there is no example %q; %s", args[0], text.Choices(args[0], names))
		},
	}
}

func (a *app) strategySources(cmd *cobra.Command) ([]library.StrategySource, error) {
	files, err := local.StrategyFiles(a.dataDir())
	if err != nil {
		return nil, err
	}
	documents, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) ([]ktrdr.Document, error) {
		return l.Library.Strategies(ctx)
	})
	if err != nil && !errors.Is(err, market.ErrNoData) {
		return nil, err
	}
	return library.StrategySources(files, documents), nil
}

// parseNamed finds a strategy by its name, or reads it from a file, and parses it.
// Warnings are printed as they are found, on standard error.
func (a *app) parseNamed(cmd *cobra.Command, name string) (*strategy.Strategy, error) {
	src := library.StrategySource{Name: name, From: name}
	var err error
	if local.IsStrategyFile(name) {
		src.Text, err = local.ReadStrategy(name)
	} else {
		var list []library.StrategySource
		if list, err = a.strategySources(cmd); err == nil {
			src, err = local.FindStrategy(list, name)
		}
	}
	if err != nil {
		return nil, err
	}
	s, warnings, err := strategy.Parse(src.Text, src.Where())
	for _, x := range warnings {
		fmt.Fprintln(a.err, "warning:", term.Plain(x.String()))
	}
	return s, err
}

func (a *app) completeStrategies(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := a.strategySources(cmd) // shell completion shows no errors
	var offers []string
	for _, s := range list {
		if strings.HasPrefix(s.Name, typed) {
			offers = append(offers, s.Name)
		}
	}
	return offers, cobra.ShellCompDirectiveDefault // a file will do too
}
