package saver

import "slices"

// Slot is one channel of a stored checkpoint: its version and, when the
// channel is not empty, whatever the saver keeps in place of its value. Slots
// belong to their checkpoint alone, so that two forks that reach the same
// version of a channel keep their own values.
type Slot[V any] struct {
	Version string
	Held    bool
	Value   V
}

// Slots maps channels to their slots.
type Slots[V any] map[string]Slot[V]

// Inherit returns the slots of a new checkpoint: for a new channel what the
// put brought, as own has it; for any other the parent's slot when the version
// is the same, empty or not. The channels that are left, in order, are to be
// looked up with Adopt.
func Inherit[V any](d Draft, own map[string]V, parent Slots[V]) (Slots[V], []string) {
	slots := make(Slots[V], len(d.Channels))
	var left []string
	for channel, c := range d.Channels {
		slot := Slot[V]{Version: c.Version}
		from, ok := parent[channel]
		switch {
		case c.New:
			slot.Value, slot.Held = own[channel]
		case ok && from.Version == c.Version:
			slot = from
		default:
			left = append(left, channel)
		}
		slots[channel] = slot
	}
	slices.Sort(left)
	return slots, left
}

// Adopt fills a channel that was left by Inherit: from the same checkpoint as
// it was stored before, when the version is the same, else from the first
// checkpoint of the thread and namespace that had that version.
func (s Slots[V]) Adopt(channel string, before Slots[V], first func(channel, version string) (V, bool)) {
	slot := s[channel]
	if old, ok := before[channel]; ok && old.Version == slot.Version {
		s[channel] = old
		return
	}
	slot.Value, slot.Held = first(channel, slot.Version)
	s[channel] = slot
}
