package research

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestInjections_FindTheirOperations(t *testing.T) {
	list, err := ParseInjections("fail:training:INJECT_FAILURE, panic:DESIGNING:, delay=2s:assessing:slow,memory:confirming:,hang::stuck:here")
	if err != nil {
		t.Fatal(err)
	}
	op := func(typ ktrdr.Type, brief, name string) ktrdr.Operation {
		metadata, err := encode(about{Brief: brief, Strategy: name})
		if err != nil {
			t.Fatal(err)
		}
		return ktrdr.Operation{Type: typ, Metadata: metadata}
	}
	for name, x := range map[string]struct {
		op   ktrdr.Operation
		want string
	}{
		"brief holds the text":       {op(ktrdr.Training, "please INJECT_FAILURE now", ""), "fail"},
		"strategy's name holds it":   {op(ktrdr.Training, "", "INJECT_FAILURE_1"), "fail"},
		"another phase":              {op(ktrdr.Backtesting, "INJECT_FAILURE", ""), ""},
		"every design":               {op(ktrdr.AgentDesign, "whatever", ""), "panic"},
		"a delay":                    {op(ktrdr.AgentAssessment, "slow", ""), "delay=2s"},
		"any phase, text with colon": {op(ktrdr.Backtesting, "stuck:here", ""), "hang"},
		"every confirmation":         {op(ktrdr.AgentConfirm, "whatever", ""), "memory"},
		"no part of a research":      {op(ktrdr.Dummy, "stuck:here", ""), ""},
		"no metadata":                {ktrdr.Operation{Type: ktrdr.Training}, ""},
	} {
		if got := list.For(x.op); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
	if got := Injections(nil).For(op(ktrdr.Training, "INJECT_FAILURE", "")); got != "" {
		t.Errorf("without any: %q", got)
	}
}

func TestInjections_SayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"fail":              "ACTION:PHASE:TEXT",
		"burn:training:x":   "no action",
		"fail:cooking:x":    "no phase",
		"fail:done:x":       "no phase",
		"delay=x:training:": "no delay",
		"delay=9h::":        "no delay",
	} {
		if _, err := ParseInjections(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if list, err := ParseInjections(" , "); err != nil || len(list) != 0 {
		t.Errorf("nothing: %v, %v", list, err)
	}
}

func TestInjection_Does(t *testing.T) {
	do := func(ctx context.Context, text string) error {
		i, err := ParseAction(text)
		if err != nil || i.String() != text {
			t.Fatalf("%s is read as %+v, %v", text, i, err)
		}
		return i.Do(ctx)
	}
	if err := do(t.Context(), "fail"); ktrdr.CodeOf(err) != ktrdr.CodeFailed {
		t.Errorf("fail: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("panic does not")
			}
		}()
		_ = do(t.Context(), "panic")
	}()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := do(t.Context(), "delay=2s"); err != nil || time.Since(begun) != 2*time.Second {
			t.Errorf("delay: %v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(ktrdr.ErrCancelled) })
		if err := do(ctx, "hang"); !errors.Is(err, ktrdr.ErrCancelled) || time.Since(begun) != time.Hour+2*time.Second {
			t.Errorf("hang: %v after %v", err, time.Since(begun))
		}
	})
}
