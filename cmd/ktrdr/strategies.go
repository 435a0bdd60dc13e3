package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

const strategiesHelp = `List the strategies that can be named, in the order in which a name is looked up:

  a file    NAME.yaml in the folder strategies of the data folder; only the backend on
            that folder has it. The lab gets a copy when the backend starts.
  lab       added with "ktrdr strategies add"; every backend has it
  built-in  an example of the program

To write your own, start with an example. "ktrdr help strategies.md" explains the file:

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

// noSuchPart is what a command with others below it says to a word that is none
// of them.
func noSuchPart(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownBelow(cmd, args[0])
}

// strategyFacts is what is worth knowing about a valid strategy.
type strategyFacts struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Hash        string             `json:"hash"`
	Symbols     []string           `json:"symbols"`
	Timeframes  []market.Timeframe `json:"timeframes"`
	Base        market.Timeframe   `json:"base_timeframe"`
	Model       strategy.ModelType `json:"model"`
	Labels      string             `json:"labels"`
	Output      string             `json:"output"`
	Features    []string           `json:"features"`
	Weights     int                `json:"weights"`
	WarmUp      int                `json:"warm_up"` // base bars before every input has a value

	// What a training on 50,000 base bars of each symbol takes, about.
	Memory int64   `json:"memory_bytes"`
	CPU    float64 `json:"cpu_seconds"`
}

// costBars is how many bars the cost of a strategy is told for: eight years of
// hours.
const costBars = 50_000

func factsOf(s *strategy.Strategy) *strategyFacts {
	cost := s.Cost(costBars)
	f := &strategyFacts{
		Name: s.Name, Description: s.Description, Hash: fmt.Sprintf("%x", s.Hash()),
		Symbols: s.Data.Symbols, Timeframes: s.Data.Timeframes, Base: s.Data.Base,
		Model: s.Model.Type, Labels: string(s.Training.Labels.Source), Output: string(s.Decisions.Output),
		Weights: cost.Weights, WarmUp: s.WarmUp(), Memory: cost.Memory, CPU: cost.CPU.Seconds(),
	}
	for _, id := range s.Features() {
		f.Features = append(f.Features, string(id))
	}
	return f
}

// listedStrategy is a strategy in the list.
type listedStrategy struct {
	Name     string         `json:"name"`
	From     string         `json:"from"`
	Valid    bool           `json:"valid"`
	Error    string         `json:"error,omitempty"`
	Strategy *strategyFacts `json:"strategy,omitempty"`
}

func (a *app) listStrategies(cmd *cobra.Command) error {
	sources, err := a.strategySources(cmd)
	if err != nil {
		return err
	}
	list := make([]listedStrategy, len(sources))
	for i, src := range sources {
		list[i] = listedStrategy{Name: src.name, From: src.from}
		if src.err != nil {
			list[i].Error = src.err.Error()
			continue
		}
		v := validateText(src.text, src.where())
		list[i].Valid, list[i].Strategy = v.Valid, v.Strategy
		if !v.Valid {
			list[i].Error = text.Counted(len(v.Problems), "problem") + ": see `ktrdr validate " + src.named() + "`"
		}
	}
	return a.print(list, func(w io.Writer) {
		term.Table(w, "NAME\tFROM\tMODEL\tTIMEFRAMES\tFEATURES\tDESCRIPTION", func(row func(...any)) {
			for _, s := range list {
				if !s.Valid {
					row(s.Name, s.From, "-", "-", "-", "not valid: "+s.Error)
					continue
				}
				f := s.Strategy
				row(s.Name, s.From, f.Model, frames(f.Timeframes), len(f.Features), f.Description)
			}
		})
	})
}

func frames(list []market.Timeframe) string {
	var b strings.Builder
	for i, tf := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(tf))
	}
	return b.String()
}

func newStrategiesShow(a *app) *cobra.Command {
	var yaml bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show the features, size and training time of a strategy",
		Args: exactly(1, "one NAME, or a file"), ValidArgsFunction: a.completeStrategies,
	}
	cmd.Flags().BoolVar(&yaml, "yaml", false, "print it with every default spelled out")
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
			*strategyFacts
			Spelled json.RawMessage `json:"strategy"` // with every default
		}{factsOf(s), bytes.TrimSpace(s.JSON())}
		return a.print(shown, func(w io.Writer) { printFacts(w, shown.strategyFacts) })
	}
	return cmd
}

func printFacts(w io.Writer, f *strategyFacts) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-12s %s\n", name, term.Plain(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintln(w, term.Plain(f.Name))
	if f.Description != "" {
		line("about", "%s", f.Description)
	}
	line("hash", "%s", f.Hash)
	line("data", "%s, bars of %s, decides at those of %s", strings.Join(f.Symbols, " "), frames(f.Timeframes), f.Base)
	line("labels", "%s", f.Labels)
	line("model", "%s, %d inputs, %d weights, %s", f.Model, len(f.Features), f.Weights, f.Output)
	line("warm-up", "%d bars of %s", f.WarmUp, f.Base)
	cpu := time.Duration(f.CPU * float64(time.Second))
	line("cost", "about %s of one core and %s of memory, for %d bars of each symbol", term.Brief(cpu), term.Bytes(f.Memory), costBars)
	line("features", "")
	for _, name := range f.Features {
		fmt.Fprintln(w, "    "+term.Plain(name))
	}
}

func newStrategiesExample(a *app) *cobra.Command {
	var names []string
	for _, e := range strategy.Examples() {
		names = append(names, e.Name)
	}
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
