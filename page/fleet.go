package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
)

// fleet is the workers.
type fleet struct {
	Summary    string
	Live, Gone []workerRow
}

type workerRow struct {
	Name, Place, Types, Busy, Seen, Since, Version string
	Runs                                           []link
}

// fleetOf says of each worker what it runs.
func fleetOf(all []ktrdr.Worker, running []api.OperationRow, now time.Time) fleet {
	var f fleet
	slots, busy := 0, 0
	for i := range all {
		w := &all[i]
		r := workerRow{
			Name: workerName(w), Place: w.Host, Types: kindWords(w.Types), Busy: missing, Seen: lasted(max(0, now.Sub(w.SeenAt))) + " ago",
			Since: w.RegisteredAt.UTC().Format(time.RFC3339), Version: w.Version,
		}
		if w.HeldBy != "" {
			r.Place = "in a backend"
		}
		if !w.Live {
			f.Gone = append(f.Gone, r)
			continue
		}
		slots, busy = slots+w.Slots, busy+w.Running
		r.Busy = fmt.Sprintf("%d of %d", w.Running, w.Slots)
		for j := range running {
			if op := &running[j]; op.Worker == w.ID {
				r.Runs = append(r.Runs, link{kindWord(op.Type) + " " + op.ID.Tail(), "/operations/" + string(op.ID)})
			}
		}
		f.Live = append(f.Live, r)
	}
	f.Summary = fmt.Sprintf("%d of %s busy.", busy, plural(slots, "slot"))
	return f
}

func workerName(w *ktrdr.Worker) string {
	if w.Name != "" {
		return w.Name
	}
	return string(w.ID)
}

func kindWords(all []ktrdr.Type) string {
	words := make([]string, len(all))
	for i, t := range all {
		words[i] = kindWord(t)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// serviceLevel is how much of its service the system gives.
type serviceLevel struct {
	Sentence, Score string
	Steps           []levelStep
	Services        []serviceRow
}

type levelStep struct {
	Name, Note string
	Here       bool
}

type serviceRow struct {
	Name, Health, Mark, Weight string
	Critical                   bool
}

// levels are the levels of service, the best first, and what each switches off.
var levels = []levelStep{
	{Name: "Full", Note: "everything on"},
	{Name: "Degraded", Note: "no LLM assessment"},
	{Name: "Minimal", Note: "no LLM design"},
	{Name: "Offline", Note: "no new research"},
}

func (p *Pages) readServiceLevel(ctx context.Context) (serviceLevel, error) {
	d, err := p.lab.Degradation(ctx)
	if err != nil {
		return serviceLevel{}, err
	}
	v := serviceLevel{Score: chart.Number(d.Score, 2), Steps: slices.Clone(levels)}
	for i := range v.Steps {
		v.Steps[i].Here = strings.EqualFold(v.Steps[i].Name, string(d.Level))
	}
	v.Sentence = fmt.Sprintf("Service level: %s.", strings.ToLower(string(d.Level)))
	if len(d.Shed) > 0 {
		var off []string
		for _, s := range d.Shed {
			off = append(off, strings.ReplaceAll(strings.ReplaceAll(string(s), "llm", "LLM"), "_", " "))
		}
		v.Sentence += " Switched off: " + strings.Join(off, ", ") + "."
	}
	for _, s := range d.Services {
		r := serviceRow{
			Name: s.Name, Health: strings.ToLower(string(s.Health)), Mark: "done", Weight: chart.Number(s.Weight, 0), Critical: s.Critical,
		}
		switch r.Health {
		case "healthy":
		case "degraded":
			r.Mark = "neutral"
		default:
			r.Mark = "failed"
		}
		v.Services = append(v.Services, r)
	}
	return v, nil
}
