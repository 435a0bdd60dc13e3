package ktrdr

import (
	"fmt"
	"slices"
)

// Status is where an operation stands in its life.
//
//	PENDING ──claim──▶ RUNNING ──finish──▶ COMPLETED | FAILED | CANCELLED
//	   ▲                │  ▲
//	   │  backend start ▼  │ report, same epoch
//	   │      PENDING_RECONCILIATION ──▶ FAILED (no report) | COMPLETED …
//	   └── resume (from FAILED | CANCELLED) · release (graceful stop)
//	       · requeue (its backend died) · losechild (its child process died)
type Status string

// The statuses, as they are stored and sent.
const (
	Pending     Status = "PENDING"
	Running     Status = "RUNNING"
	Reconciling Status = "PENDING_RECONCILIATION"
	Completed   Status = "COMPLETED"
	Failed      Status = "FAILED"
	Cancelled   Status = "CANCELLED"
)

// Statuses lists every status in the order of the drawing.
var Statuses = []Status{Pending, Running, Reconciling, Completed, Failed, Cancelled}

// Terminal says whether the operation has ended. Only a resume leaves FAILED
// and CANCELLED; nothing leaves COMPLETED.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// Live says whether some worker may be running it.
func (s Status) Live() bool { return s == Running || s == Reconciling }

// Known says whether s is a status.
func (s Status) Known() bool { return slices.Contains(Statuses, s) }

// Transitions holds every status change that Step can make. The stores'
// triggers are generated from it, so that not even a mistaken statement of our
// own can make another.
var Transitions = map[Status][]Status{
	Pending:     {Running, Cancelled},
	Running:     {Pending, Reconciling, Completed, Failed, Cancelled},
	Reconciling: {Pending, Running, Completed, Failed, Cancelled},
	Failed:      {Pending},
	Cancelled:   {Pending},
	Completed:   {},
}

// Input is something that happens to an operation.
type Input string

// Everything that can happen to an operation.
const (
	Claim      Input = "claim"      // a worker takes it; mints the next epoch
	Report     Input = "report"     // a worker says it runs this epoch: heartbeat or re-registration
	Save       Input = "save"       // a worker writes progress or a checkpoint
	Finish     Input = "finish"     // a worker ends it, well or badly
	Release    Input = "release"    // a worker gives it back
	Requeue    Input = "requeue"    // the backend that ran it in process is gone, and the policy is to resume
	LoseWorker Input = "loseworker" // its worker was silent for the whole timeout
	LoseHolder Input = "loseholder" // the backend that ran it in process is gone, and the policy is to fail
	LoseChild  Input = "losechild"  // the child process that ran it died, and its backend lives
	Restart    Input = "restart"    // a backend started while an outside worker held it
	Cancel     Input = "cancel"     // a user or a plan stops it
	Resume     Input = "resume"     // a user or the engine continues it
)

// Inputs lists every input.
var Inputs = []Input{Claim, Report, Save, Finish, Release, Requeue, LoseWorker, LoseHolder, LoseChild, Restart, Cancel, Resume}

// PoisonLosses is how many consecutive losses of a worker or of a child process,
// without a new step, make an operation poison: it is failed and no longer
// resumed by itself, so that one bad operation cannot take every worker down
// with it. The death of a backend is no loss: it may be a power cut.
const PoisonLosses = 3

// StepState is the part of an operation that Step decides on and changes.
type StepState struct {
	Status          Status
	Epoch           Epoch
	Attempts        int
	CancelRequested bool
	Losses          int
	MaxStep         int64
	BackendDied     bool
}

// Act is an Input with what comes with it.
type Act struct {
	Input   Input
	Epoch   Epoch  // of every input but Claim, Cancel and Resume: the epoch it speaks for
	Outcome Status // Finish: Completed, Failed or Cancelled
	Step    int64  // Report, Save: how far the work is

	Child        bool // the operation has an open parent: not ended, not being cancelled, not about to end
	ParentClosed bool // the operation has a parent that is cancelled, being cancelled, or about to end
}

// Effects is what must be done with a transition, in the same transaction.
type Effects struct {
	// the operation ended and its open parent's plan is asked; the plan of a parent being cancelled is skipped: it ends with its last child
	Advance    bool
	AutoResume bool // the worker died, but the open parent still wants the operation: Resume follows
	Cascade    bool // cancel the children too
	Poison     bool // it failed because it keeps losing its workers or child processes
}

