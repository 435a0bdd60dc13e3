package saver

import (
	"slices"

	"github.com/ktrdr/ktrdr"
)

// Trail walks a parent chain from the target's parent towards the root and
// gathers the history of channels. A value is what entered its checkpoint, so
// the writes of the checkpoint that holds it count; those of older ones are in
// the value already.
type Trail struct {
	open []string
	seen map[string]*ktrdr.ChannelHistory // writes newest checkpoint first until Histories
}

// NewTrail starts a walk for the given channels.
func NewTrail(channels []string) *Trail {
	t := &Trail{seen: make(map[string]*ktrdr.ChannelHistory, len(channels))}
	for _, channel := range channels {
		if _, twice := t.seen[channel]; !twice {
			t.seen[channel] = &ktrdr.ChannelHistory{Writes: []ktrdr.PendingWrite{}}
			t.open = append(t.open, channel)
		}
	}
	return t
}

// Open returns the channels whose seed is not found yet; the walk ends when
// there is none.
func (t *Trail) Open() []string { return t.open }

// Step takes in the next ancestor: its writes, in order, and its value of a
// channel, nil when it holds none.
func (t *Trail) Step(writes []ktrdr.PendingWrite, value func(channel string) *ktrdr.Value) {
	t.open = slices.DeleteFunc(t.open, func(channel string) bool {
		h := t.seen[channel]
		for _, w := range slices.Backward(writes) {
			if w.Channel == channel {
				h.Writes = append(h.Writes, w)
			}
		}
		h.Seed = value(channel)
		return h.Seed != nil
	})
}

// Histories returns what was gathered, oldest write first.
func (t *Trail) Histories() map[string]ktrdr.ChannelHistory {
	out := make(map[string]ktrdr.ChannelHistory, len(t.seen))
	for channel, h := range t.seen {
		slices.Reverse(h.Writes)
		out[channel] = *h
	}
	return out
}
