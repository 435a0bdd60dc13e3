package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/worlds"
)

// noEdge is the kind of the worlds that the luckiest score is known from: strength 0.
const noEdge = "no edge"

// setup is what all worlds of a table have in common.
type setup struct {
	Version    string `json:"version"` // of the search
	Bars       int    `json:"bars"`
	Researches int    `json:"researches"`
}

// cell is a kind of edge at a strength.
type cell struct {
	Kind     string  `json:"kind"`
	Strength float64 `json:"strength"`
}

// record is one world of a cell, with what its rule and the search made of it.
type record struct {
	cell
	World  int     `json:"world"`
	Rule   *[2]own `json:"rule,omitempty"`  // by exit: at once, late
	Search *found  `json:"found,omitempty"` // of this setup
	setup
}

// own is what the rule that knows the effect comes to.
type own struct {
	Sharpe    float64  `json:"sharpe"`         // net, a year, on all bars
	Score     *float64 `json:"examined_score"` // on all bars before the holdout; nil: it has none there
	Confirmed bool     `json:"confirmed"`
}

// found is what the search comes to.
type found struct {
	Score     *float64 `json:"examined_score"` // that a factory test compares; nil: there is no finalist
	Confirmed bool     `json:"confirmed"`
	Seconds   float64  `json:"seconds"`

	// Where designs end: the first of these that a research does not pass.
	Failed   int            `json:"failed,omitempty"`
	Gates    map[string]int `json:"gates,omitempty"`  // rejected, by the first check of a gate
	Checks   map[string]int `json:"checks,omitempty"` // of the verdict, by the first that failed
	Finalist int            `json:"finalists"`
	Looks    int            `json:"looks"`

	LookSharpe *float64 `json:"look_sharpe"` // of the first look on the holdout
}

// kindOf is the kind of a cell. No edge is any kind without strength.
func (c cell) kindOf() (worlds.Kind, error) {
	for _, k := range worlds.Kinds {
		if k.Name == c.Kind || c.Kind == noEdge && !k.Leader {
			return k, nil
		}
	}
	return worlds.Kind{}, fmt.Errorf("there is no kind of edge %q", c.Kind)
}

// firstSeed is where the seeds of the worlds begin. It was chosen before any of them
// was run, and nothing may be tuned to them.
const firstSeed, nullSeed = 83_000, 71_000

// seed is that of a world. The strengths of a kind share the noise of their worlds, so
// that they differ by the strength alone; kinds share nothing.
func (c cell) seed(world int) uint64 {
	if c.Kind == noEdge {
		return uint64(nullSeed + world)
	}
	at := slices.IndexFunc(worlds.Kinds, func(k worlds.Kind) bool { return k.Name == c.Kind })
	return num.Mix(firstSeed, uint64(at), uint64(world))
}

func (c cell) bars(world, bars int) (worlds.Kind, []*market.Bars, error) {
	k, err := c.kindOf()
	if err != nil {
		return k, nil, err
	}
	return k, k.Make("EDGE", bars, c.seed(world), c.Strength), nil
}

// rule trades the rule that knows the effect, and gives it the test of a finalist: one
// look, the first.
func (c cell) rule(world, bars int) (*[2]own, error) {
	k, all, err := c.bars(world, bars)
	if err != nil {
		return nil, err
	}
	cut := bars - int(float64(worlds.HoldoutShare*float64(bars)))
	rule := k.Rule(all)
	var both [2]own
	for i, exit := range worlds.Exits {
		part := func(from, to int) (p evidence.Part) {
			if err == nil {
				p, err = rule.Trade(exit, from, to)
			}
			return p
		}
		full, searched, holdout := part(0, bars), part(0, cut), part(cut, bars)
		if err != nil {
			return nil, err
		}
		both[i].Confirmed = evidence.Confirm(holdout, 0, evidence.Rules{}).Claim
		if s := evidence.EstimateSharpe(full.Returns, full.BarsPerYear); s.Annualized != nil {
			both[i].Sharpe = *s.Annualized
		}
		v := evidence.Versus(searched.Returns, searched.Hold, searched.BarsPerYear)
		both[i].Score = evidence.WeakerZ(v.Sharpe.Z, v.AlphaZ)
	}
	return &both, nil
}

// search searches a world as a backend does.
func (c cell) search(ctx context.Context, world int, s setup) (*found, error) {
	_, all, err := c.bars(world, s.Bars)
	if err != nil {
		return nil, err
	}
	w, err := factory.Split(all, worlds.HoldoutShare)
	if err != nil {
		return nil, err
	}
	for _, leader := range all[1:] { // it may be read; to trade it is no part of the edge
		w.Context = append(w.Context, leader.Symbol)
	}
	costs, err := instrument.ParseTable(worlds.Fair)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	out, err := factory.Search(ctx, w, factory.Settings{Researches: s.Researches, Seed: c.seed(world), Costs: costs})
	if err != nil {
		return nil, err
	}
	f := &found{Score: out.Statistic(), Confirmed: out.Claims() > 0, Seconds: time.Since(begun).Seconds(), Looks: out.Looks()}
	f.stages(&out)
	return f, nil
}

func (f *found) stages(out *factory.SearchOutcome) {
	f.Gates, f.Checks = map[string]int{}, map[string]int{}
	for i := range out.Researches {
		r := &out.Researches[i]
		switch {
		case r.Status != ktrdr.Completed:
			f.Failed++
		case r.Rung == ktrdr.RungFinalist:
			f.Finalist++
		case r.Rung == ktrdr.RungRejected:
			f.Gates[stoppedAt(r)]++
		default:
			first, _, _ := strings.Cut(numbers.ReplaceAllString(r.Result.Summary, "N"), ". ")
			f.Checks[first]++
		}
	}
	for _, g := range out.Generations {
		if g.Look != nil && f.LookSharpe == nil {
			f.LookSharpe = g.Look.Holdout.Sharpe.Annualized
		}
	}
}

// numbers are taken out of a summary, so that equal reasons are counted together.
var numbers = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?`)

func stoppedAt(r *factory.Research) string {
	for _, g := range r.Result.Gates {
		if !g.Passed && len(g.Reasons) > 0 {
			return g.Gate + ": " + string(g.Reasons[0].Code)
		}
	}
	return "a gate"
}
