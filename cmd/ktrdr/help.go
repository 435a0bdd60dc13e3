package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/docs"
	"github.com/ktrdr/ktrdr/internal/text"
)

const helpHelp = `Print the help of a command, or a page of the guide.

  ktrdr help train          the help of the command
  ktrdr help glossary       the page of the guide; glossary.md is the same
  ktrdr help research       both, if a command and a page have the same name
  ktrdr help topics         list the pages`

// strictHelp makes the help command print commands and pages of the guide, and
// refuse every other name. NAME.md means the page only.
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
			fmt.Fprintln(root.OutOrStdout())
			return printTopic(root, args)
		}
		return nil
	}
}

func printTopic(root *cobra.Command, args []string) error {
	out := root.OutOrStdout()
	topic := strings.ToLower(strings.TrimSuffix(args[0], ".md"))
	switch {
	case len(args) > 1:
		return usagef("`ktrdr help` takes a command or one topic; `ktrdr help topics` lists the topics")
	case topic == "topics":
		for _, name := range docs.Topics {
			fmt.Fprintf(out, "  %-16s %s\n", name, docs.Summary(name))
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

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// ourVersion is what the linker was told, else the commit the binary was built
// from, else "dev".
func ourVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			return v
		}
	}
	return "dev"
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	v := struct {
		Version  string `json:"version"`
		Protocol int    `json:"protocol"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{ourVersion(), ktrdr.Protocol, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	return a.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "ktrdr %s (worker protocol %d, %s, %s)\n", v.Version, v.Protocol, v.Go, v.Platform)
	})
}

const completionHelp = `Print a script that teaches your shell to complete ktrdr's commands, flags and
operation ids:

  bash   source <(ktrdr completion bash)
  zsh    ktrdr completion zsh > "${fpath[1]}/_ktrdr"
  fish   ktrdr completion fish > ~/.config/fish/completions/ktrdr.fish`

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a shell completion script", Long: completionHelp,
		Args: exactly(1, "one SHELL: bash, zsh, fish or powershell"), ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return usagef("no completion for %q; %s", args[0], text.Choices(args[0], []string{"bash", "zsh", "fish", "powershell"}))
		},
	}
}
