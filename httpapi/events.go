package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

const (
	streamPoll  = time.Second           // hints may get lost; this is the truth
	streamPause = 20 * time.Millisecond // between two looks, however many hints come
	streamStall = time.Minute           // a reader that takes nothing for this time is gone
	streamPage  = 500
)

// eventStream is one reader of the event log. It holds nothing while it
// writes: no cursor, no transaction, no page but its own. A slow reader lags.
type eventStream struct {
	events Events
	c      *call
	op     ktrdr.OperationID // empty: all
	kinds  []ktrdr.EventKind // empty: all
	after  ktrdr.Cursor
	passed ktrdr.Cursor    // everything up to here was looked at; ahead of after where a filter left events out
	until  bool            // end when the operation has ended
	ended  ktrdr.EventKind // how it ended, as far as the stream has told; "" when it has not
}

func (s *Server) operationEvents(c *call, in api.OperationEventsRequest) error {
	op, err := s.engine.Operation(c.Context(), in.ID)
	if err != nil {
		return err
	}
	after, _, err := eventCursor(in.EventsRequest)
	if err != nil {
		return err
	}
	st := &eventStream{events: s.engine, c: c, op: op.ID, kinds: in.Kinds, after: after, until: in.UntilTerminal}
	if st.until {
		if err := st.catchUp(c.Context()); err != nil {
			return err
		}
	}
	return s.sendEvents(st)
}

func (s *Server) allEvents(c *call, in api.AllEventsRequest) error {
	after, given, err := eventCursor(in.EventsRequest)
	if err != nil {
		return err
	}
	if !given {
		if after, err = s.engine.EventBefore(c.Context(), in.Recent); err != nil {
			return err
		}
	}
	return s.sendEvents(&eventStream{events: s.engine, c: c, kinds: in.Kinds, after: after})
}

// sendEvents answers with a page, if the reader asks for JSON, or with a stream.
// Its first id lets a reader whose connection breaks before the first event come
// back to this place.
func (s *Server) sendEvents(st *eventStream) error {
	if st.c.Request.Header.Get("Accept") == api.ContentJSON {
		return st.page()
	}
	return s.stream(st.c, st, "id: "+st.after.String()+"\n", streamPoll)
}

// eventCursor returns where the reader stopped the last time.
func eventCursor(in api.EventsRequest) (after ktrdr.Cursor, given bool, err error) {
	text := cmp.Or(in.LastEvent, in.After)
	if after, err = ktrdr.ParseCursor(text); err != nil {
		return after, false, malformed("%w", err)
	}
	return after, text != "", nil
}

// catchUp learns how the operation stood at the event the reader had last, so
// that a reader who has seen the end is not left waiting for it.
func (st *eventStream) catchUp(ctx context.Context) error {
	for at := (ktrdr.Cursor{}); before(at, st.after); {
		events, err := st.events.Events(ctx, ktrdr.EventQuery{Operation: st.op, After: at, Limit: streamPage})
		if err != nil {
			return err
		}
		for _, e := range events {
			if before(st.after, e.Cursor) {
				return nil
			}
			st.note(e)
			at = e.Cursor
		}
		if len(events) < streamPage {
			return nil
		}
	}
	return nil
}

func before(a, b ktrdr.Cursor) bool { return a.Tx < b.Tx || a.Tx == b.Tx && a.ID < b.ID }

// note follows the operation's life by its events.
func (st *eventStream) note(e ktrdr.Event) {
	switch e.Kind {
	case ktrdr.EventCompleted, ktrdr.EventFailed, ktrdr.EventCancelled:
		st.ended = e.Kind
	case ktrdr.EventResumed, ktrdr.EventClaimed:
		st.ended = ""
	}
}

// page answers a reader who asks for JSON: what there is now, and the cursor
// from which to ask on. An empty page means: no more yet.
func (st *eventStream) page() error {
	events, err := st.read(st.c.Context())
	if err != nil {
		return err
	}
	next := st.passed
	if len(events) > 0 && before(next, events[len(events)-1].Cursor) {
		next = events[len(events)-1].Cursor
	}
	e := api.Envelope{Success: true, Data: listed(events)}
	if next != (ktrdr.Cursor{}) {
		e.Next = next.String()
	}
	return st.c.send(http.StatusOK, e)
}

// feed is what a stream sends.
type feed interface {
	// next appends the newest events. more says that there are others already,
	// over that there will be no others.
	next(ctx context.Context, buf *bytes.Buffer) (more, over bool, err error)
}

// openStream counts a stream, or refuses one too many.
func (s *Server) openStream() error {
	if s.streams.Add(1) > s.maxStreams {
		s.streams.Add(-1)
		return ktrdr.Errorf(ktrdr.CodeUnavailable,
			"%d event streams are open, which is as many as this server serves; close one or try again later", s.maxStreams)
	}
	return nil
}

