package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

const serveHelp = `Start a backend: the API, the engine, and workers inside the process. The data
folder is created on first use. It holds the database, the blobs and the first
token. Ctrl-C or SIGTERM stops it gracefully: its workers save checkpoints and
give their operations back. A second signal stops it at once.

Every setting may also be in a configuration file (--config, YAML or JSON). Flags win
over the environment, the environment wins over the file. "ktrdr help configuration"
explains each setting.`

func (a *app) serve(ctx context.Context, cfg backend.Config, open bool) error {
	backend.Private()
	b, err := backend.Open(ctx, cfg, a.process(newLog(cfg, a.verbose, a.err)))
	if err == nil {
		var said backend.Announcement
		if said, err = b.Announce(ctx); err == nil {
			err = a.print(said, func(w io.Writer) { a.checklist(w, said) })
			if open && err == nil {
				if err := openBrowser(ctx, said.Link); err != nil {
					fmt.Fprintln(a.err, term.Plain(err.Error()))
				}
			}
		}
	}
	if err == nil {
		err = b.Run(ctx)
	}
	return b.Close(ctx, err)
}

// process is what a backend and a child process need to know of this one.
func (a *app) process(log *slog.Logger) backend.Process {
	return backend.Process{Version: ourVersion(), Log: log, Stderr: a.err, Getenv: a.getenv}
}

func newServe(a *app) *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Start a backend", Long: serveHelp + "\n\n" + settingsHelp(), Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.configOf(cmd)
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), cfg, open)
		},
	}
	addOpen(cmd, &open)
	cmd.Flags().String("config", "", "configuration `FILE`, YAML or JSON (KTRDR_CONFIG)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml", "json")
	for _, s := range backend.Settings() {
		if s.Flag == "" || s.Flag == "data" { // data belongs to every command
			continue
		}
		usage := fmt.Sprintf("%s (%s)", s.Help, s.Env)
		if s.Default != "" && s.Default != "false" {
			usage = fmt.Sprintf("%s (%s; default %s)", s.Help, s.Env, s.Default)
		}
		flag := cmd.Flags().VarPF(&textFlag{kind: s.Kind}, s.Flag, "", usage)
		if s.Kind == "bool" {
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
func (a *app) serveConfig(cmd *cobra.Command, file string) (backend.Config, error) {
	flags := map[string]backend.Given{}
	for _, s := range backend.Settings() {
		if f := cmd.Flags().Lookup(s.Flag); f != nil && f.Changed {
			flags[s.Key] = backend.Given{Text: f.Value.String(), Where: "--" + s.Flag}
		}
	}
	return backend.ReadConfig(flags, file, a.getenv)
}

// settingsHelp lists every setting by its names in the environment and in the
// file.
func settingsHelp() string {
	var b strings.Builder
	b.WriteString("Environment, and the same in a configuration file:\n")
	tw := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, s := range backend.Settings() {
		text := s.Help
		if s.Default != "" {
			text += " (default " + s.Default + ")"
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", s.Env, s.Key, text)
	}
	tw.Flush()
	return strings.TrimRight(b.String(), "\n")
}

func (a *app) checklist(w io.Writer, s backend.Announcement) {
	p := a.palette()
	done := func(what, detail string) { fmt.Fprintf(w, "%s %-9s %s\n", p.Good("✔"), what, term.Plain(detail)) }
	done("data", s.Data)
	done("database", fmt.Sprintf("%s %s at %s", s.Store.Kind, s.Store.Version, s.Store.Location))
	done("schema", fmt.Sprintf("version %d", s.Store.Schema))
	done("blobs", s.Blobs)
	if s.Workers > 0 {
		done("workers", fmt.Sprintf("%d in this process", s.Workers))
	} else {
		done("workers", "none in this process; start some with `ktrdr worker`")
	}
	if s.Agents > 0 {
		done("agents", fmt.Sprintf("%d design and assess in this process", s.Agents))
	}
	if len(s.Models) > 0 {
		done("models", strings.Join(s.Models, ", ")+", and then the program itself")
	}
	if s.Token != "" {
		done("token", s.Token)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "%s %s\n", p.Bad("⚠"), term.Plain(warning))
	}
	if n := len(s.Requeued); n > 0 {
		fmt.Fprintf(w, "%s %s ran in a backend that died without a stop; each runs next in a child process:\n", p.Bad("⚠"),
			text.Counted(n, "operation"))
		for _, id := range s.Requeued {
			fmt.Fprintf(w, "    %s\n", id)
		}
	}
	fmt.Fprintf(w, "→ %s\n", s.Link)
	if s.Token != "" {
		fmt.Fprintln(w, "  Open this link in a browser. It works once, for ten minutes; `ktrdr token link` prints another.")
	}
	fmt.Fprintln(w, "  In another terminal, try `ktrdr research --follow`. Ctrl-C stops the backend.")
}

// newLog makes the logger that c asks for; verbose shows debug lines too.
func newLog(c backend.Config, verbose bool, out io.Writer) *slog.Logger {
	level := c.LogLevel
	if verbose {
		level = min(level, slog.LevelDebug)
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.LogJSON {
		return slog.New(slog.NewJSONHandler(term.JSONLines(out), opts))
	}
	return slog.New(slog.NewTextHandler(out, opts))
}

// newChild is the command of a child process. People have no use for it.
func newChild(a *app) *cobra.Command {
	return &cobra.Command{
		Use: backend.ChildCommand, Short: "Run one operation for the backend that started this process", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := newLog(backend.Config{LogLevel: slog.LevelWarn}, a.verbose, a.err)
			return backend.RunChild(cmd.Context(), os.Stdin, a.process(log))
		},
	}
}
