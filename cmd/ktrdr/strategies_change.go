package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const addStrategyHelp = `Add a strategy to the lab, under the name in its file or --name. Every backend of the
lab can use it, and a backup contains it. An existing strategy is replaced only with
--replace. Earlier operations keep the text that they started with.`

func newStrategiesAdd(a *app) *cobra.Command {
	var n library.NewStrategy
	cmd := &cobra.Command{
		Use: "add FILE", Short: "Add a strategy to the lab, for every backend", Long: addStrategyHelp,
		Args: exactly(1, "one FILE with a strategy"),
	}
	cmd.Flags().StringVar(&n.Name, "name", "", "`NAME` of the strategy in the lab (default: the name in its text)")
	cmd.Flags().BoolVar(&n.Replace, "replace", false, "replace a strategy with the same name")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := local.ReadStrategy(args[0])
		if err != nil {
			return err
		}
		n.Text, n.Source = string(text), filepath.Base(args[0])
		added, err := inLab(a.withNewLab, cmd, func(ctx context.Context, l *local.Lab) (jobs.Strategy, error) {
			return l.Library.AddStrategy(ctx, n)
		})
		return a.show(changedStrategy{added.Name, jobs.StrategyOfLab}, err, func(w io.Writer) {
			fmt.Fprintf(w, "%s added to the lab\n", term.Plain(added.Name))
			a.tellFile(w, added.Name)
		})
	}
	return cmd
}

type changedStrategy struct {
	Name string `json:"name"`
	From string `json:"from"`
}

// tellFile says that a file of the data folder comes before the lab's strategy.
func (a *app) tellFile(w io.Writer, name string) {
	for _, ext := range []string{".yaml", ".yml"} {
		file := filepath.Join(a.dataDir(), library.StrategiesDir, name+ext)
		if _, err := os.Stat(file); err == nil && a.dataDir() != "" {
			fmt.Fprintf(w, "  → %s has the same name: the backend on that folder uses the file\n", term.Plain(file))
		}
	}
}

func newStrategiesDelete(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete a strategy of the lab",
		Args: exactly(1, "one NAME of a strategy of the lab"), ValidArgsFunction: a.completeStrategies,
	}
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := a.withLab(cmd, func(l *local.Lab) error { return unknownName(l.Library.DeleteStrategy(cmd.Context(), args[0])) })
		if errors.Is(err, market.ErrNoData) {
			err = fmt.Errorf("there is no lab yet, and so no strategy %q to delete", args[0])
		}
		return a.show(changedStrategy{args[0], jobs.StrategyOfLab}, err, func(w io.Writer) {
			fmt.Fprintf(w, "%s deleted from the lab\n", term.Plain(args[0]))
			a.tellFile(w, args[0])
		})
	}
	return cmd
}

const instrumentsHelp = `Show, set or delete the instruments file of the lab: asset classes and costs of
symbols. "ktrdr help research" describes it. Every backend of the lab uses it, and a
backup contains it. A file instruments.yaml in the data folder of a backend wins for
that backend. The lab gets a copy of it when the backend starts.`

func newInstruments(a *app) *cobra.Command {
	show := &cobra.Command{Use: "show", Short: "Print the instruments file in use, and where it comes from", Args: noArgs}
	set := &cobra.Command{Use: "set FILE", Short: "Set the instruments file of the lab", Args: exactly(1, "one FILE of instruments")}
	remove := &cobra.Command{Use: "delete", Short: "Delete the instruments file of the lab", Args: noArgs}
	for _, cmd := range []*cobra.Command{show, set, remove} {
		storageFlags(cmd)
	}
	show.RunE = func(cmd *cobra.Command, _ []string) error { return a.showInstruments(cmd) }
	set.RunE = func(cmd *cobra.Command, args []string) error {
		named := backend.UserFile{
			What: "file of instruments", Name: args[0], Next: "name a YAML file of instruments; `ktrdr help research` shows one",
		}
		if err := named.Check(); err != nil {
			return err
		}
		file, err := instrument.ReadFile(args[0])
		if err != nil {
			return named.Trouble(err)
		}
		content, err := os.ReadFile(args[0])
		if err != nil {
			return named.Trouble(err)
		}
		err = a.withNewLab(cmd, func(l *local.Lab) error {
			return l.Library.SetInstruments(cmd.Context(), instrument.FileName, string(content), filepath.Base(args[0]))
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "the lab's file of instruments names %s\n", text.Counted(len(file), "instrument"))
		return nil
	}
	remove.RunE = func(cmd *cobra.Command, _ []string) error {
		err := a.withLab(cmd, func(l *local.Lab) error { return l.Library.DeleteInstruments(cmd.Context(), instrument.FileName) })
		if errors.Is(err, market.ErrNoData) {
			err = ktrdr.Errorf(ktrdr.CodeNotFound, "the lab has no file of instruments")
		}
		if err == nil {
			fmt.Fprintln(a.out, "the lab's file of instruments is deleted")
		}
		return err
	}
	cmd := group("instruments", "Asset classes and costs of symbols: show, set, delete", show, set, remove)
	cmd.Long = instrumentsHelp
	return cmd
}

func (a *app) showInstruments(cmd *cobra.Command) error {
	cfg, err := a.configOf(cmd)
	if err != nil {
		return err
	}
	from, text := "", ""
	if b, err := os.ReadFile(filepath.Join(cfg.Data, instrument.FileName)); err == nil {
		from, text = filepath.Join(cfg.Data, instrument.FileName), string(b)
	} else {
		err := a.withLab(cmd, func(l *local.Lab) error {
			d, err := l.Library.Instruments(cmd.Context(), instrument.FileName)
			from, text = "the lab", d.Content
			return err
		})
		if errors.Is(err, market.ErrNoData) || ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			return fmt.Errorf("there is no file of instruments: every symbol has the default costs of its asset class")
		}
		if err != nil {
			return err
		}
	}
	return a.print(struct {
		From string `json:"from"`
		Text string `json:"instruments_yaml"`
	}{from, text}, func(w io.Writer) { fmt.Fprintf(w, "# from %s\n%s", term.Plain(from), text) })
}