// stream sends a feed until it, the reader or the server ends.
func (s *Server) stream(c *call, f feed, first string, poll time.Duration) error {
	if err := s.openStream(); err != nil {
		return err
	}
	defer s.streams.Add(-1)
	ctx, buf := c.Context(), bytes.NewBufferString("retry: 1000\n"+first+"\n")
	hint := s.engine.Changed()
	more, over, err := f.next(ctx, buf)
	if err != nil {
		return err // there is still time for a proper answer
	}
	c.Header().Set("Content-Type", api.ContentEvents)
	c.WriteHeader(http.StatusOK)
	if c.Method == http.MethodHead {
		return nil
	}
	beat := time.NewTicker(api.StreamBeat)
	defer beat.Stop()
	for c.flushStream(buf) && !over && (more || c.awaitChange(hint, beat.C, poll, buf)) {
		hint = s.engine.Changed() // taken before the read, so that no change between is missed
		away := err != nil
		if more, over, err = f.next(ctx, buf); err != nil && !away && ctx.Err() == nil {
			s.log.WarnContext(ctx, "event stream waits for the store", "path", c.URL.Path, "err", err)
		}
	}
	return nil
}

// next implements feed.
func (st *eventStream) next(ctx context.Context, buf *bytes.Buffer) (more, over bool, err error) {
	page, err := st.read(ctx)
	if err != nil {
		return false, false, err
	}
	for _, e := range page {
		data, err := json.Marshal(e)
		if err != nil {
			return false, false, fmt.Errorf("event %s: %w", e.Cursor, err)
		}
		fmt.Fprintf(buf, "id: %s\nevent: %s\ndata: %s\n\n", e.Cursor, e.Kind, data)
		st.after = e.Cursor
		st.note(e)
	}
	if before(st.after, st.passed) {
		st.after = st.passed
	}
	more = len(page) == streamPage
	if over = !more && st.until && st.ended != ""; over {
		fmt.Fprintf(buf, "event: %s\ndata: {\"operation_id\":%q,\"kind\":%q}\n\n", api.EventEnd, st.op, st.ended)
	}
	return more, over, nil
}

// read reads the next page. Where a filter leaves events out, what it has passed
// is noted, so that they are not looked at again each time.
func (st *eventStream) read(ctx context.Context) ([]ktrdr.Event, error) {
	q := ktrdr.EventQuery{Operation: st.op, Kinds: st.kinds, After: st.after, Limit: streamPage}
	if len(q.Kinds) == 0 {
		return st.events.Events(ctx, q)
	}
	if st.until && st.op != "" { // the end is told whatever is filtered
		return st.readUntil(ctx, q)
	}
	last, err := st.events.LastEvent(ctx) // before the page, so that it holds all up to here
	if err != nil {
		return nil, err
	}
	events, err := st.events.Events(ctx, q)
	if err == nil && len(events) < streamPage {
		st.passed = last
	}
	return events, err
}

// readUntil reads all events of an operation, notes them and keeps those that are
// asked for.
func (st *eventStream) readUntil(ctx context.Context, q ktrdr.EventQuery) (kept []ktrdr.Event, err error) {
	q.Kinds = nil
	for full := true; full && len(kept) < streamPage; {
		events, err := st.events.Events(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			st.note(e)
			if slices.Contains(st.kinds, e.Kind) {
				kept = append(kept, e)
			}
			q.After, st.passed = e.Cursor, e.Cursor
		}
		full = len(events) == q.Limit
	}
	return kept, nil
}

// flushStream writes what buf holds to the reader of a stream; false means that
// the reader is gone. It has a while to take it.
func (c *call) flushStream(buf *bytes.Buffer) bool {
	if buf.Len() == 0 {
		return true
	}
	rc := http.NewResponseController(c)
	_ = rc.SetWriteDeadline(time.Now().Add(streamStall)) // not on connections of tests
	if _, err := buf.WriteTo(c); err != nil {
		return false
	}
	return rc.Flush() == nil
}

// awaitChange waits until there may be something new for a stream: a hint came,
// or the time of a poll has passed. false means that the stream is over.
func (c *call) awaitChange(hint <-chan struct{}, beat <-chan time.Time, poll time.Duration, buf *bytes.Buffer) bool {
	ctx := c.Context()
	short := time.NewTimer(streamPause)
	defer short.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-stopping(ctx).Done():
		return false
	case <-short.C:
	}
	long := time.NewTimer(poll)
	defer long.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-stopping(ctx).Done():
		return false
	case <-hint:
	case <-beat:
		buf.WriteString(": still here\n\n")
	case <-long.C:
	}
	return true
}
