package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

const memoryHelp = `Show what researches found: experiments (the result of each research), hypotheses
(open and tested ideas) and trials (the ledger of every strategy that was tried;
verdicts are adjusted for their number).`

func newMemory(a *app) *cobra.Command {
	var f memoryFlags
	cmd := &cobra.Command{
		Use: "memory", Short: "Results of researches: experiments, hypotheses, trials", Long: memoryHelp, Args: noSuchPart,
		RunE: a.remember("experiments", &f),
	}
	list := &cobra.Command{Use: "list", Short: "Experiments, newest first", Args: noArgs, RunE: a.remember("experiments", &f)}
	hypotheses := &cobra.Command{Use: "hypotheses", Short: "Hypotheses, open and tested", Args: noArgs, RunE: a.remember("hypotheses", &f)}
	trials := &cobra.Command{Use: "trials", Short: "The ledger: every strategy that was tried", Args: noArgs, RunE: a.remember("trials", &f)}
	for _, c := range []*cobra.Command{cmd, list, hypotheses, trials} {
		f.add(c)
	}
	cmd.AddCommand(list, newMemoryShow(a), hypotheses, trials)
	return cmd
}

// memoryFlags choose a page.
type memoryFlags struct {
	run    string
	limit  int
	cursor string
}

func (f *memoryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.run, "run", "", "only those of this `RUN`")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "largest number of rows")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "start of the page, as the page before printed it")
}

func (a *app) remember(kind string, f *memoryFlags) func(*cobra.Command, []string) error {
	return a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
		if f.limit < 1 || f.limit > 1000 {
			return usagef("--limit must be 1 to 1000, not %d", f.limit)
		}
		run, err := runID(ctx, c, f.run)
		if err != nil {
			return err
		}
		m, next, err := c.Memory(ctx, research.MemoryQuery{Kind: kind, Run: run, Limit: f.limit, Cursor: f.cursor})
		if err != nil {
			return err
		}
		return a.print(memoryPage{m, next}, func(w io.Writer) {
			printMemory(w, m, f.run)
			if next != "" {
				fmt.Fprintf(w, "There is more: add --cursor %s.\n", next)
			}
		})
	})
}

// memoryPage is the answer with where the next page begins.
type memoryPage struct {
	research.MemoryPage
	Next string `json:"next_cursor,omitempty"`
}

func printMemory(w io.Writer, m research.MemoryPage, run string) {
	if m.Counts[m.Kind] == 0 {
		nothingYet(w, m.Kind, run)
		return
	}
	switch m.Kind {
	case "hypotheses":
		table(w, "STATUS\tHYPOTHESIS\tPRICES\tFROM\tTESTED BY", func(row func(...any)) {
			for _, h := range m.Hypotheses {
				row(h.Status, h.Text, pricesText(h.MadeUp), h.Source, dash(h.TestedBy))
			}
		})
	case "trials":
		printTrials(w, m.Trials)
	default:
		printExperiments(w, m.Experiments)
	}
}

// nothingYet says what to do where nothing is remembered, of one run or at all.
func nothingYet(w io.Writer, what, run string) {
	if run != "" {
		fmt.Fprintf(w, "No %s of %s yet: its researches leave them as they end. Watch them with `ktrdr status`.\n", what, run)
		return
	}
	fmt.Fprintf(w, "No %s yet. Start a research with `ktrdr research \"a goal\"`.\n", what)
}

func printTrials(w io.Writer, list []ktrdr.Trial) {
	table(w, "OPERATION\tSTRATEGY\tMARKET\tPRICES\tRUN\tSHARPE\tALPHA\tRETURN\tTRADES\tTRIALS\tLOOKS\tAT\tRESULT", func(row func(...any)) {
		for _, t := range list {
			row(tail(t.Operation), text.Fit(dash(t.Strategy), 20), t.Symbols+" "+t.Timeframes, pricesText(t.MadeUp), dash(ktrdr.ShortRun(t.Run)),
				hundredths(t.Sharpe), percentOf(t.Alpha),
				percentOf(t.NetReturn), t.Trades, t.MarketTrials, t.MarketLooks, ago(t.CreatedAt), research.Standing(&t))
		}
	})
}

func printExperiments(w io.Writer, list []research.ExperimentRow) {
	head := "RESEARCH\tSTRATEGY\tPRICES\tVERDICT\t" + strings.Join(evidenceHead, "\t") + "\tRETURN\tTRADES\tAT\tRESULT"
	table(w, head, func(row func(...any)) {
		for _, e := range list {
			said := []string{cmp.Or(e.Standing, string(e.Status))}
			for _, why := range []string{e.GateReason, e.Error} {
				if why != "" {
					said = append(said, why)
				}
			}
			row(cells(tail(e.Operation), dash(e.Strategy), pricesText(e.MadeUp), dash(string(e.Verdict)), evidenceCells(e), percentOf(e.NetReturn),
				e.Trades, ago(e.At), strings.Join(said, ": "))...)
		}
	})
	printCostLegend(w, belowDefault(list))
}

func hundredths(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *x)
}

const memoryShowHelp = `Show one research: its result, its hypothesis, what to try next, and its strategy.

--conversation shows the conversation with language models instead: the prompt, each
answer, each tool call and its result, with tokens and costs. Prompts are stored with
the newest checkpoint of design and assessment. When it is deleted, only the answers
are left.`

func newMemoryShow(a *app) *cobra.Command {
	var conversation bool
	cmd := a.onOperation("show", "Show one research: result, hypothesis, strategy",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			if conversation {
				t, err := c.Conversation(ctx, id)
				if err != nil {
					return err
				}
				return a.print(t, func(w io.Writer) { printConversation(w, a.palette(), t) })
			}
			e, err := c.Experiment(ctx, id)
			if err != nil {
				return err
			}
			return a.showExperiment(e)
		})
	cmd.Long = memoryShowHelp
	cmd.Flags().BoolVar(&conversation, "conversation", false, "show the conversation with language models")
	return cmd
}

func (a *app) showExperiment(e research.ExperimentRow) error {
	return a.print(e, func(w io.Writer) {
		printExperiments(w, []research.ExperimentRow{e})
		if e.Summary != "" {
			fmt.Fprintf(w, "\n%s\n", plain(e.Summary))
		}
		var n struct {
			Hypothesis string `json:"hypothesis"`
			Strategy   string `json:"strategy_yaml"`
			Hypotheses []struct {
				Text string `json:"text"`
			} `json:"hypotheses"`
		}
		if json.Unmarshal(e.Note, &n) != nil { // of another version: the table is all we can tell
			return
		}
		if n.Hypothesis != "" {
			fmt.Fprintf(w, "\nTested: %s\n", plain(n.Hypothesis))
		}
		for _, h := range n.Hypotheses {
			fmt.Fprintf(w, "Next:   %s\n", plain(h.Text))
		}
		if n.Strategy != "" {
			fmt.Fprintf(w, "\n%s", plainLines(n.Strategy))
		}
	})
}
