package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

// app is what every command shares: where it prints, what it was told
// globally, and the environment.
type app struct {
	out, err io.Writer
	getenv   func(string) string

	json    bool
	verbose bool
	url     string
	token   string
	ca      string
	data    string

	assistant api.Assistant // that the command is for; empty: a person or a program
}

const rootHelp = `ktrdr is a research lab for trading strategies. It designs, trains, backtests and
judges strategies, many at once. Work survives crashes and ends with the same result.

  ktrdr serve                     start a backend with two workers inside
  ktrdr demo                      eight researches on a made-up market with an edge
  ktrdr data import FILE          import your prices
  ktrdr research "a goal" -f      design, train, backtest and judge
  ktrdr report                    what happened overnight
  ktrdr help getting-started      the guide; ktrdr help topics lists its pages

Exit codes: 0 done (or the followed operation COMPLETED), 1 failed (or FAILED),
2 wrong usage or settings, 3 the followed operation was CANCELLED, 4 the server
cannot be reached, 130 interrupted.

Environment: KTRDR_URL, KTRDR_TOKEN, KTRDR_DATA, NO_COLOR. ` + "`ktrdr serve --help`" + `
lists the settings of the backend.`

func newRoot(a *app) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:           "ktrdr",
		Short:         "Trading-strategy research overnight, in one binary",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchPart,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return a.version()
			}
			return cmd.Help()
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s; %ssee `%s --help`", flagTrouble(err), nearFlag(cmd, err), cmd.CommandPath())
	})
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "print JSON")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "print more")
	f.StringVar(&a.url, "url", "", "`URL` of the server (KTRDR_URL; default "+defaultURL+")")
	f.StringVar(&a.token, "token", "", "`TOKEN`; other users can see it in the process list, so prefer KTRDR_TOKEN")
	f.StringVar(&a.ca, "ca", "", "`FILE` with the certificate of the authority that signed the server's certificate (KTRDR_CA)")
	f.StringVar(&a.data, "data", "", "data folder `DIR` (KTRDR_DATA; default: ktrdr in the user's data directory)")

	root.AddCommand(
		newServe(a), newWorker(a), newChild(a), newDemo(a), newDummy(a),
		newResearch(a), newRuns(a), newMemory(a), newLeaderboard(a), newClaim(a), newClaims(a), newCompare(a), newReport(a),
		newTrain(a), newBacktest(a), newPredict(a), newModels(a), newResults(a), newMCP(a),
		newOps(a), newStatus(a), newFollow(a), newTop(a), newCancel(a), newResume(a), newRetry(a), newPin(a), newUnpin(a), newCalibrate(a),
		newBreakers(a), newDegradation(a), newPause(a), newUnpause(a), newCheckpoints(a), newWorkers(a), newEvents(a),
		newData(a), newValidate(a), newStrategies(a), newInstruments(a), newIndicators(a), newCheck(a),
		newBackup(a), newRestore(a), newDoctor(a), newToken(a), newVersion(a), newCompletion(a),
	)
	strictHelp(root)
	return root
}

// unknownBelow is what a command says to a word that is not one of its subcommands.
func unknownBelow(cmd *cobra.Command, word string) error {
	hint := ""
	if near := text.Nearest(word, commandNames(cmd)); near != "" {
		hint = fmt.Sprintf("did you mean `%s %s`? ", cmd.CommandPath(), near)
	}
	return usagef("there is no command `%s %s`; %ssee `%s --help`", cmd.CommandPath(), word, hint, cmd.CommandPath())
}

// noneSuch is what a flag says to a word that is not one of its values.
func noneSuch(flag, word string, names []string) error {
	return usagef("%s %s: %s", flag, word, text.Choices(word, names))
}

// chosen reads the values of a flag that takes some of the known words, in any case.
func chosen[T ~string](flag string, given []string, known []T) (list []T, err error) {
	for _, word := range given {
		i := slices.IndexFunc(known, func(k T) bool { return strings.EqualFold(string(k), word) })
		if i < 0 {
			return nil, noneSuch(flag, word, names(known))
		}
		list = append(list, known[i])
	}
	return list, nil
}

