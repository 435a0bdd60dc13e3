package ktrdr

import (
	"encoding/json"
	"fmt"
	"time"
)

// Holdout is one of the holdouts of a market. Bars that close after From are in it. A
// look at it pays for the looks before it that showed such bars. New bars are new
// budget: a later holdout begins after the last bar that any look used.
//
//	research part │ holdout, looked at           │ new bars
//	research part of the new holdout             │ new holdout
//	            From of the old          LookedUntil <= From of the new
type Holdout struct {
	From       time.Time `json:"from"`
	Looks      int       `json:"looks"`                // that the next look at it pays for; a claim that is followed over its bars is one
	ReplacedAt time.Time `json:"replaced_at,omitzero"` // when a later one was set; zero for the newest
}

// String is where the holdout begins and its budget, for people.
func (h Holdout) String() string {
	text := fmt.Sprintf("from %s, the next look at it pays for %d before it", minute(h.From), h.Looks)
	if !h.ReplacedAt.IsZero() {
		text += ", replaced on " + h.ReplacedAt.UTC().Format(time.DateOnly)
	}
	return text
}

// HoldoutFor is where the holdout begins that was given to a research: the newest that
// begins at from or before. Of a market that was merged since it is the only one left.
func (m *Market) HoldoutFor(from time.Time) time.Time {
	start := m.HoldoutFrom
	for _, h := range m.Holdouts {
		if !h.From.After(from) {
			start = h.From
		}
	}
	return start
}

// NewHoldout replaces the holdout of a market by a later one.
type NewHoldout struct {
	Market string
	From   time.Time
	HoldoutLength
}

// HoldoutLength compares a new holdout with the one that it replaces, which ends with
// the last bar that a look used.
type HoldoutLength struct {
	Before      time.Time `json:"holdout_before"` // where the one that is replaced begins
	LookedUntil time.Time `json:"looked_until"`   // close of the last bar that a look used
	Until       time.Time `json:"until"`          // close of the newest bar
	Bars        int       `json:"bars"`           // of the new one
	BarsBefore  int       `json:"bars_before"`    // of the one that is replaced
}

// Check says what is wrong with a holdout that begins at from: CodeInvalid names the
// rule. It is the rule of the desk, of the store and of `ktrdr verify`.
func (l HoldoutLength) Check(from time.Time) error {
	switch {
	case !l.LookedUntil.After(l.Before):
		return Errorf(CodeInvalid, "no look has used bars of the holdout from %s: its budget is not used, so it stays", minute(l.Before))
	case from.Before(l.LookedUntil):
		return Errorf(CodeInvalid, "a look has used bars until %s: a new holdout begins after the bars of every look", minute(l.LookedUntil))
	case l.Bars < l.BarsBefore:
		return Errorf(CodeInvalid,
			"it has %d bars until %s, and the holdout before it has %d: a new holdout is at least as long; %d bars are missing",
			l.Bars, minute(l.Until), l.BarsBefore, l.BarsBefore-l.Bars)
	case l.Until.Sub(from) < l.LookedUntil.Sub(l.Before):
		return Errorf(CodeInvalid, "its bars end at %s, and the holdout before it lasted %.1f days: a new holdout is at least as long; "+
			"bars until %s are missing", minute(l.Until), l.LookedUntil.Sub(l.Before).Hours()/24, minute(from.Add(l.LookedUntil.Sub(l.Before))))
	}
	return nil
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// LookedUntil is the close of the last bar that the spans of a look name; zero if they
// name none.
func LookedUntil(spans json.RawMessage) (last time.Time) {
	var all []struct {
		To time.Time `json:"to"`
	}
	if json.Unmarshal(spans, &all) != nil {
		return last
	}
	for _, s := range all {
		if s.To.After(last) {
			last = s.To
		}
	}
	return last
}
