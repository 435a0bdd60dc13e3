package main

import (
	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/internal/text"
)

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
