package thread

import "slices"

// ChannelHistory is one channel's writes along the parent chain.
type ChannelHistory struct {
	Seed   *Value         `json:"seed,omitempty"`
	Writes []PendingWrite `json:"writes"`
}

// HistoryWalk visits a parent chain from the target's parent to the root and
// collects the history of channels. A value is the state before the writes of
// its checkpoint: those writes belong to the history, older ones are part of the
// value.
type HistoryWalk struct {
	missing []string                   // channels without a seed
	found   map[string]*ChannelHistory // newest write first until Histories
}

// NewHistoryWalk starts a walk for the given channels.
func NewHistoryWalk(channels []string) *HistoryWalk {
	w := &HistoryWalk{found: make(map[string]*ChannelHistory, len(channels))}
	for _, channel := range channels {
		if _, twice := w.found[channel]; !twice {
			w.found[channel] = &ChannelHistory{Writes: []PendingWrite{}}
			w.missing = append(w.missing, channel)
		}
	}
	return w
}

// Missing returns the channels whose seed is not found yet. The walk ends when
// there are none.
func (w *HistoryWalk) Missing() []string { return w.missing }

// Visit adds the next ancestor: its writes, in order, and its value of a
// channel, nil when it holds none.
func (w *HistoryWalk) Visit(writes []PendingWrite, value func(channel string) *Value) {
	w.missing = slices.DeleteFunc(w.missing, func(channel string) bool {
		h := w.found[channel]
		for _, one := range slices.Backward(writes) {
			if one.Channel == channel {
				h.Writes = append(h.Writes, one)
			}
		}
		h.Seed = value(channel)
		return h.Seed != nil
	})
}

// Histories returns the result, oldest write first.
func (w *HistoryWalk) Histories() map[string]ChannelHistory {
	out := make(map[string]ChannelHistory, len(w.found))
	for channel, h := range w.found {
		slices.Reverse(h.Writes)
		out[channel] = *h
	}
	return out
}
