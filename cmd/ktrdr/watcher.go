package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

// patience is how long a watcher waits for a server that is out of reach.
const patience = 10 * time.Minute

// watcher is what the watchers of a run and of an operation have in common.
type watcher struct {
	a      *app
	c      *client.Client
	screen *screen // nil when nothing can be redrawn

	away time.Time // since when the server is out of reach
}

func newWatcher(a *app, c *client.Client) watcher {
	w := watcher{a: a, c: c}
	if terminal(a.out) && !a.json {
		w.screen = &screen{w: a.out}
	}
	return w
}

// watch hears a stream and looks at the rows in turn, until one of them says
// that it has ended.
func watch[T any](
	ctx context.Context, pace time.Duration, stream func(context.Context) iter.Seq[T],
	hear func(T) (ended bool, err error), look func() (ended bool, err error),
) error {
	streaming, stop := context.WithCancel(ctx)
	news, done := make(chan T), make(chan struct{})
	go func() {
		defer close(done)
		for x := range stream(streaming) {
			select {
			case news <- x:
			case <-streaming.Done():
				return
			}
		}
	}()
	defer func() { stop(); <-done }()

	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		var ended bool
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case x := <-news:
			ended, err = hear(x)
		case <-tick.C:
			ended, err = look()
		}
		if ended || err != nil {
			return err
		}
	}
}

// reached judges the error of a look: a server that is out of reach is waited
// for.
func (w *watcher) reached(ctx context.Context, err error) error {
	switch {
	case err == nil:
		w.away = time.Time{}
		return nil
	case ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || ctx.Err() != nil:
		return err
	case w.away.IsZero():
		w.away = time.Now()
		if !w.a.json {
			fmt.Fprintln(w.a.err, "The server is out of reach; waiting for it.")
		}
	case time.Since(w.away) > patience:
		return err
	}
	return nil
}

// stopped tells a user who stopped the watching that the work goes on.
func (w *watcher) stopped(ctx context.Context, what, id string) {
	if errors.Is(context.Cause(ctx), errStopped) && !w.a.json {
		fmt.Fprintf(w.a.err, "The %s goes on. Watch it again with `ktrdr follow %s`.\n", what, id)
	}
}
