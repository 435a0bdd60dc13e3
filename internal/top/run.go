package top

import (
	"context"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/internal/term"
)

// ErrInterrupted says that Ctrl-C ended top.
var ErrInterrupted = ktrdr.Errorf(ktrdr.CodeCancelled, "interrupted")

// screen is a terminal: what is written goes through a filter.
type screen struct {
	*os.File
	filtered io.Writer
}

// Write implements io.Writer.
func (s screen) Write(b []byte) (int, error) { return s.filtered.Write(b) }

// Run shows a lab until a person quits or ctx ends, and restores the terminal.
// Terminal is the terminal itself; out writes to it.
func Run(ctx context.Context, c *client.Client, terminal *os.File, out io.Writer, p term.Palette) error {
	r := reader{ctx, c}
	if _, _, err := r.load(ctx, target{kind: runs}); err != nil {
		return err // a person who gave the wrong address gets an error, and no screen that waits
	}
	ctx, stop := context.WithCancel(ctx)
	m := newModel(c.URL(), p, term.UTF8(), r.read)
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(os.Stdin), tea.WithOutput(screen{terminal, out}),
		tea.WithoutSignalHandler())
	done := make(chan struct{})
	go func() {
		defer close(done)
		follow(ctx, c, func(e ktrdr.Event) { program.Send(happened(e)) })
	}()
	last, err := program.Run()
	cause := context.Cause(ctx)
	stop()
	<-done
	switch end, _ := last.(model); {
	case end.interrupted:
		return ErrInterrupted
	case cause != nil:
		return cause
	}
	return err
}

// follow reads recent and new events for as long as ctx lasts, over as many connections as it
// takes.
func follow(ctx context.Context, c *client.Client, tell func(ktrdr.Event)) {
	after := ktrdr.Cursor{}
	for ctx.Err() == nil {
		events := c.FollowRecentEvents(ctx, pastEvents)
		if after != (ktrdr.Cursor{}) {
			events = c.FollowEvents(ctx, "", after)
		}
		for e, err := range events {
			if err != nil {
				break
			}
			after = e.Cursor
			tell(e)
		}
		backoff.Sleep(ctx, time.Second)
	}
}
