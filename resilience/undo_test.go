package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// log of what is taken back.
type ledger []string

func (l *ledger) takes(name string, err error) func(context.Context) error {
	return func(context.Context) error {
		*l = append(*l, name)
		return err
	}
}

func TestUndo_LastThingFirst(t *testing.T) {
	var undo resilience.Undo
	var did ledger
	for _, name := range []string{"first", "second", "third"} {
		undo.Did(name, did.takes(name, nil))
	}
	cause := errors.New("no disk")
	if err := undo.Rollback(t.Context(), cause); !errors.Is(err, cause) || err.Error() != "no disk" {
		t.Errorf("err = %v, want the cause alone", err)
	}
	if want := (ledger{"third", "second", "first"}); !slices.Equal(did, want) {
		t.Errorf("took back %v, want %v", did, want)
	}
	if err := undo.Rollback(t.Context(), nil); err != nil || len(did) != 3 {
		t.Errorf("took something back twice: %v, %v", did, err)
	}
}

func TestUndo_ContinuesAfterAStepThatCannot(t *testing.T) {
	var undo resilience.Undo
	var did ledger
	undo.Did("first", did.takes("first", fmt.Errorf("remove: %w", fs.ErrPermission)))
	undo.Did("second", func(context.Context) error { panic("boom") })
	undo.Did("third", did.takes("third", nil))
	cause := fmt.Errorf("train: %w", &resilience.Error{Kind: resilience.KindServer, Status: 500})
	err := undo.Rollback(t.Context(), cause)
	if want := (ledger{"third", "first"}); !slices.Equal(did, want) {
		t.Errorf("took back %v, want %v", did, want)
	}
	const want = "train: server (status 500); and 2 steps could not be taken back: undo second: panic: boom; undo first: remove: permission " +
		"denied"
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if !errors.Is(err, fs.ErrPermission) || !errors.Is(err, cause) || resilience.KindOf(err) != resilience.KindServer {
		t.Errorf("what it is made of cannot be found in %v", err)
	}
	if ce, ok := errors.AsType[*resilience.CompoundError](err); !ok || !errors.Is(ce.Cause, cause) || len(ce.Left) != 2 {
		t.Errorf("%#v, want the cause and two errors", err)
	}
}

func TestUndo_RunsThoughTheContextEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		undo := resilience.Undo{Timeout: time.Second}
		var did ledger
		undo.Did("first", func(ctx context.Context) error {
			did = append(did, "first")
			return ctx.Err()
		})
		undo.Did("hangs", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		start := time.Now()
		err := undo.Rollback(ctx, ktrdr.ErrCancelled)
		if len(did) != 1 || time.Since(start) != time.Second {
			t.Errorf("took back %v in %v, want first, after a second for the one that hangs", did, time.Since(start))
		}
		if ce, ok := errors.AsType[*resilience.CompoundError](err); !ok || len(ce.Left) != 1 {
			t.Errorf("err = %v, want only the one that hung", err)
		}
	})
}

// What is stored of a compound failure names every part in order: the whole,
// the cause and what it wraps, then each step and what it wraps.
func TestCompoundError_IsAnOrderedChainWhenStored(t *testing.T) {
	inner := errors.New("connection reset")
	err := &resilience.CompoundError{
		Cause: fmt.Errorf("design: %w", inner),
		Left:  []error{fmt.Errorf("undo draft: %w", fs.ErrPermission), errors.New("undo note: gone")},
	}
	got := ktrdr.NewFailure(ktrdr.CodeFailed, err).Chain
	want := []string{
		err.Error(),
		"design: connection reset", "connection reset",
		"undo draft: permission denied", "permission denied",
		"undo note: gone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("chain\n%q, want\n%q", got, want)
	}
}
