package research

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/internal/text"
)

// Injection makes work go wrong on purpose, to see what comes of it. It is
// written ACTION:PHASE:TEXT:
//
//	fail:training:INJECT_FAILURE  trainings of researches whose brief or strategy name holds the text fail
//	panic:designing:              every design panics
//	hang:backtesting:slow         runs for ever, alive, until it is cancelled
//	delay=2s:assessing:           begins two seconds later
//	panic:examining:              every examination of a finalist panics
//	panic:confirming:             every look at a holdout panics
//	panic:following:              every step that follows a claim panics
//	memory:training:              takes memory until the process dies of it; set a limit first (ulimit -d)
//
// The backend asks for it at each claim, so that one that is started without it
// is cured. Empty phase and empty text match all.
type Injection struct {
	Action Action
	Delay  time.Duration // of ActionDelay
	Phase  Phase         // "" is any
	Text   string        // part of the brief or of the strategy's name
}

// Action is what goes wrong.
type Action string

// The actions.
const (
	ActionFail   Action = "fail"
	ActionPanic  Action = "panic"
	ActionHang   Action = "hang"
	ActionDelay  Action = "delay"
	ActionMemory Action = "memory"
)

// Injections are what KTRDR_INJECT holds. The zero value does nothing.
type Injections []Injection

const maxDelay = time.Hour

// ParseInjections reads comma-separated injections.
func ParseInjections(text string) (Injections, error) {
	var list Injections
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		i, err := parseInjection(strings.TrimSpace(item))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", strings.TrimSpace(item), err)
		}
		list = append(list, i)
	}
	return list, nil
}

func parseInjection(written string) (Injection, error) {
	fields := strings.SplitN(written, ":", 3)
	if len(fields) != 3 {
		return Injection{}, errors.New("it is written ACTION:PHASE:TEXT, such as fail:training:INJECT_FAILURE")
	}
	i, err := ParseAction(fields[0])
	if err != nil {
		return i, err
	}
	i.Text = fields[2]
	if fields[1] == "" {
		return i, nil
	}
	i.Phase = Phase(strings.ToUpper(fields[1]))
	if known := slices.Concat(Phases[1:len(Phases)-1], outside); !slices.Contains(known, i.Phase) {
		return i, fmt.Errorf("there is no phase %q; there is %s", fields[1], strings.ToLower(text.Join(known)))
	}
	return i, nil
}

// ParseAction reads what an injection does, as String writes it.
func ParseAction(text string) (Injection, error) {
	if after, ok := strings.CutPrefix(text, string(ActionDelay)+"="); ok {
		d, err := time.ParseDuration(after)
		if err != nil || d <= 0 || d > maxDelay {
			return Injection{}, fmt.Errorf("%q is no delay from 1ns to %v, such as 2s", after, maxDelay)
		}
		return Injection{Action: ActionDelay, Delay: d}, nil
	}
	switch a := Action(text); a {
	case ActionFail, ActionPanic, ActionHang, ActionMemory:
		return Injection{Action: a}, nil
	}
	return Injection{}, fmt.Errorf("there is no action %q; there is fail, panic, hang, memory and delay=2s", text)
}

// String writes the action as it is handed to a worker.
func (i Injection) String() string {
	if i.Action == ActionDelay {
		return fmt.Sprintf("%s=%s", i.Action, i.Delay)
	}
	return string(i.Action)
}

// For finds the first injection that an operation is to have; "" if none.
func (list Injections) For(op ktrdr.Operation) string {
	phase := phaseOf(op.Type)
	if len(list) == 0 || phase == Idle {
		return ""
	}
	var a about
	_ = json.Unmarshal(op.Metadata, &a) // without it only an injection into all matches
	for _, i := range list {
		if (i.Phase == "" || i.Phase == phase) && (strings.Contains(a.Brief, i.Text) || strings.Contains(a.Strategy, i.Text)) {
			return i.String()
		}
	}
	return ""
}

// Do makes things go wrong until its context ends; nil: the work may begin.
func (i Injection) Do(ctx context.Context) error {
	switch i.Action {
	case ActionFail:
		return ktrdr.Errorf(ktrdr.CodeFailed, "it fails because KTRDR_INJECT says so")
	case ActionPanic:
		panic("it panics because KTRDR_INJECT says so")
	case ActionHang:
		<-ctx.Done()
		return context.Cause(ctx)
	case ActionMemory:
		for held := [][]byte(nil); ctx.Err() == nil; {
			held = append(held, make([]byte, 16<<20))
			for page := 0; page < 16<<20; page += 4096 {
				held[len(held)-1][page] = 1 // else the kernel only promises it
			}
		}
		return context.Cause(ctx)
	case ActionDelay:
		if !backoff.Sleep(ctx, i.Delay) {
			return context.Cause(ctx)
		}
	}
	return nil
}
