package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/resilience"
)

const breakersHelp = `Show the circuit breakers. There is one per agent, one per model provider, and one per
cluster (providers on the same host). An open breaker refuses all calls until its next
probe. Successful probes close it. "reset" closes a breaker now. "force" keeps it open
or closed until "force NAME auto". The history shows who changed a breaker and why.`

func newBreakers(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "breakers", Short: "Circuit breakers: list, history, reset, force", Long: breakersHelp, Args: noSuchPart,
		RunE: a.asking(a.listBreakers),
	}
	var limit int
	history := &cobra.Command{
		Use: "history [NAME]", Short: "Changes of breakers, newest first", Args: atMostOne("NAME of a breaker"),
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			return a.breakerHistory(ctx, c, strings.Join(args, ""), limit)
		}),
	}
	limitFlag(history, &limit, 50)
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List all breakers with their calls and failures", Args: noArgs, RunE: a.asking(a.listBreakers)},
		history, newBreakerReset(a), newBreakerForce(a),
	)
	return cmd
}

func newBreakerReset(a *app) *cobra.Command {
	var d resilience.HumanDecision
	cmd := &cobra.Command{
		Use: "reset NAME --by WHO --why WHY", Short: "Close a breaker", Args: exactly(1, "the NAME of a breaker: see `ktrdr breakers`"),
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			b, err := c.ResetBreaker(ctx, args[0], d)
			return a.decided(b, err)
		}),
	}
	decision(cmd, &d)
	return cmd
}

func newBreakerForce(a *app) *cobra.Command {
	var d resilience.HumanDecision
	cmd := &cobra.Command{
		Use: "force NAME open|closed|auto --by WHO --why WHY", Short: "Hold a breaker open or closed, or set it back to automatic",
		Args: exactly(2, "the NAME of a breaker, and open, closed or auto"),
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			switch d.State = ktrdr.BreakerState(strings.ToUpper(args[1])); d.State {
			case "AUTO":
				d.State = ""
			case ktrdr.BreakerOpen, ktrdr.BreakerClosed:
			default:
				return usagef("a breaker is not held %q; %s", args[1], text.Choices(args[1], []string{"open", "closed", "auto"}))
			}
			b, err := c.ForceBreaker(ctx, args[0], d)
			return a.decided(b, err)
		}),
	}
	decision(cmd, &d)
	return cmd
}

// decision adds what makes a person's decision one.
func decision(cmd *cobra.Command, d *resilience.HumanDecision) {
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if strings.TrimSpace(d.By) == "" || strings.TrimSpace(d.Why) == "" {
			return usagef("say who decides this, and why, with --by and --why: both go into the breaker's history")
		}
		return nil
	}
	cmd.Flags().StringVar(&d.By, "by", "", "`WHO` makes this change")
	cmd.Flags().StringVar(&d.Why, "why", "", "`WHY`, for the record")
}

func (a *app) decided(b resilience.Decided, err error) error {
	return a.show(b, unknownName(err), func(w io.Writer) {
		if b.Forced != "" {
			fmt.Fprintf(w, "%s is held %s by %s.\n", b.Name, b.Forced, term.Plain(b.By))
		} else {
			fmt.Fprintf(w, "%s is %s.\n", b.Name, b.State)
		}
		if b.Forced == ktrdr.BreakerOpen { // nothing is to pass, also without the others
			return
		}
		for _, other := range b.AlsoBlocking {
			fmt.Fprintf(w, "%s is open too and still blocks these calls: see `ktrdr breakers`, and close it with `ktrdr breakers reset %s`.\n",
				term.Plain(other), term.Plain(other))
		}
	})
}

