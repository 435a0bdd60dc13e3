package resilience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
)

// ErrorKind is what went wrong with a call, as far as retries and breakers must
// know. It is told from types, HTTP status and the provider's own code. The
// text of an error decides nothing: texts change, and "information" contains
// "format".
type ErrorKind string

// The kinds.
const (
	KindRateLimited ErrorKind = "rate_limited" // too many calls of ours
	KindOverloaded  ErrorKind = "overloaded"   // too many calls of all clients
	KindTimeout     ErrorKind = "timeout"      // no answer in time
	KindUnreachable ErrorKind = "unreachable"  // not connected, or cut off within the answer
	KindServer      ErrorKind = "server"       // 5xx
	KindAuth        ErrorKind = "auth"         // the key, or the account behind it, is not accepted
	KindInvalid     ErrorKind = "invalid"      // the request is wrong and will stay so
	KindRefused     ErrorKind = "refused"      // the provider's policy does not allow the content
	KindGarbage     ErrorKind = "garbage"      // there is an answer, and it cannot be read
	KindBudget      ErrorKind = "budget"       // our own money is used up
	KindCancelled   ErrorKind = "cancelled"    // a person or a program asked for it
	KindOpen        ErrorKind = "breaker_open" // a breaker did not let it through
	KindUnknown     ErrorKind = "unknown"
)

// Error is an error whose kind is known.
type Error struct {
	Kind         ErrorKind
	Status       int           // of HTTP; 0 for none
	ProviderCode string        // the provider's own word for it; empty for none
	RetryAfter   time.Duration // how long the provider asks us to wait; 0 for nothing said
	Err          error
}

// Error says the kind, what the provider said, and the cause.
func (e *Error) Error() string {
	var facts []string
	if e.Status != 0 {
		facts = append(facts, fmt.Sprintf("status %d", e.Status))
	}
	if e.ProviderCode != "" {
		facts = append(facts, e.ProviderCode)
	}
	text := string(e.Kind)
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err: its own if it is an *Error, else what its
// type tells, else KindUnknown. It returns "" for nil.
func KindOf(err error) ErrorKind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if _, ok := errors.AsType[*OpenError](err); ok {
		return KindOpen
	}
	if errors.Is(err, ktrdr.ErrShutdown) { // before its code: it is no outage
		return KindCancelled
	}
	if e, ok := errors.AsType[*ktrdr.Error](err); ok {
		return kindOfCode(e.Code)
	}
	return kindOfType(err)
}

// kindOfCode places our own errors, which a call may end with as well.
func kindOfCode(c ktrdr.Code) ErrorKind {
	switch c {
	case ktrdr.CodeCancelled, ktrdr.CodeStaleEpoch:
		return KindCancelled
	case ktrdr.CodeBudget:
		return KindBudget
	case ktrdr.CodeUnavailable:
		return KindUnreachable
	}
	if c.Class() == ktrdr.BadInput {
		return KindInvalid
	}
	return KindUnknown
}

// cutOff are the ways in which a connection is not there, or no longer.
var cutOff = []error{
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
	syscall.EHOSTUNREACH, syscall.ENETUNREACH,
}

func kindOfType(err error) ErrorKind {
	if errors.Is(err, context.Canceled) {
		return KindCancelled
	}
	// A deadline of a context is a net.Error that timed out, too.
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return KindTimeout
	}
	for _, cut := range cutOff {
		if errors.Is(err, cut) {
			return KindUnreachable
		}
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return KindUnreachable
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return KindUnreachable
	}
	return KindUnknown
}

// kindOfProviderCode holds the words of providers that say more than the
// status they come with: OpenAI answers 429 also when there is no money.
var kindOfProviderCode = map[string]ErrorKind{
	"rate_limit_error":    KindRateLimited,
	"rate_limit_exceeded": KindRateLimited,

	"overloaded_error": KindOverloaded,
	"timeout_error":    KindTimeout,
	"api_error":        KindServer,
	"server_error":     KindServer,

	"authentication_error":       KindAuth,
	"permission_error":           KindAuth,
	"invalid_api_key":            KindAuth,
	"insufficient_quota":         KindAuth,
	"billing_error":              KindAuth,
	"billing_hard_limit_reached": KindAuth,

	"invalid_request_error":   KindInvalid,
	"not_found_error":         KindInvalid,
	"model_not_found":         KindInvalid,
	"request_too_large":       KindInvalid,
	"context_length_exceeded": KindInvalid,

	"content_filter":           KindRefused,
	"content_policy_violation": KindRefused,
}

const statusOverloaded = 529 // Anthropic's

// Classify tells the kind of an answer that is no success. A provider code
// that we know wins over the status.
func Classify(status int, providerCode string) ErrorKind {
	if k, ok := kindOfProviderCode[providerCode]; ok {
		return k
	}
	switch status {
	case http.StatusTooManyRequests:
		return KindRateLimited
	case http.StatusServiceUnavailable, statusOverloaded:
		return KindOverloaded
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return KindTimeout
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		return KindAuth
	}
	switch status / 100 {
	case 4:
		return KindInvalid
	case 5:
		return KindServer
	}
	return KindUnknown
}

// Retryable says whether the same call may succeed a moment later. What is
// unknown is not tried again: it may have had an effect.
func (k ErrorKind) Retryable() bool {
	switch k {
	case KindRateLimited, KindOverloaded, KindTimeout, KindUnreachable, KindServer, KindGarbage:
		return true
	}
	return false
}

// Trips says whether such an end speaks against the one who was called. The
// caller's own mistakes, wishes and lack of money do not, nor does a breaker
// that stood in between.
func (k ErrorKind) Trips() bool {
	switch k {
	case "", KindCancelled, KindInvalid, KindRefused, KindBudget, KindOpen:
		return false
	}
	return true
}
