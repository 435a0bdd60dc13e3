package resilience

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Undo remembers how to take back what was done, so that work that fails half
// way leaves nothing half done:
//
//	var undo resilience.Undo
//	…
//	undo.Did("strategy saved", removeStrategy)
//	…
//	if err != nil {
//		return undo.Rollback(ctx, err)
//	}
//
// It is for one goroutine.
type Undo struct {
	Timeout time.Duration // of each step; 0 means 30 s

	steps []step
}

type step struct {
	name string
	undo func(context.Context) error
}

// Did notes that something was done, and how to take it back.
func (u *Undo) Did(name string, undo func(context.Context) error) {
	u.steps = append(u.steps, step{name, undo})
}

// Rollback takes everything back, the last thing first, and continues after a
// step that cannot. It does so also when ctx has ended: that is often why it is
// called. It returns cause, or a *CompoundError of cause and what could not be
// taken back. A second Rollback has nothing left to do.
func (u *Undo) Rollback(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	var left []error
	for _, s := range slices.Backward(u.steps) {
		if err := u.run(ctx, s); err != nil {
			left = append(left, fmt.Errorf("undo %s: %w", s.name, err))
		}
	}
	u.steps = nil
	if len(left) == 0 {
		return cause
	}
	return &CompoundError{Cause: cause, Left: left}
}

// run takes one step back; its panic is an error like others, lest the steps
// before it are never taken back.
func (u *Undo) run(ctx context.Context, s step) (err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(u.Timeout, 30*time.Second))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.undo(ctx)
}

// CompoundError is a failure that could not be taken back in full.
type CompoundError struct {
	Cause error   // why it was to be taken back; nil when it was only a wish
	Left  []error // what could not be, in the order it was tried
}

// Error says the cause first, then what is left to do by hand.
func (e *CompoundError) Error() string {
	texts := text.Map(e.Left, error.Error)
	left := fmt.Sprintf("%d steps could not be taken back: %s", len(e.Left), strings.Join(texts, "; "))
	if len(e.Left) == 1 {
		left = "one step could not be taken back: " + texts[0]
	}
	if e.Cause == nil {
		return left
	}
	return fmt.Sprintf("%v; and %s", e.Cause, left)
}

// Unwrap makes the whole a chain, cause first, as a stored failure shows it:
// errors.Unwrap does not enter a list.
func (e *CompoundError) Unwrap() error {
	all := e.Left
	if e.Cause != nil {
		all = append([]error{e.Cause}, all...)
	}
	return chain(all, nil)
}

// link is one error of a chain; it stands for all that its error wraps.
type link struct {
	error
	next error
}

// chain links errs, each followed by what it wraps, and then rest.
func chain(errs []error, rest error) error {
	for _, err := range slices.Backward(errs) {
		if wrapped := errors.Unwrap(err); wrapped != nil {
			rest = chain([]error{wrapped}, rest)
		}
		rest = link{err, rest}
	}
	return rest
}

func (l link) Is(target error) bool { return errors.Is(l.error, target) }
func (l link) As(target any) bool   { return errors.As(l.error, target) }
func (l link) Unwrap() error        { return l.next }
