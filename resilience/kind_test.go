package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

func TestKindOf_GoesByType(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for name, c := range map[string]struct {
		err  error
		want resilience.ErrorKind
	}{
		"nothing":                    {nil, ""},
		"its own kind, deep inside":  {fmt.Errorf("design: %w", &resilience.Error{Kind: resilience.KindRefused}), resilience.KindRefused},
		"deadline of a context":      {fmt.Errorf("call: %w", context.DeadlineExceeded), resilience.KindTimeout},
		"deadline of a connection":   {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, resilience.KindTimeout},
		"name not found":             {&net.DNSError{Err: "no such host", IsNotFound: true}, resilience.KindUnreachable},
		"connection refused":         {dial, resilience.KindUnreachable},
		"connection reset":           {syscall.ECONNRESET, resilience.KindUnreachable},
		"answer cut off":             {io.ErrUnexpectedEOF, resilience.KindUnreachable},
		"no answer at all":           {io.EOF, resilience.KindUnreachable},
		"context cancelled":          {context.Canceled, resilience.KindCancelled},
		"operation cancelled":        {ktrdr.ErrCancelled, resilience.KindCancelled},
		"claim lost":                 {ktrdr.ErrLost, resilience.KindCancelled},
		"worker stops":               {ktrdr.ErrShutdown, resilience.KindCancelled},
		"our money is used up":       {ktrdr.Errorf(ktrdr.CodeBudget, "no money"), resilience.KindBudget},
		"our store is away":          {ktrdr.Errorf(ktrdr.CodeUnavailable, "no store"), resilience.KindUnreachable},
		"our request is wrong":       {ktrdr.Errorf(ktrdr.CodeTooLarge, "too large"), resilience.KindInvalid},
		"a breaker in between":       {fmt.Errorf("call: %w", &resilience.OpenError{Name: "provider:x"}), resilience.KindOpen},
		"something that has no type": {errors.New("boom"), resilience.KindUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resilience.KindOf(c.err); got != c.want {
				t.Errorf("KindOf(%v) = %q, want %q", c.err, got, c.want)
			}
		})
	}
}

func TestKindOf_ConnectionsThatReallyBreak(t *testing.T) {
	hangUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangUp.Close()
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hang.Close()
	defer close(release)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()

	for name, c := range map[string]struct {
		url  string
		want resilience.ErrorKind
	}{
		"hung up within the answer": {hangUp.URL, resilience.KindUnreachable},
		"no answer in time":         {hang.URL, resilience.KindTimeout},
		"no server listens":         {"http://" + closed.Addr().String(), resilience.KindUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			client := http.Client{Timeout: 50 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
			if c.want != resilience.KindTimeout {
				client.Timeout = time.Minute
			}
			resp, err := client.Get(c.url)
			if err == nil {
				resp.Body.Close()
			}
			if got := resilience.KindOf(err); got != c.want {
				t.Errorf("KindOf(%v) = %q, want %q", err, got, c.want)
			}
		})
	}
}

func TestClassify_ProviderCodeWinsOverStatus(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
		want   resilience.ErrorKind
	}{
		"too many calls":                   {429, "", resilience.KindRateLimited},
		"too many calls, in words":         {429, "rate_limit_error", resilience.KindRateLimited},
		"no money, dressed as too many":    {429, "insufficient_quota", resilience.KindAuth},
		"overloaded":                       {529, "", resilience.KindOverloaded},
		"overloaded within a stream":       {200, "overloaded_error", resilience.KindOverloaded},
		"unavailable":                      {503, "", resilience.KindOverloaded},
		"gateway gave up":                  {504, "", resilience.KindTimeout},
		"server error":                     {500, "", resilience.KindServer},
		"wrong key":                        {401, "", resilience.KindAuth},
		"not allowed":                      {403, "", resilience.KindAuth},
		"not paid":                         {402, "", resilience.KindAuth},
		"wrong request":                    {400, "", resilience.KindInvalid},
		"no such model":                    {404, "model_not_found", resilience.KindInvalid},
		"too large":                        {413, "", resilience.KindInvalid},
		"content filtered":                 {400, "content_filter", resilience.KindRefused},
		"code of another word is no match": {500, "not content_filter", resilience.KindServer},
		"redirect":                         {302, "", resilience.KindUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resilience.Classify(c.status, c.code); got != c.want {
				t.Errorf("Classify(%d, %q) = %q, want %q", c.status, c.code, got, c.want)
			}
		})
	}
}