// Step is the specification of every transition: what an act does to an
// operation, or why it does nothing. It is pure. The SQL of the stores is held
// to it by a generated test over every (status, input, epoch match, flag), and
// the model check explores it exhaustively.
//
// A refused act returns the state unchanged and a *TransitionError whose Code
// says how: CodeStaleEpoch when the writer's claim is no longer the live one,
// CodeConflict when the operation is not where the act needs it to be.
//
// It is one long switch on purpose: the whole life of an operation on one page,
// one case per input, to be read beside the drawing above. Cut into functions it
// would be longer, and no case would be simpler.
func Step(s StepState, a Act) (StepState, Effects, error) {
	next, eff := s, Effects{}
	refuse := func(code Code) (StepState, Effects, error) {
		return s, Effects{}, &TransitionError{Input: a.Input, From: s.Status, Epoch: s.Epoch, Given: a.Epoch, Code: code}
	}

	switch a.Input { // the fence: acts that speak for an epoch need the live one
	case Report, Save, Finish, Release, Requeue, LoseWorker, LoseHolder, LoseChild, Restart:
		if a.Epoch != s.Epoch || !s.Status.Live() {
			return refuse(CodeStaleEpoch)
		}
	}

	switch a.Input {
	case Claim:
		if s.Status != Pending {
			return refuse(CodeConflict)
		}
		next.Status = Running
		next.Epoch++
		next.Attempts++ // counted here, so that a crash cannot hide an attempt

	case Report:
		next.Status = Running
		next.newStep(a.Step)

	case Save:
		next.newStep(a.Step)

	case Finish:
		if !a.Outcome.Terminal() {
			return refuse(CodeInvalid)
		}
		next.Status = a.Outcome
		if s.CancelRequested {
			next.Status = Cancelled // an acknowledged cancel is never undone by a finish
		}
		eff.Advance = a.Child

	case Release, Requeue:
		next.BackendDied = s.BackendDied || a.Input == Requeue
		next.Status = Pending
		if s.CancelRequested {
			next.Status = Cancelled
			eff.Advance = a.Child
		}

	case LoseWorker:
		next.Losses++
		next.Status = Failed
		switch {
		case s.CancelRequested:
			next.Status = Cancelled
			eff.Advance = a.Child
		case next.Losses >= PoisonLosses:
			eff.Poison, eff.Advance = true, a.Child
		default:
			eff.AutoResume = a.Child
		}

	case LoseChild:
		next.Losses++
		next.Status = Pending
		switch {
		case s.CancelRequested:
			next.Status = Cancelled
			eff.Advance = a.Child
		case next.Losses >= PoisonLosses:
			next.Status = Failed
			eff.Poison, eff.Advance = true, a.Child
		}

	case LoseHolder:
		next.BackendDied = true
		next.Status = Failed
		if s.CancelRequested {
			next.Status = Cancelled
		}
		eff.Advance = a.Child

	case Restart:
		if s.Status != Running {
			return refuse(CodeConflict)
		}
		next.Status = Reconciling

	case Cancel:
		switch {
		case s.Status == Pending:
			next.Status = Cancelled
			eff.Advance = a.Child
		case s.Status.Live():
			next.CancelRequested = true // again is no change: cancel is idempotent
		default:
			return refuse(CodeConflict)
		}
		eff.Cascade = true

	case Resume:
		if s.Status != Failed && s.Status != Cancelled || a.ParentClosed {
			return refuse(CodeConflict)
		}
		next.Status = Pending
		next.CancelRequested = false

	default:
		return refuse(CodeInvalid)
	}
	return next, eff, nil
}

// newStep notes a step beyond the furthest one seen: the work is moving, so
// earlier losses no longer count against it.
func (s *StepState) newStep(step int64) {
	if step > s.MaxStep {
		s.MaxStep, s.Losses = step, 0
	}
}

// Lifecycle returns the part of the operation that Step decides on.
func (op *Operation) Lifecycle() StepState {
	return StepState{op.Status, op.Epoch, op.Attempts, op.CancelRequested, op.Losses, op.MaxStep, op.BackendDied}
}

// TransitionError says that an act was refused and why.
type TransitionError struct {
	ID    OperationID // empty when Step is called on a bare State
	Input Input
	From  Status
	Epoch Epoch // the operation's
	Given Epoch // the act's
	Code  Code
}

func (e *TransitionError) Error() string {
	what := "operation"
	if e.ID != "" {
		what = string(e.ID)
	}
	switch e.Code {
	case CodeStaleEpoch:
		return fmt.Sprintf("%s: %s refused: epoch %d is not live (the operation is %s at epoch %d)", what, e.Input, e.Given, e.From, e.Epoch)
	default:
		return fmt.Sprintf("%s: cannot %s an operation that is %s", what, e.Input, e.From)
	}
}
