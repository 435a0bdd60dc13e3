// Command power measures how often the search finds an edge that is there, and how
// often it claims one that is not.
//
//	go run ./worlds/power -worlds 20 -write docs/research.md
//
// Every world is written to a file when it is done. The command can be stopped at any
// time; started again, it continues with the worlds that are missing. Worlds of
// another version of the search, and of other sizes, are kept and not counted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/worlds"
)

// options are the flags.
type options struct {
	setup

	worlds, null, rules int
	state, write        string
	kinds               string
	workers             int
	stages              bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout, time.Now())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "power:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("power", flag.ContinueOnError)
	f.IntVar(&o.worlds, "worlds", 20, "worlds of each kind and strength that are searched")
	f.IntVar(&o.null, "null", 79, "worlds without an edge, from which the luckiest score is known; at least 39")
	f.IntVar(&o.rules, "rules", 100, "worlds of each kind and strength that the rule trades")
	f.IntVar(&o.Bars, "bars", 20_000, "hourly bars of a world, holdout included")
	f.IntVar(&o.Researches, "researches", 16, "researches of a run")
	f.StringVar(&o.Version, "version", revision(), "of the search; worlds of other versions are not counted")
	f.StringVar(&o.state, "state", "power.jsonl", "file with the worlds that are done")
	f.StringVar(&o.write, "write", "", "document whose table is replaced; default: print the table")
	f.StringVar(&o.kinds, "kinds", "", "kinds of edges that are measured, separated by commas; default: all")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "worlds at once")
	f.BoolVar(&o.stages, "stages", false, "also print where designs end")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.worlds < 0 || o.null < 0 || o.rules < 1 || o.Researches < 1 || o.Bars < 3000 || o.workers < 1 {
		return o, fmt.Errorf("worlds and null must not be negative, rules, researches and workers at least 1, bars at least 3000")
	}
	o.rules = max(o.rules, o.worlds)
	return o, o.known()
}

// known refuses a kind that there is not.
func (o options) known() error {
	for _, name := range strings.FieldsFunc(o.kinds, func(r rune) bool { return r == ',' }) {
		if !slices.ContainsFunc(worlds.Kinds, func(k worlds.Kind) bool { return k.Name == name }) {
			var names []string
			for _, k := range worlds.Kinds {
				names = append(names, k.Name)
			}
			return fmt.Errorf("there is no kind of edge %q; %s", name, text.Choices(name, names))
		}
	}
	return nil
}

// revision is that of the working copy, where go run is told to stamp it: -buildvcs=true.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return "unknown"
}

// run measures what is missing, and writes the table.
func run(ctx context.Context, o options, out io.Writer, now time.Time) error {
	known, err := read(o.state)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(o.state, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	m := &measuring{known: known, to: file}
	jobs := missing(o, known)
	if err := m.all(ctx, jobs, o); err != nil {
		return err
	}
	t := tabulate(o, m.known, now)
	if o.stages {
		t.stages(out)
	}
	if o.write == "" {
		_, err := io.WriteString(out, t.markdown())
		return err
	}
	return replace(o.write, t.markdown())
}

// job is one world that is not measured yet.
type job struct {
	cell
	world  int
	search bool // else the rule
}

// missing lists what is not in the records: the rules first, which take seconds, then
// world by world all cells, so that a table of what is done is even.
func missing(o options, known []record) (jobs []job) {
	done := map[job]bool{}
	for _, r := range known {
		switch {
		case r.Rule != nil && r.Bars == o.Bars:
			done[job{r.cell, r.World, false}] = true
		case r.Search != nil && r.setup == o.setup:
			done[job{r.cell, r.World, true}] = true
		}
	}
	add := func(j job) {
		if !done[j] {
			jobs = append(jobs, j)
		}
	}
	for w := range o.rules {
		for _, c := range o.cells() {
			add(job{c, w, false})
		}
	}
	nulls := 0
	for w := range o.worlds {
		for ; nulls < o.null*(w+1)/o.worlds; nulls++ {
			add(job{cell{noEdge, 0}, nulls, true})
		}
		for _, c := range o.cells() {
			add(job{c, w, true})
		}
	}
	for ; nulls < o.null; nulls++ {
		add(job{cell{noEdge, 0}, nulls, true})
	}
	return jobs
}

// cells are the rows of the table.
func (o options) cells() (all []cell) {
	for _, k := range worlds.Kinds {
		if o.kinds != "" && !slices.Contains(strings.Split(o.kinds, ","), k.Name) {
			continue
		}
		for _, s := range k.Strengths {
			all = append(all, cell{k.Name, s})
		}
	}
	return all
}

// measuring does jobs and writes down each.
type measuring struct {
	mu    sync.Mutex
	known []record
	to    io.Writer
	err   error
}

// all does the jobs, several at once. After the end of ctx what is done is kept.
func (m *measuring) all(ctx context.Context, jobs []job, o options) error {
	next := make(chan job)
	var wg sync.WaitGroup
	for range o.workers {
		wg.Go(func() {
			for j := range next {
				m.done(j.measure(ctx, o.setup))
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil || m.failed() != nil {
			break
		}
		next <- j
	}
	close(next)
	wg.Wait()
	if err := m.failed(); err != nil && ctx.Err() == nil { // else the table says what is done
		return err
	}
	return nil
}

func (j job) measure(ctx context.Context, s setup) (r record, err error) {
	r = record{cell: j.cell, World: j.world, setup: s}
	if j.search {
		r.Search, err = j.cell.search(ctx, j.world, s)
	} else {
		r.Rule, err = j.rule(j.world, s.Bars)
	}
	return r, err
}

func (m *measuring) failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}
