package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	followSilence  = 3 * streamBeat  // a server that is there says so more often
	followPatience = 2 * time.Minute // how long a lost server is waited for
	followPause    = 250 * time.Millisecond
	followMaxPause = 5 * time.Second
	maxEventLine   = 4 << 20
)

// FollowEvents yields events after a cursor as they happen: an operation's,
// from the beginning when the cursor is zero, until it has ended; or with an
// empty op everybody's, from now on when the cursor is zero, until ctx ends.
//
// A connection that breaks is made again and goes on where it was, for two
// minutes. The first connection is not: who is not there is reported at once.
// An error ends the sequence.
func (cl *Client) FollowEvents(ctx context.Context, op ktrdr.OperationID, after ktrdr.Cursor) iter.Seq2[ktrdr.Event, error] {
	return func(yield func(ktrdr.Event, error) bool) {
		f := &follower{cl: cl, op: op, after: after, placed: after != (ktrdr.Cursor{}), yield: yield}
		err := f.once(ctx)
		lost, pause := time.Now(), followPause
		for err != nil && f.connected && ktrdr.CodeOf(err).Retryable() && time.Since(lost) < followPatience {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			seen := f.received
			if err = f.once(ctx); f.received > seen {
				lost, pause = time.Now(), followPause
			} else {
				pause = min(2*pause, followMaxPause)
			}
		}
		if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
			yield(ktrdr.Event{}, err)
		}
	}
}

// errStopped ends a stream whose consumer wants no more.
var errStopped = ktrdr.Errorf(ktrdr.CodeCancelled, "nobody listens any more")

// follower reads one stream after another, remembering where it was.
type follower struct {
	cl    *Client
	op    ktrdr.OperationID
	after ktrdr.Cursor
	yield func(ktrdr.Event, error) bool

	placed    bool // after is a place in the log; the zero one is its beginning
	connected bool
	received  int // lines, comments included: signs of life
}

// once reads one stream to its end: nil when the server said that it is over.
func (f *follower) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(f.cl.timeout, func() { cancel(errTimeout) })
	defer silence.Stop()

	q := request{method: http.MethodGet, path: "events", query: url.Values{}}
	if f.op != "" {
		q.path = operationPath(f.op, "/events")
		q.query.Set("until_terminal", "true")
	}
	if f.placed {
		q.header = map[string]string{headerEventID: f.after.String()}
	}
	res, err := f.cl.do(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	f.connected = true

	lines := bufio.NewScanner(res.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxEventLine)
	next := func() bool { // the silence that counts is the server's, not the consumer's
		silence.Reset(followSilence)
		defer silence.Stop()
		return lines.Scan()
	}
	var e streamed
	for next() {
		f.received++
		if lines.Text() != "" {
			e.read(lines.Text())
			continue
		}
		over, err := f.deliver(e)
		if over || err != nil {
			return err
		}
		e = streamed{}
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF // a stream that is over says so
	}
	return f.cl.away(ctx, err)
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

// deliver hands an event on; over means that the server ends here.
func (f *follower) deliver(in streamed) (over bool, err error) {
	if in.kind == streamEnding {
		return true, nil
	}
	at, err := ktrdr.ParseCursor(in.id)
	if err != nil {
		return false, err
	}
	if in.data != "" {
		e := ktrdr.Event{Cursor: at}
		if err := json.Unmarshal([]byte(in.data), &e); err != nil {
			return false, fmt.Errorf("event %s: %w", in.id, err)
		}
		if !f.yield(e, nil) {
			return false, errStopped
		}
	}
	if in.id != "" {
		f.after, f.placed = at, true
	}
	return false, nil
}
