package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

const (
	followSilence  = 3 * api.StreamBeat // a server that is there says so more often
	followPatience = 2 * time.Minute    // how long a lost server is waited for
	maxEventLine   = 4 << 20
)

var followRetries = backoff.Policy{First: 250 * time.Millisecond, Most: 5 * time.Second}

// FromBeginning is the cursor before the oldest event that is kept.
var FromBeginning = ktrdr.Cursor{Tx: -1}

// FollowEvents yields events as they happen. With op: its events from its creation to
// its end. Without op: all new events until ctx ends. A cursor that is not zero starts
// after it (see FromBeginning). Kinds name the only events that are wanted; none means
// all.
//
// A broken connection is made again for two minutes, and resumes after the last event.
// The first connection is not: a server that is away is reported at once. An error
// ends the sequence.
func (c *Client) FollowEvents(ctx context.Context, op ktrdr.OperationID, after ktrdr.Cursor,
	kinds ...ktrdr.EventKind,
) iter.Seq2[ktrdr.Event, error] {
	in := api.AllEventsRequest{EventsRequest: api.EventsRequest{Kinds: kinds}} // LastEvent is the place in the log
	switch after {
	case ktrdr.Cursor{}:
	case FromBeginning:
		in.LastEvent = ktrdr.Cursor{}.String()
	default:
		in.LastEvent = after.String()
	}
	return c.followEvents(ctx, op, in)
}

// FollowRecentEvents yields the newest n events of all operations, at most 1,000, and
// then new ones until ctx ends. It connects again as FollowEvents does.
func (c *Client) FollowRecentEvents(ctx context.Context, n int) iter.Seq2[ktrdr.Event, error] {
	return c.followEvents(ctx, "", api.AllEventsRequest{Recent: n})
}

func (c *Client) followEvents(ctx context.Context, op ktrdr.OperationID, in api.AllEventsRequest) iter.Seq2[ktrdr.Event, error] {
	return func(yield func(ktrdr.Event, error) bool) {
		r := &streamReader{
			request: func() request {
				if op == "" {
					return requestOf(api.Events, in)
				}
				return requestOf(api.OperationEvents, api.OperationEventsRequest{
					ByID: api.ByID{ID: op}, EventsRequest: in.EventsRequest, UntilTerminal: true,
				})
			},
			deliver: func(got streamed) error {
				at, err := ktrdr.ParseCursor(got.id)
				if err != nil {
					return err
				}
				if e := (ktrdr.Event{Cursor: at}); got.data != "" {
					if err := json.Unmarshal([]byte(got.data), &e); err != nil {
						return fmt.Errorf("event %s: %w", got.id, err)
					}
					if !yield(e, nil) {
						return errStopped
					}
				}
				in.LastEvent = cmp.Or(got.id, in.LastEvent)
				return nil
			},
		}
		if err := c.follow(ctx, r); err != nil {
			yield(ktrdr.Event{}, err)
		}
	}
}

// eventsPage asks for a page instead of a stream.
type eventsPage struct {
	api.OperationEventsRequest
	Accept string `header:"Accept"`
}

// OperationEvents returns a page of an operation's events after a cursor, oldest
// first, and the cursor of the next. An empty page means that there are no more yet.
// Kinds name the only events that are wanted; none means all.
func (c *Client) OperationEvents(ctx context.Context, op ktrdr.OperationID, after string, kinds ...ktrdr.EventKind) ([]ktrdr.Event, string,
	error,
) {
	rt := api.Route[eventsPage, []ktrdr.Event]{Spec: api.OperationEvents.Spec}
	in := eventsPage{Accept: api.ContentJSON, OperationEventsRequest: api.OperationEventsRequest{
		ByID: api.ByID{ID: op}, EventsRequest: api.EventsRequest{After: after, Kinds: kinds},
	}}
	return call(ctx, c, rt, in, "")
}

// FollowRun yields a run now and again whenever it has changed, until it has
// ended. Connections are made again as by FollowEvents. An error ends the
// sequence.
func (c *Client) FollowRun(ctx context.Context, id string) iter.Seq2[ktrdr.Run, error] {
	return func(yield func(ktrdr.Run, error) bool) {
		r := &streamReader{
			request: func() request { return requestOf(api.RunEvents, api.ByKey{ID: id}) },
			deliver: func(in streamed) error {
				if in.kind != api.EventRun {
					return nil
				}
				var run ktrdr.Run
				if err := json.Unmarshal([]byte(in.data), &run); err != nil {
					return fmt.Errorf("run %s: %w", id, err)
				}
				if !yield(run, nil) {
					return errStopped
				}
				return nil
			},
		}
		if err := c.follow(ctx, r); err != nil {
			yield(ktrdr.Run{}, err)
		}
	}
}

// follow reads a stream to its end, over as many connections as it takes. An end
// that the consumer or ctx asked for is no error.
func (c *Client) follow(ctx context.Context, r *streamReader) error {
	err := r.once(ctx, c)
	lost, failed := time.Now(), 0
	for err != nil && r.connected && ktrdr.CodeOf(err).Retryable() && time.Since(lost) < followPatience {
		if !followRetries.Wait(ctx, failed) {
			return nil
		}
		seen := r.received
		if err = r.once(ctx, c); r.received > seen {
			lost, failed = time.Now(), 0
		} else {
			failed++
		}
	}
	if errors.Is(err, errStopped) || ctx.Err() != nil {
		return nil //nolint:nilerr // the reader left; that is no error of the stream
	}
	return err
}

// errStopped ends a stream whose consumer wants no more.
var errStopped = ktrdr.Errorf(ktrdr.CodeCancelled, "the consumer has stopped")

// streamReader reads one stream after another.
type streamReader struct {
	request func() request // of the next connection
	deliver func(streamed) error

	connected bool
	received  int // lines, comments included: signs of life
}

// once reads one stream to its end: nil when the server said that it is over.
func (r *streamReader) once(ctx context.Context, c *Client) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(c.timeout, func() { cancel(errTimeout) })
	defer silence.Stop()

	res, err := c.do(ctx, r.request())
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	r.connected = true

	lines := bufio.NewScanner(res.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxEventLine)
	next := func() bool { // the silence that counts is the server's, not the consumer's
		silence.Reset(followSilence)
		defer silence.Stop()
		return lines.Scan()
	}
	var e streamed
	for next() {
		r.received++
		if lines.Text() != "" {
			e.read(lines.Text())
			continue
		}
		if e.kind == api.EventEnd {
			return nil
		}
		if err := r.deliver(e); err != nil {
			return err
		}
		e = streamed{}
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF // a stream that is over says so
	}
	return c.away(ctx, err)
}

// streamed is one event as it comes in.
type streamed struct {
	id, kind, data string
}

// read takes one line; one without a name is a comment.
func (e *streamed) read(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		e.id = value
	case "event":
		e.kind = value
	case "data":
		e.data = value
	}
}
