package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/docs"
	"github.com/ktrdr/ktrdr/internal/text"
)

const helpHelp = `Print the help of a command, or a page of the guide.

  ktrdr help train          the help of the command
  ktrdr help glossary       the page of the guide
  ktrdr help research.md    the page, where a command has the same name
  ktrdr help topics         list the pages`

// strictHelp makes the help command print commands and pages of the guide, and
// refuse every other name. Commands win; NAME.md always means the page.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	help.Use, help.Short, help.Long = "help [COMMAND|TOPIC]", "Help about a command, or a page of the guide", helpHelp
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		switch {
		case (err != nil || len(rest) > 0) && (cmd == nil || cmd == root):
			return printTopic(root, args)
		case err != nil || len(rest) > 0:
			return unknownBelow(cmd, rest[0])
		}
		if err := cmd.Help(); err != nil {
			return err
		}
		if cmd.Parent() == root && slices.Contains(docs.Topics, cmd.Name()) {
			fmt.Fprintf(root.OutOrStdout(), "\nThe guide has a page about it: `ktrdr help %s.md`\n", cmd.Name())
		}
		return nil
	}
}

// printTopic prints a page of the guide, or the list of them.
func printTopic(root *cobra.Command, args []string) error {
	out := root.OutOrStdout()
	topic := strings.ToLower(strings.TrimSuffix(args[0], ".md"))
	switch {
	case len(args) > 1:
		return usagef("`ktrdr help` takes a command or one topic; `ktrdr help topics` lists the topics")
	case topic == "topics":
		for _, name := range docs.Topics {
			shown := name
			if slices.Contains(commandNames(root), name) {
				shown += ".md"
			}
			fmt.Fprintf(out, "  %-16s %s\n", shown, docs.Summary(name))
		}
		fmt.Fprintln(out, "`ktrdr help TOPIC` prints a page.")
		return nil
	case slices.Contains(docs.Topics, topic):
		text, _ := docs.Page(topic)
		fmt.Fprint(out, text)
		return nil
	}
	hint := ""
	if near := text.Nearest(topic, append(commandNames(root), docs.Topics...)); near != "" {
		hint = fmt.Sprintf("did you mean `ktrdr help %s`? ", near)
	}
	return usagef("there is no command and no topic %q; %s`ktrdr help topics` lists the topics, `ktrdr --help` the commands", args[0], hint)
}

// commandNames are the names of the subcommands that users may call.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}
