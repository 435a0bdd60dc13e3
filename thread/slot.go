package thread

import "slices"

// Slot is one channel of a stored checkpoint: its version and, unless the channel
// is empty, the saver's reference to its value. A slot belongs to one checkpoint,
// so that two forks that reach the same version of a channel keep their own
// values.
type Slot[V any] struct {
	Version string
	Held    bool // false: the channel is empty
	Value   V
}

// Slots maps channels to their slots.
type Slots[V any] map[string]Slot[V]

// InheritSlots returns the slots of a new checkpoint: own for a new channel, the
// parent's slot for a channel with the same version. The caller fills the other
// channels, which are returned in order, with Adopt.
func InheritSlots[V any](d ParsedPut, own map[string]V, parent Slots[V]) (Slots[V], []string) {
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

// Adopt fills a channel that InheritSlots returned: from the stored checkpoint
// with the same id, when the version is the same, else from the first checkpoint
// of the thread and namespace that had that version.
func (s Slots[V]) Adopt(channel string, before Slots[V], first func(channel, version string) (V, bool)) {
	slot := s[channel]
	if old, ok := before[channel]; ok && old.Version == slot.Version {
		s[channel] = old
		return
	}
	slot.Value, slot.Held = first(channel, slot.Version)
	s[channel] = slot
}
