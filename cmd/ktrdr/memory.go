package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/report"
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
	cmd.AddCommand(list, newMemoryShow(a), hypotheses, trials, newMemoryExport(a))
	return cmd
}

type memoryFlags struct {
	run    string
	limit  int
	cursor string
}

func (f *memoryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.run, "run", "", "only those of this `RUN`")
	limitFlag(cmd, &f.limit, 50)
	cursorFlag(cmd, &f.cursor)
}

func (a *app) remember(kind string, f *memoryFlags) func(*cobra.Command, []string) error {
	return a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
		run, err := runID(ctx, c, f.run)
		if err != nil {
			return err
		}
		m, next, err := c.Memory(ctx, research.MemoryQuery{Kind: kind, Run: run, Limit: f.limit, Cursor: f.cursor})
		return a.show(memoryPage{m, next}, err, func(w io.Writer) {
			view.Memory(w, m, f.run)
			more(w, next)
		})
	})
}

type memoryPage struct {
	research.MemoryPage
	Next string `json:"next_cursor,omitempty"`
}

// experimentPage is an experiment with what all trials of its run say together.
type experimentPage struct {
	research.ExperimentRow
	Panel *report.Panel `json:"panel,omitempty"`
}

const memoryShowHelp = `Show one research: its result, its hypothesis, what to try next, and its strategy. It
also shows what all trials of its run say together: SPA, StepM and PBO.

--conversation shows the conversation with language models instead: the prompt, each
answer, each tool call and its result, with tokens and costs. Prompts are stored with
the newest checkpoint of design and assessment. When that checkpoint is deleted, only
the answers are left.`

func newMemoryShow(a *app) *cobra.Command {
	var conversation bool
	cmd := a.onOperation("show", "Show one research: result, hypothesis, strategy",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			if conversation {
				t, err := c.Conversation(ctx, id)
				return a.show(t, err, func(w io.Writer) { view.Conversation(w, a.palette(), t) })
			}
			e, err := c.Experiment(ctx, id)
			if err != nil {
				return err
			}
			run, err := panelOf(ctx, c, e.Operation)
			return a.show(experimentPage{e, run}, err, func(w io.Writer) { view.Experiment(w, e, run) })
		})
	cmd.Long = memoryShowHelp
	cmd.Flags().BoolVar(&conversation, "conversation", false, "show the conversation with language models")
	return cmd
}