func (a *app) listBreakers(ctx context.Context, c *client.Client, _ []string) error {
	all, err := c.Breakers(ctx)
	return a.show(all, err, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(w, "No breakers yet: each appears with its first call.")
			return
		}
		const header = "NAME\tSTATE\tCALLS\tFAILED\tSLOW\tREFUSED\tPROBE AT\tLAST TRIP\tDECISION"
		term.Table(w, header, all, func(b resilience.Status) []any {
			state, probe := standing(b)
			decision := "-" // of a person, while it is the last change
			if b.By != "" {
				decision = term.Plain(b.By + ": " + b.Reason)
			}
			return []any{b.Name, state, b.Calls, b.Failures, b.Slow, b.Refused, probe, term.Dash(term.Plain(b.Trip)), decision}
		})
	})
}

// standing is the state of a breaker for people, and when it lets a probe
// through: never by itself, where it waits for a person, who may not reset it
// right after it opened.
func standing(b resilience.Status) (state, probe string) {
	state = string(b.State)
	at := b.RetryAt.Local().Format(time.DateTime)
	switch {
	case !b.Enabled:
		return state + " (disabled)", "-"
	case b.Forced != "":
		return string(b.Forced) + " (forced)", "-"
	case b.Held && time.Now().Before(b.RetryAt):
		return state + " (waits for a person, from " + at + " on)", "-"
	case b.Held:
		return state + " (waits for a person)", "-"
	case b.State == ktrdr.BreakerOpen && !b.RetryAt.IsZero():
		return state, at
	}
	return state, "-"
}

func (a *app) breakerHistory(ctx context.Context, c *client.Client, name string, limit int) error {
	all, err := c.BreakerHistory(ctx, name, limit)
	if err != nil {
		return err
	}
	if name != "" && len(all) == 0 {
		breakers, err := c.Breakers(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(breakers, func(b resilience.Status) bool { return b.Name == name }) {
			return noBreaker(name, breakers)
		}
	}
	return a.print(all, func(w io.Writer) {
		term.Table(w, "AT\tNAME\tFROM\tTO\tBY\tREASON", all, func(b ktrdr.BreakerChange) []any {
			return []any{b.At.Local().Format(time.DateTime), b.Name, b.From, b.To, term.Dash(term.Plain(b.By)), term.Plain(b.Reason)}
		})
	})
}

// noBreaker says that no breaker has a name, and which names there are.
func noBreaker(name string, breakers []resilience.Status) error {
	if len(breakers) == 0 {
		return usagef("there is no breaker %s, and no other yet: each appears with its first call", name)
	}
	names := text.Map(breakers, func(b resilience.Status) string { return b.Name })
	return usagef("there is no breaker %s; %s", name, text.Choices(name, names))
}

const degradationHelp = `Show the degradation level: FULL, DEGRADED, MINIMAL or OFFLINE. It follows from
the health of the services that the server needs. A worse level switches features
off. The level improves only after the services have been healthy for a while.`

func newDegradation(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "degradation", Short: "Degradation level, health of services, features switched off", Long: degradationHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			d, err := c.Degradation(ctx)
			return a.show(d, err, func(w io.Writer) { printDegradation(w, d) })
		}),
	}
}

func printDegradation(w io.Writer, d resilience.DegradationStatus) {
	fmt.Fprintf(w, "level %s since %s, %.0f%% healthy\n", d.Level, d.Since.Local().Format(time.DateTime), 100*d.Score)
	term.Table(w, "SERVICE\tHEALTH\tWEIGHT\tCRITICAL", d.Services, func(s resilience.ServiceStatus) []any {
		return []any{s.Name, s.Health, s.Weight, yesNo(s.Critical)}
	})
	fmt.Fprintf(w, "switched off: %s\n", term.Dash(strings.Join(names(d.Shed), ", ")))
	if len(d.History) == 0 {
		return
	}
	term.Table(w, "AT\tFROM\tTO\tREASON", d.History, func(c resilience.LevelChange) []any {
		return []any{c.At.Local().Format(time.DateTime), c.From, c.To, term.Dash(term.Plain(c.Reason))}
	})
}
