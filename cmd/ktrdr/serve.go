package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/research"
)

const serveHelp = `Start a backend: the API, the engine, and workers inside the process. The data
folder is created on first use. It holds the database, the blobs and the first
token. Ctrl-C or SIGTERM stops it gracefully: its workers save checkpoints and
give their operations back. A second signal stops it at once.

Every setting may also be in a configuration file (--config, YAML or JSON). Flags win
over the environment, the environment wins over the file. "ktrdr help configuration"
explains each setting.`

func newServe(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "serve", Short: "Start a backend", Long: serveHelp + "\n\n" + settingsHelp(), Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.serveConfig(cmd, file)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return a.serve(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `FILE`, YAML or JSON (KTRDR_CONFIG)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml", "json")
	for _, s := range settings() {
		if s.flag == "" || s.flag == "data" { // data belongs to every command
			continue
		}
		usage := fmt.Sprintf("%s (%s)", s.help, s.env)
		if s.def != "" && s.def != "false" {
			usage = fmt.Sprintf("%s (%s; default %s)", s.help, s.env, s.def)
		}
		flag := cmd.Flags().VarPF(&textFlag{kind: s.kind}, s.flag, "", usage)
		if s.kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	return cmd
}

// textFlag is a flag whose text is read later, by the setting it belongs to.
type textFlag struct{ text, kind string }

func (f *textFlag) String() string     { return f.text }
func (f *textFlag) Set(s string) error { f.text = s; return nil }
func (f *textFlag) Type() string       { return f.kind }

// serveConfig puts together what the command line, the environment and the
// file say.
func (a *app) serveConfig(cmd *cobra.Command, file string) (Config, error) {
	from := sources{flags: map[string]given{}, env: fromEnv(a.getenv)}
	for _, s := range settings() {
		if f := cmd.Flags().Lookup(s.flag); f != nil && f.Changed {
			from.flags[s.key] = given{f.Value.String(), "--" + s.flag}
		}
	}
	if file == "" {
		file = a.getenv("KTRDR_CONFIG")
	}
	if file != "" {
		var err error
		if from.file, err = fromFile(file); err != nil {
			return Config{}, err
		}
	}
	if _, ok := from.find("data"); !ok {
		from.env["data"] = given{defaultData(a.getenv), "the user's data directory"}
	}
	cfg, err := configFrom(from)
	if err != nil {
		return Config{}, err
	}
	if _, err := cfg.Models.open(a.getenv); err != nil { // keys are no settings, and can be wrong like any
		return Config{}, err
	}
	cfg.Gates, err = research.GatesFrom(a.getenv)
	return cfg, err
}

// settingsHelp lists every setting by its names in the environment and in the
// file.
func settingsHelp() string {
	var b strings.Builder
	b.WriteString("Environment, and the same in a configuration file:\n")
	tw := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, s := range settings() {
		text := s.help
		if s.def != "" {
			text += " (default " + s.def + ")"
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", s.env, s.key, text)
	}
	tw.Flush()
	return strings.TrimRight(b.String(), "\n")
}
