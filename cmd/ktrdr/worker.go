package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/internal/tracing"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/worker"
)

const workerHelp = `Start a worker. It needs the URL of the backend and a token, nothing else:

  ktrdr token create NAME --scope worker                      # where the backend runs
  KTRDR_TOKEN=ktrdr_… ktrdr worker --url https://HOST:PORT    # on the new machine

If the backend cannot be reached, the worker continues to compute and delivers later.
Ctrl-C or SIGTERM stops it gracefully: it saves checkpoints and gives its operations
back. Results that are not delivered yet are in the folder of the worker (--data). If a
worker died, a new worker on the same folder delivers them.

KTRDR_KERNEL chooses the CPU instructions for networks: avx512, avx2, portable or
reference. Results are the same bits with each of them.`

type workerFlags struct {
	types     []string
	slots     int
	name      string
	tokenFile string
	interval  time.Duration
}

func newWorker(a *app) *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use: "worker", Short: "Start a worker process", Long: workerHelp, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.work(cmd.Context(), f) },
	}
	cmd.Flags().StringSliceVar(&f.types, "types", nil,
		"operation `TYPES` to run, such as training (default: all that this binary can run); training includes examinations and calibrations")
	cmd.Flags().IntVar(&f.slots, "slots", 1, "number of operations at once")
	cmd.Flags().StringVar(&f.name, "name", "", "`NAME` of the worker in tables and logs")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "`FILE` that holds the token")
	cmd.Flags().DurationVar(&f.interval, "checkpoint-interval", 0, "time between periodic checkpoints (default: the setting of the backend)")
	notZero(cmd.Flags(), "checkpoint-interval")
	cmd.Flags().Lookup("checkpoint-interval").DefValue = "" // else 0s is printed as a second default
	return cmd
}

func (a *app) work(ctx context.Context, f workerFlags) error {
	backend.Private()
	kernel, err := backend.KernelNamed(a.getenv("KTRDR_KERNEL"))
	if err != nil {
		return usagef("KTRDR_KERNEL: %w", err)
	}
	chosen, err := f.runners(kernel)
	if err != nil {
		return err
	}
	dir, err := a.workerDir()
	if err != nil {
		return err
	}
	u, err := a.serverURL()
	if err != nil {
		return err
	}
	token, from, err := a.workerToken(f)
	if err != nil {
		return err
	}
	client, err := a.clientFor(u, token)
	if err != nil {
		return err
	}
	log := newLog(backend.Config{LogLevel: slog.LevelInfo}, a.verbose, a.err)
	cache, err := blob.NewCache(ctx, filepath.Join(dir, "blobs"), client.OpenBlob, blob.CacheConfig{})
	if err != nil {
		return err
	}
	traces, err := tracing.Open(ctx, "worker", ourVersion(), log)
	if err != nil {
		return errors.Join(err, cache.Close())
	}
	defer traces.Close(ctx)
	w, err := worker.New(worker.Config{
		Traces: traces,
		Name:   f.name, Runners: chosen, Slots: f.slots, Dir: dir, Blobs: cache,
		Version: ourVersion(), Log: log, CheckpointEvery: f.interval, StopWithin: backend.StopWorkersWithin,
	}, client)
	if err != nil {
		return errors.Join(err, cache.Close())
	}
	types := slices.Sorted(maps.Keys(chosen))
	err = a.print(workerSaid{w.ID(), u.String(), dir, types, f.slots}, func(out io.Writer) {
		fmt.Fprintf(out, "worker %s runs %v, %d at once, for %s\n", w.ID(), types, f.slots, u)
	})
	if err == nil {
		err = w.Run(ctx)
	}
	if ktrdr.CodeOf(err) == ktrdr.CodeUnauthorized {
		err = a.ofBackend().unauthorized(u, from, err)
	}
	return errors.Join(err, cache.Close())
}

type workerSaid struct {
	ID    ktrdr.WorkerID `json:"worker_id"`
	URL   string         `json:"url"`
	Dir   string         `json:"data"`
	Types []ktrdr.Type   `json:"types"`
	Slots int            `json:"slots"`
}

