package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
)

const (
	laneHeight   = 22
	eventsOfPage = 12
)

// machine is what happened to backends and workers.
type machine struct {
	Summary  string
	Timeline template.HTML
	Events   []happened
}

type happened struct {
	At         time.Time
	What, Note string
}

func machineOf(m report.Machine, from, to time.Time) machine {
	out := machine{Summary: fmt.Sprintf("%s, %d died. %s joined, %d died. %s resumed, %d given up.",
		plural(m.BackendStarts, "backend start"), m.BackendDeaths, plural(m.WorkersJoined, "worker"), m.WorkersLost,
		plural(m.Resumed, "operation"), m.Poisoned)}
	if len(m.Processes) > 0 {
		out.Timeline = drawLives(m.Processes, from, to)
	}
	for _, e := range m.Log[:min(len(m.Log), eventsOfPage)] {
		out.Events = append(out.Events, happened{e.At, processEvents[e.Kind], processNote(e)})
	}
	return out
}

var processEvents = map[ktrdr.EventKind]string{
	ktrdr.EventBackendStarted: "Backend started", ktrdr.EventBackendStopped: "Backend stopped", ktrdr.EventBackendDied: "Backend died",
	ktrdr.EventWorkerRegistered: "Worker joined", ktrdr.EventWorkerLeft: "Worker left", ktrdr.EventWorkerLost: "Worker died",
	ktrdr.EventWorkerReturned: "Worker is back", ktrdr.EventPaused: "New work paused", ktrdr.EventUnpaused: "New work allowed",
	ktrdr.EventBreaker: "Circuit breaker", ktrdr.EventReported: "Worker reported back",
}

func processNote(e report.ProcessEvent) string {
	note := laneName(report.ProcessLife{Kind: kindOf(e.Kind), Name: e.Name})
	if e.PID > 0 {
		note += fmt.Sprintf(", process %d", e.PID)
	}
	if e.Text != "" {
		note += ", " + e.Text
	}
	return note
}

func kindOf(k ktrdr.EventKind) string {
	if strings.HasPrefix(string(k), "backend") {
		return "backend"
	}
	return "worker"
}

// drawLives draws one lane for each name, with a bar for each life.
func drawLives(lives []report.ProcessLife, from, to time.Time) template.HTML {
	for i := range lives {
		lives[i].Name = laneName(lives[i])
	}
	var names []string
	for _, l := range lives {
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
	}
	first := from
	if earliest := slices.MinFunc(lives, func(a, b report.ProcessLife) int { return a.From.Compare(b.From) }).From; earliest.After(from) {
		first = earliest.Add(-to.Sub(earliest) / 20)
	}
	seconds := func(t time.Time) float64 { return float64(t.Unix()) }
	p := chart.Plot{
		Label: fmt.Sprintf("%s over time", plural(len(lives), "life of a backend or worker")), Height: laneHeight * len(names), Left: 7,
		X: chart.Scale{Min: seconds(first), Max: max(seconds(to), seconds(first)+1)}, Y: chart.Scale{Min: 0, Max: float64(len(names))},
		YTicks: []chart.Tick{}, XTicks: timeTicks(first, to),
	}
	for lane, name := range names {
		p.YTicks = append(p.YTicks, chart.Tick{At: float64(len(names)-lane) - 0.5, Text: name})
		bars := chart.Lives{Y: float64(len(names)-lane) - 0.5, Height: 9}
		for _, l := range lives {
			if l.Name != name {
				continue
			}
			end := l.To
			if end.IsZero() {
				end = to
			}
			bars.Spans = append(bars.Spans, chart.Stretch{From: seconds(l.From), To: seconds(end), Ended: l.Died})
		}
		p.Layers = append(p.Layers, bars)
	}
	return p.HTML()
}

// laneName is short: the ids of backends are long and alike at their beginning.
func laneName(p report.ProcessLife) string {
	if stem, id, found := cutLast(p.Name, "-"); found && p.Kind == "backend" && len(id) > 4 {
		return stem + " " + id[:4]
	}
	return clip(p.Name, 14)
}

// timeTicks are about five instants, with dates where the span is of days.
func timeTicks(from, to time.Time) []chart.Tick {
	layout, show := "15:04", "clock"
	if to.Sub(from) > 48*time.Hour {
		layout, show = "2 Jan 2006", "date"
	}
	var ticks []chart.Tick
	for i := range 5 {
		t := from.Add(to.Sub(from) * time.Duration(i) / 4)
		ticks = append(ticks, chart.Tick{At: float64(t.Unix()), Show: show, Text: t.UTC().Format(layout), Edge: map[int]int{0: -1, 4: 1}[i]})
	}
	return ticks
}
