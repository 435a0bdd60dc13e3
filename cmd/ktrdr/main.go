// Command ktrdr is the backend, the worker and the command line of a
// durable-work system, in one binary. Each subcommand has its own file; this
// one knows only signals and exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
)

// version is set by the linker; see version.go for what a plain build says.
var version string

// errStopped is the cause with which the context ends on a signal.
var errStopped = errors.New("stopped by a signal")

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(errStopped)
		<-signals // a user who asks twice does not want to wait
		os.Exit(exitInterrupted)
	}()

	a := &app{out: term.Guard(os.Stdout), err: term.Guard(os.Stderr), getenv: os.Getenv}
	err := interrupted(ctx, newRoot(a).ExecuteContext(ctx))
	if err != nil {
		a.complain(err)
	}
	os.Exit(exitCode(err)) //nolint:gocritic // the deferred cancel has nothing left to end
}

// The exit codes. They are part of the interface; `ktrdr --help` lists them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitCancelled   = 3
	exitUnreachable = 4
	exitInterrupted = 130
	exitUnread      = 141 // as a shell shows who dies of SIGPIPE
)

// exitError is an error that asks for an exit code of its own. Without an Err
// everything has been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// failedIf makes the exit code that of a failure, after everything has been said.
func failedIf(err error, failed bool) error {
	if err == nil && failed {
		return &exitError{code: exitFailed}
	}
	return err
}

// usagef says that the command line or a setting is wrong.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// interrupted makes one error of all the ways in which a signal is felt.
func interrupted(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errStopped) {
		return errStopped
	}
	return err
}

func exitCode(err error) int {
	switch e, ok := errors.AsType[*exitError](err); {
	case err == nil:
		return exitOK
	case ok:
		return e.code
	case errors.Is(err, errStopped):
		return exitInterrupted
	case ktrdr.CodeOf(err) == ktrdr.CodeInvalid: // the request must be changed
		return exitUsage
	}
	return exitFailed
}