func (f workerFlags) runners(k neural.Kernel) (map[ktrdr.Type]worker.Runner, error) {
	if f.slots < 1 {
		return nil, usagef("--slots must be 1 or more, not %d", f.slots)
	}
	if f.interval < 0 {
		return nil, usagef("--checkpoint-interval must be positive, not %v", f.interval)
	}
	all := backend.Runners(k)
	if len(f.types) == 0 {
		return all, nil
	}
	chosen := map[ktrdr.Type]worker.Runner{}
	for _, name := range f.types {
		t := ktrdr.Type(strings.ToLower(strings.TrimSpace(name)))
		r, ok := all[t]
		if !ok {
			return nil, usagef("--types %s: this build can run %s", name, strings.Join(names(slices.Sorted(maps.Keys(all))), ", "))
		}
		chosen[t] = r
		if t == ktrdr.Training { // examinations and searches of copies are made of trainings
			for _, made := range []ktrdr.Type{ktrdr.Examining, ktrdr.CalibrationPart, ktrdr.FactoryPart} {
				chosen[made] = all[made]
			}
		}
	}
	return chosen, nil
}

// workerDir is the worker's own folder: the one it is given, or worker/ in the
// data folder. A backend's folder is not for sharing.
func (a *app) workerDir() (string, error) {
	dir := a.data
	if dir == "" {
		dir = filepath.Join(a.dataDir(), "worker")
	}
	if _, err := os.Stat(filepath.Join(dir, backend.IDFile)); err == nil {
		return "", usagef("%s belongs to a backend: give the worker a folder of its own, for example --data %s", dir,
			filepath.Join(dir, "worker"))
	}
	if err := backend.RefuseRestoring(dir); err != nil {
		return "", err
	}
	return dir, backend.MakeFolder(dir)
}

// workerToken is the token of the file that was named, else what any command
// would use, and where it is from.
func (a *app) workerToken(f workerFlags) (token ktrdr.Secret, from string, err error) {
	if f.tokenFile != "" {
		t, err := backend.ReadToken(f.tokenFile)
		named := backend.UserFile{
			What: "token file", Name: f.tokenFile, Next: "write a token of `ktrdr token create` into it, or name another with --token-file",
		}
		return t, "--token-file", named.Trouble(err)
	}
	u, err := a.serverURL()
	if err != nil {
		return "", "", err
	}
	return a.ofBackend().secret(u)
}

// ofBackend is a without --data, which is the worker's folder: the token is in
// the backend's.
func (a *app) ofBackend() *app {
	b := *a
	b.data = ""
	return &b
}

func newWorkers(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "workers", Short: "List the workers that are alive", Args: noArgs,
		Long: "List the workers that are alive. --all also lists the dead workers of the last day.",
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			known, err := c.Workers(ctx)
			workers := slices.DeleteFunc(slices.Clone(known), func(w ktrdr.Worker) bool { return !w.Live && !all })
			return a.show(workers, err, func(w io.Writer) { printWorkers(w, workers, len(known)-len(workers)) })
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also workers that are not alive")
	return cmd
}

// printWorkers lists workers, and says how many that are not alive it left out.
func printWorkers(w io.Writer, workers []ktrdr.Worker, gone int) {
	if len(workers) == 0 {
		fmt.Fprintln(w, "No live workers. Start one with `ktrdr worker`, or a backend with `ktrdr serve --workers 2`.")
	} else {
		term.Table(w, "WORKER\tNAME\tLIVE\tBUSY\tTYPES\tWHERE\tSEEN", workers, func(wk ktrdr.Worker) []any {
			where := fmt.Sprintf("%s pid %d", term.Dash(wk.Host), wk.PID)
			if wk.HeldBy != "" {
				where = "in a backend"
			}
			busy, types := fmt.Sprintf("%d/%d", wk.Running, wk.Slots), strings.Join(text.Strings(wk.Types), ",")
			return []any{wk.ID, term.Dash(wk.Name), yesNo(wk.Live), busy, types, where, term.Ago(wk.SeenAt)}
		})
	}
	if gone > 0 {
		fmt.Fprintf(w, "%s not alive; `ktrdr workers --all` lists them too.\n", text.Counted(gone, "more is", "more are"))
	}
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
