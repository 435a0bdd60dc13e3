package ktrdr_test

import (
	"fmt"
	"strings"
)

// exploration is every state a model can reach, in the order in which breadth
// first finds them: the way to a state through its finders is a shortest one.
type exploration struct {
	m      *model
	worlds []world
	finder []uint32
	known  map[world]uint32

	// Of state i, helpful[offset[i]:offset[i+1]] are the states it leads to by
	// moves that need neither a user nor a fault.
	helpful []uint32
	offset  []uint32
	moves   int
}

// explore visits every state. It returns the shortest way to break a rule, or
// "" when nothing is wrong.
func (m *model) explore() (*exploration, string) {
	start := m.initial()
	x := &exploration{m: m, worlds: []world{start}, finder: []uint32{0}, known: map[world]uint32{start: 0}}
	if m.holdWorld(&start); m.violated != "" {
		return x, m.violated
	}
	for at := uint32(0); int(at) < len(x.worlds); at++ {
		x.offset = append(x.offset, uint32(len(x.helpful)))
		broken := ""
		m.moves(x.worlds[at], func(v move, next world) {
			x.moves++
			m.holdWorld(&next)
			if rule := m.violated; rule != "" && broken == "" {
				broken = fmt.Sprintf("%s  %s\n  broken: %s", x.trace(at), v, rule)
			}
			to, seen := x.known[next]
			if !seen {
				to = uint32(len(x.worlds))
				x.known[next] = to
				x.worlds = append(x.worlds, next)
				x.finder = append(x.finder, at)
			}
			if v.helpful() {
				x.helpful = append(x.helpful, to)
			}
		})
		if broken != "" {
			return x, broken
		}
		if rule := m.violated; rule != "" { // by an act that was refused
			return x, fmt.Sprintf("%s  broken: %s", x.trace(at), rule)
		}
	}
	x.offset = append(x.offset, uint32(len(x.helpful)))
	return x, ""
}

// strand returns the shortest way to a state from which no helpful moves lead
// to a world where everything has ended, or "" when every state has a way out.
// It reaches backwards: a state is fine when it has ended or leads to a fine
// one; in reverse order of discovery that settles in a few rounds.
func (x *exploration) strand() string {
	fine := make([]bool, len(x.worlds))
	for changed := true; changed; {
		changed = false
		for i := len(x.worlds) - 1; i >= 0; i-- {
			if fine[i] {
				continue
			}
			ok := ended(&x.worlds[i])
			for _, to := range x.helpful[x.offset[i]:x.offset[i+1]] {
				ok = ok || fine[to]
			}
			fine[i] = ok
			changed = changed || ok
		}
	}
	for i, ok := range fine {
		if !ok {
			return x.trace(uint32(i)) + fmt.Sprintf("  stranded: nothing that happens by itself ends every operation of %+v", x.worlds[i])
		}
	}
	return ""
}

func ended(w *world) bool {
	for _, o := range w.ops {
		if o.open() {
			return false
		}
	}
	return true
}

// trace tells the way from the beginning to a state, one move a line.
func (x *exploration) trace(to uint32) string {
	path := []uint32{to}
	for to != 0 {
		to = x.finder[to]
		path = append(path, to)
	}
	x.m.violated = ""
	var b strings.Builder
	for i := len(path) - 1; i > 0; i-- {
		found := false
		x.m.moves(x.worlds[path[i]], func(v move, next world) {
			if !found && next == x.worlds[path[i-1]] {
				found = true
				fmt.Fprintf(&b, "  %s\n", v)
			}
		})
	}
	return b.String()
}
