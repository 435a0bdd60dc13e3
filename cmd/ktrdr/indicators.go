package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

const indicatorsHelp = `List the indicators that strategies may use. With a NAME, show its
parameters and their bounds, its outputs, its definition and its warm-up in bars.`

func newIndicators(a *app) *cobra.Command {
	names := text.Map(indicator.Definitions(), func(d indicator.Definition) string { return d.Name })
	return &cobra.Command{
		Use: "indicators [NAME]", Short: "List indicators, or explain one", Long: indicatorsHelp, ValidArgs: names,
		Args: atMostOne("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listIndicators()
			}
			return a.showIndicator(args[0])
		},
	}
}

func (a *app) listIndicators() error {
	list := text.Map(indicator.Definitions(), indicator.Describe)
	return a.print(list, func(w io.Writer) {
		term.Table(w, "NAME\tPARAMETERS\tOUTPUTS\tWARM-UP", list, func(d indicator.Description) []any {
			params := text.Map(d.Params, func(p indicator.ParamDescription) string { return fmt.Sprintf("%s=%v", p.Name, p.Default) })
			var outputs []string
			longest := 0
			for _, o := range d.Outputs {
				outputs = append(outputs, o.Name)
				longest = max(longest, o.WarmUp)
			}
			return []any{d.Name, term.Dash(strings.Join(params, " ")), strings.Join(outputs, " "), longest}
		})
		fmt.Fprintln(w, "`ktrdr indicators NAME` explains one.")
	})
}

func (a *app) showIndicator(name string) error {
	def, ok := indicator.Lookup(name)
	if !ok {
		hint := "`ktrdr indicators` lists them"
		if near := indicator.Nearest(name); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		return usagef("there is no indicator %q; %s", name, hint)
	}
	d := indicator.Describe(def)
	return a.print(d, func(w io.Writer) {
		fmt.Fprint(w, d.Name)
		if len(d.Aliases) > 0 {
			fmt.Fprintf(w, " (also %s)", strings.Join(d.Aliases, ", "))
		}
		fmt.Fprintf(w, "\n%s\n%s\n\n", d.Doc, definedBy(d.Follows))
		if len(d.Params) > 0 {
			term.Table(w, "PARAMETER\tKIND\tDEFAULT\tALLOWED\tMEANING", d.Params, func(p indicator.ParamDescription) []any {
				return []any{p.Name, p.Kind, p.Default, allowed(p), term.Dash(p.Doc)}
			})
			fmt.Fprintln(w)
		}
		term.Table(w, "OUTPUT\tUNIT\tWARM-UP", d.Outputs, func(o indicator.OutputDescription) []any {
			return []any{o.Name, o.Unit, fmt.Sprintf("%d bars", o.WarmUp)}
		})
	})
}

// definedBy says whose definition an indicator has.
func definedBy(follows string) string {
	switch follows {
	case "ktrdr":
		return "The definition is our own."
	case "reference":
		return "The definition is that of the Python system before this one."
	}
	return "The definition is that of " + follows + "."
}

func allowed(p indicator.ParamDescription) string {
	switch {
	case p.Choices != nil:
		return strings.Join(p.Choices, ", ")
	case p.Min != nil:
		return fmt.Sprintf("%v to %v", *p.Min, *p.Max)
	}
	return "true, false"
}
