package research

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestDesk_AGoalOfWhichNothingIsUnderstood(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 1200})
	goal := Request{Brief: "make me rich with momentom", RefuseUnknown: true}
	_, err := d.Trigger(t.Context(), goal)
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || len(a.blobs) > 0 {
		t.Fatalf("err = %v, %d blobs; want a refusal and nothing made", err, len(a.blobs))
	}
	for _, want := range []string{"nothing of the goal was understood: rich, momentom (did you mean momentum?)", "--ignore-unknown"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	goal.RefuseUnknown = false
	order, err := d.Trigger(t.Context(), goal)
	if err != nil || !slices.Equal(order.NotUnderstood, []string{"rich", "momentom"}) ||
		!slices.ContainsFunc(order.Warnings, func(w string) bool { return strings.HasPrefix(w, "Nothing of the goal was understood") }) {
		t.Errorf("%v; not understood %q, warnings %q; want a warning", err, order.NotUnderstood, order.Warnings)
	}
	if order, err = d.Trigger(t.Context(), Request{Brief: "rich trend", RefuseUnknown: true}); err != nil ||
		!slices.Equal(order.NotUnderstood, []string{"rich"}) ||
		slices.ContainsFunc(order.Warnings, func(w string) bool { return strings.Contains(w, "understood") }) {
		t.Errorf("%v; not understood %q, warnings %q; want one word listed", err, order.NotUnderstood, order.Warnings)
	}
}

func TestDesk_AGoalBesideAStrategy(t *testing.T) {
	text, _ := simple(t)
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200, "GBPUSD": 1200})
	for goal, says := range map[string]string{
		"trend on GBPUSD":     "the goal names GBPUSD, and it is written for EURUSD",
		"EURUSD and GBPUSD":   "the goal names GBPUSD",
		"better than USDJPY":  "the goal names USDJPY",
		"trend on 4h candles": "the goal names 4h bars, and it is written for 1h",
	} {
		if _, err := d.Trigger(t.Context(), Request{StrategyYAML: text, Brief: goal}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want a refusal with %q", goal, err, says)
		}
	}
	order, err := d.Trigger(t.Context(), Request{StrategyYAML: text, Brief: "see whether EUR/USD 1h trends"})
	if err != nil || !slices.ContainsFunc(order.Warnings, func(w string) bool { return strings.Contains(w, "the goal is kept as a note") }) ||
		len(order.Understood) != 1 {
		t.Errorf("%v; understood %q, warnings %q; want the goal as a note", err, order.Understood, order.Warnings)
	}
}

func TestDesk_SaysHowToMakeTheBars(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"XAUUSD": 1200})
	for name, x := range map[string]Request{
		"in the goal":    {Brief: "XAUUSD daily"},
		"by the request": {Symbols: []string{"XAUUSD"}, Timeframe: "1d"},
	} {
		if _, err := d.Trigger(t.Context(), x); err == nil || !strings.Contains(err.Error(), "`ktrdr data resample XAUUSD 1h 1d`") {
			t.Errorf("%s: %v, want the command", name, err)
		}
	}
}
