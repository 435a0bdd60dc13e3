package ktrdr

import (
	"context"
	"errors"
	"fmt"
)

// Code says what went wrong, for programs. Codes are stable; sentences are not.
type Code string

// The codes. Each has one HTTP status, decided in httpapi and nowhere else.
const (
	CodeInvalid       Code = "invalid"          // the request itself is wrong
	CodeNotFound      Code = "not_found"        // no such thing
	CodeConflict      Code = "conflict"         // the thing is not where the request needs it to be
	CodeStaleEpoch    Code = "stale_epoch"      // the writer's claim is no longer the live one
	CodeNoCheckpoint  Code = "no_checkpoint"    // nothing to resume from
	CodeMismatch      Code = "mismatch"         // the checkpoint was made from something else
	CodeKeyReused     Code = "key_reused"       // an idempotency key came back with another body
	CodeProtocol      Code = "protocol"         // worker and backend do not speak the same version
	CodeUnauthorized  Code = "unauthorized"     // no token, or not one of ours
	CodeForbidden     Code = "forbidden"        // the token's scope, Host or Origin does not allow it
	CodeTooLarge      Code = "too_large"        // over a stated limit
	CodeUnavailable   Code = "unavailable"      // the store cannot be reached; try again
	CodeUnknownResult Code = "unknown_result"   // a commit failed and could not be re-read; repeat the same request
	CodeNoSpace       Code = "no_space"         // free disk is below the reserve
	CodeAtCapacity    Code = "at_capacity"      // as many are active as may be; the figures are in a Capacity
	CodeBudget        Code = "budget_exhausted" // there is no money left for what was asked; there may be later
	CodeCorrupt       Code = "corrupt"          // bytes do not match their hash
	CodeInternal      Code = "internal"         // ours

	CodeOrphaned       Code = "orphaned"        // the worker was silent for the whole timeout
	CodePoison         Code = "poison"          // the operation keeps losing its workers
	CodeBackendRestart Code = "backend_restart" // the backend that ran it is gone
	CodePanic          Code = "panic"           // the work panicked
	CodeFailed         Code = "failed"          // the work reported an error
	CodeCancelled      Code = "cancelled"       // a person or a program asked for it
)

// Class groups codes by what they tell about the future.
type Class string

// The classes.
const (
	Transient Class = "transient" // the same request may succeed later
	Permanent Class = "permanent" // it will not, until something is changed
	BadInput  Class = "input"     // the caller must change the request
	System    Class = "system"    // an operator must look
)

// Severity says how loudly to tell people.
type Severity string

// The severities.
const (
	SeverityInfo     Severity = "info"
	SeverityWarning  Severity = "warning"
	SeverityError    Severity = "error"
	SeverityCritical Severity = "critical"
)

// Error is an error with a code, for every layer that must tell errors apart.
// Its message is a sentence that says what is wrong, where, and what to do.
type Error struct {
	Code    Code
	Message string
	Err     error // what it wraps, if anything
}

// Errorf makes an *Error. A %w verb works as in fmt.Errorf.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of err: its own, a transition's, or CodeInternal.
// It returns "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if te, ok := errors.AsType[*TransitionError](err); ok {
		return te.Code
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return CodeUnavailable
	}
	return CodeInternal
}

// Retryable says whether repeating the same request unchanged may succeed.
func (c Code) Retryable() bool {
	switch c {
	case CodeUnavailable, CodeUnknownResult, CodeNoSpace, CodeAtCapacity, CodeBudget, CodeOrphaned, CodeBackendRestart:
		return true
	}
	return false
}

// Class returns the class of c.
func (c Code) Class() Class {
	switch c {
	case CodeUnavailable, CodeUnknownResult, CodeAtCapacity, CodeBudget, CodeOrphaned, CodeBackendRestart:
		return Transient
	case CodeInvalid, CodeNotFound, CodeKeyReused, CodeTooLarge, CodeUnauthorized, CodeForbidden, CodeMismatch, CodeNoCheckpoint:
		return BadInput
	case CodeInternal, CodeCorrupt, CodeNoSpace, CodePoison, CodePanic:
		return System
	}
	return Permanent
}

// Severity returns how loudly c should be told.
func (c Code) Severity() Severity {
	switch c.Class() {
	case Transient, BadInput:
		return SeverityWarning
	case System:
		return SeverityCritical
	}
	if c == CodeCancelled {
		return SeverityInfo
	}
	return SeverityError
}

// Failure is why an operation failed, as it is stored and sent.
type Failure struct {
	Code      Code     `json:"code"`
	Class     Class    `json:"class"`
	Severity  Severity `json:"severity"`
	Retryable bool     `json:"retryable"`
	Chain     []string `json:"chain,omitempty"` // outermost first, each one sentence
}

// Bounds of a stored failure: enough to understand it, never a memory dump.
const (
	maxChain     = 16
	maxChainText = 2048
)

// NewFailure describes err under the given code.
func NewFailure(code Code, err error) *Failure {
	f := &Failure{Code: code, Class: code.Class(), Severity: code.Severity(), Retryable: code.Retryable()}
	f.add(err)
	return f
}

// CausedBy adds the chain of the failure that led to this one, as far as there
// is room. Nil adds nothing.
func (f *Failure) CausedBy(cause *Failure) *Failure {
	if cause == nil {
		return f
	}
	room := max(0, maxChain-len(f.Chain))
	f.Chain = append(f.Chain, cause.Chain[:min(room, len(cause.Chain))]...)
	return f
}

// add puts err and all that it wraps into the chain: outermost first, and of
// errors that were joined each with what it wraps.
func (f *Failure) add(err error) {
	for err != nil && len(f.Chain) < maxChain {
		text := err.Error()
		if len(text) > maxChainText {
			text = text[:maxChainText]
		}
		f.Chain = append(f.Chain, CleanText(text))
		if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // this link of the chain is asked, not those behind it
			for _, one := range joined.Unwrap() {
				f.add(one)
			}
			return
		}
		err = errors.Unwrap(err)
	}
}

// FailureOf describes err under its own code; an error without one is the
// work's own and gets CodeFailed.
func FailureOf(err error) *Failure {
	code := CodeOf(err)
	if code == CodeInternal {
		code = CodeFailed
	}
	return NewFailure(code, err)
}

// The causes with which a running operation's context ends.
var (
	ErrCancelled = &Error{Code: CodeCancelled, Message: "operation was cancelled"}
	ErrLost      = &Error{Code: CodeStaleEpoch, Message: "claim is no longer the live one"}
	ErrShutdown  = &Error{Code: CodeUnavailable, Message: "worker is shutting down"}
)

// The sentences fixed by the product's users; scripts look for them.
const (
	MessageOrphaned         = "Operation was RUNNING but no worker claimed it"
	MessageRestartResumable = "Backend restarted - checkpoint available for resume"
	MessageRestartLost      = "Backend restarted - no checkpoint available"
	MessageReleased         = "Graceful shutdown - checkpoint saved"
)