// names are words as flags take them.
func names[T ~string](words []T) []string {
	return text.Map(words, func(w T) string { return strings.ToLower(string(w)) })
}

// nearFlag names the flag that an unknown one is nearest to.
func nearFlag(cmd *cobra.Command, err error) string {
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(e.GetSpecifiedName()) < 2 {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := text.Nearest(e.GetSpecifiedName(), names); near != "" {
		return fmt.Sprintf("did you mean --%s? ", near)
	}
	return ""
}

// flagTrouble says what is wrong with a flag, and not which function found out.
func flagTrouble(err error) string {
	text := err.Error()
	e, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return text
	}
	want := map[string]string{
		"ParseInt": "a whole number", "ParseUint": "a whole number, 0 or more", "ParseFloat": "a number", "ParseBool": "true or false",
	}[e.Func]
	if errors.Is(e, strconv.ErrRange) {
		want = "a number with fewer digits"
	}
	return strings.TrimSuffix(text, e.Error()) + "it must be " + want
}

// takes asks for a number of arguments, and names them when it is another.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usagef("`%s` takes %s; see `%s --help`", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

func exactly(n int, what string) cobra.PositionalArgs { return takes(n, n, what) }
func oneOrTwo(what string) cobra.PositionalArgs       { return takes(1, 2, what) }
func atMostOne(what string) cobra.PositionalArgs      { return takes(0, 1, "at most one "+what) }
func atLeastOne(what string) cobra.PositionalArgs     { return takes(1, math.MaxInt, "at least one "+what) }

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("`%s` takes no argument %q; see `%s --help`", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// noSuchPart is what a command with others below it says to a word that is not one
// of them.
func noSuchPart(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownBelow(cmd, args[0])
	}
	return nil
}

// group makes a command that only holds others.
func group(use, short string, sub ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noSuchPart, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(sub...)
	return cmd
}

// print writes v as JSON when JSON was asked for, and otherwise what text writes.
func (a *app) print(v any, text func(w io.Writer)) error {
	if a.json {
		enc := json.NewEncoder(term.JSONLines(a.out))
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
	text(a.out)
	return nil
}

// show prints an answer like print, unless asking for it failed.
func (a *app) show(v any, err error, text func(w io.Writer)) error {
	if err != nil {
		return err
	}
	return a.print(v, text)
}

func (a *app) line(v any) error { return json.NewEncoder(term.JSONLines(a.out)).Encode(v) }

// codeInterrupted is of this program only: no server is interrupted.
const codeInterrupted ktrdr.Code = "interrupted"

// complain is where an error's journey ends: one line for people, or an object
// for programs, on standard error.
func (a *app) complain(err error) {
	if e, ok := errors.AsType[*exitError](err); ok && e.err == nil {
		return
	}
	if a.json {
		var body struct {
			Error struct {
				Code    ktrdr.Code `json:"code"`
				Message string     `json:"message"`
			} `json:"error"`
		}
		body.Error.Code, body.Error.Message = ktrdr.CodeOf(err), err.Error()
		switch exitCode(err) {
		case exitUsage:
			body.Error.Code = ktrdr.CodeInvalid
		case exitInterrupted:
			body.Error.Code = codeInterrupted
		}
		_ = json.NewEncoder(term.JSONLines(a.err)).Encode(body)
		return
	}
	lines := strings.Split(term.PlainLines(err.Error()), "\n")
	fmt.Fprintln(a.err, "ktrdr:", strings.Join(lines, "\n       "))
}

// dataDir is the data folder that the flag, the environment or the system gives.
func (a *app) dataDir() string {
	return cmp.Or(a.data, a.getenv("KTRDR_DATA"), backend.DefaultData(a.getenv))
}

// shortly bounds calls that should be quick, such as completion.
const shortly = 2 * time.Second

func (a *app) palette() term.Palette {
	return term.Palette(term.IsTerminal(a.out) && a.getenv("NO_COLOR") == "")
}