// Every kind, with whether it is tried again and whether it speaks against the one
// called.
func TestKind_SaysWhetherToRetryAndToTrip(t *testing.T) {
	type follows struct{ retry, trips bool }
	transient, failed, neither := follows{true, true}, follows{false, true}, follows{}
	for kind, want := range map[resilience.ErrorKind]follows{
		resilience.KindRateLimited: transient,
		resilience.KindOverloaded:  transient,
		resilience.KindTimeout:     transient,
		resilience.KindUnreachable: transient,
		resilience.KindServer:      transient,
		resilience.KindGarbage:     transient,
		resilience.KindAuth:        failed,
		resilience.KindUnknown:     failed,
		resilience.KindRefused:     neither,
		resilience.KindInvalid:     neither,
		resilience.KindBudget:      neither,
		resilience.KindCancelled:   neither,
		resilience.KindOpen:        neither,
	} {
		if got := (follows{kind.Retryable(), kind.Trips()}); got != want {
			t.Errorf("%s: %+v, want %+v", kind, got, want)
		}
	}
}

func TestError_SaysWhatTheProviderSaid(t *testing.T) {
	err := &resilience.Error{Kind: resilience.KindRateLimited, Status: 429, ProviderCode: "rate_limit_error", Err: errors.New("slow down")}
	if got, want := err.Error(), "rate_limited (status 429, rate_limit_error): slow down"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestParseRetryAfter_EveryForm(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	inThirty := now.Add(30 * time.Second).Format(http.TimeFormat)
	for name, c := range map[string]struct {
		header http.Header
		want   time.Duration
		ok     bool
	}{
		"nothing said":         {http.Header{}, 0, false},
		"seconds":              {http.Header{"Retry-After": {"20"}}, 20 * time.Second, true},
		"fractions of seconds": {http.Header{"Retry-After": {" 1.5 "}}, 1500 * time.Millisecond, true},
		"now":                  {http.Header{"Retry-After": {"0"}}, 0, true},
		"a date":               {http.Header{"Retry-After": {inThirty}}, 30 * time.Second, true},
		"a date that is over":  {http.Header{"Retry-After": {now.Add(-time.Hour).Format(http.TimeFormat)}}, 0, true},
		"a date by their clock": {
			http.Header{"Retry-After": {inThirty}, "Date": {now.Add(20 * time.Second).Format(http.TimeFormat)}},
			10 * time.Second, true,
		},
		"milliseconds win":           {http.Header{"Retry-After": {"20"}, "Retry-After-Ms": {"250"}}, 250 * time.Millisecond, true},
		"milliseconds of three days": {http.Header{"Retry-After-Ms": {"274579000"}}, 274579000 * time.Millisecond, true},
		"longer than is sensible":    {http.Header{"Retry-After": {"1e300"}}, resilience.MaxRetryAfter, true},
		"infinite":                   {http.Header{"Retry-After": {"Inf"}}, resilience.MaxRetryAfter, true},
		"negative":                   {http.Header{"Retry-After": {"-5"}}, 0, false},
		"not a number":               {http.Header{"Retry-After": {"NaN"}}, 0, false},
		"words":                      {http.Header{"Retry-After": {"soon"}}, 0, false},
		"the limit that is used up": {http.Header{
			"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"6m0s"},
			"X-Ratelimit-Remaining-Tokens": {"9000"}, "X-Ratelimit-Reset-Tokens": {"20h"},
		}, 6 * time.Minute, true},
		"a reset in plain seconds": {
			http.Header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"7"}},
			7 * time.Second, true,
		},
		"a reset that is an instant": {http.Header{
			"X-Ratelimit-Remaining-Tokens": {"0"},
			"X-Ratelimit-Reset-Tokens":     {"1772366400"},
		}, 0, false},
		"a reset of what is left over": {http.Header{"X-Ratelimit-Remaining-Requests": {"3"}, "X-Ratelimit-Reset-Requests": {"6m0s"}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := resilience.ParseRetryAfter(c.header, now)
			if got != c.want || ok != c.ok {
				t.Errorf("%v, %t; want %v, %t", got, ok, c.want, c.ok)
			}
		})
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	f.Add("20", "", "")
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT", "-1", "1h")
	f.Fuzz(func(t *testing.T, after, ms, reset string) {
		h := http.Header{
			"Retry-After": {after}, "Retry-After-Ms": {ms},
			"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {reset},
		}
		if d, _ := resilience.ParseRetryAfter(h, time.Unix(1e9, 0)); d < 0 || d > resilience.MaxRetryAfter {
			t.Errorf("%v is out of bounds", d)
		}
	})
}
