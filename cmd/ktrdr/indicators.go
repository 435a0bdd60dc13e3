package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/internal/term"
)

const indicatorsHelp = `List the indicators that strategies may use. With a NAME, show its
parameters and their bounds, its outputs, its definition and its warm-up in bars.`

func newIndicators(a *app) *cobra.Command {
	var names []string
	for _, d := range indicator.Definitions() {
		names = append(names, d.Name)
	}
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
	var list []indicator.Description
	for _, d := range indicator.Definitions() {
		list = append(list, indicator.Describe(d))
	}
	return a.print(list, func(w io.Writer) {
		term.Rows(w, "NAME\tPARAMETERS\tOUTPUTS\tWARM-UP", func(row func(...any)) {
			for _, d := range list {
				var params, outputs []string
				for _, p := range d.Params {
					params = append(params, fmt.Sprintf("%s=%v", p.Name, p.Default))
				}
				longest := 0
				for _, o := range d.Outputs {
					outputs = append(outputs, o.Name)
					longest = max(longest, o.WarmUp)
				}
				row(d.Name, term.Dash(strings.Join(params, " ")), strings.Join(outputs, " "), longest)
			}
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
			term.Rows(w, "PARAMETER\tKIND\tDEFAULT\tALLOWED\tMEANING", func(row func(...any)) {
				for _, p := range d.Params {
					row(p.Name, p.Kind, p.Default, allowed(p), term.Dash(p.Doc))
				}
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
