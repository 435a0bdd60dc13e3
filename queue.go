package ktrdr

import "fmt"

// Queue is the line that a new parent stands in. The number of its live parents is
// limited. The others wait as PENDING and start in the order of their priority and
// then of their creation, each when
//
//   - fewer than the limit of its queue are live,
//   - no parent before it in the line could start instead, and
//   - every parent of the same run and a lower generation has ended.
//
// A parent that is resumed had its place already and starts at once.
type Queue struct {
	Name  string
	Limit int  // how many may be live; the engine fills it in
	Force bool // wait in the line when there is no room, instead of being refused

	Run        string // what its generations belong to; empty for a parent of its own
	Generation int
	Index      int // its place in its generation
}

// QueuePlace is where a parent stands, or stood, in its queue.
type QueuePlace struct {
	Name       string `json:"name"`
	Run        string `json:"run,omitempty"`
	Generation int    `json:"generation"`
	Index      int    `json:"index"`
}

// QueueCount is how many parents of a queue are live, and how many wait.
type QueueCount struct {
	Name    string
	Active  int
	Waiting int
}

// QueueState is the operations of a queue at one moment.
type QueueState struct {
	Count    QueueCount  // of all
	Started  []Operation // started and not ended, in the order of their sessions
	Children []Operation // of those, the ones that have not ended, in no order
	Waiting  []Operation // the first waiting ones, in the order of their start
	Ended    []Operation // the newest ended ones, newest first, with the same columns as the waiting ones
	Last     *Operation  // the one that ended last, with all columns; nil if none did
}

// QueueHealth is a queue as health shows it.
type QueueHealth struct {
	Limit   int `json:"limit"`
	Active  int `json:"active"`
	Waiting int `json:"waiting"`
}

// Capacity is why a queue has no room: what is wrapped by the Error with
// CodeAtCapacity.
type Capacity struct {
	Queue   string `json:"queue"`
	Active  int    `json:"active"`
	Limit   int    `json:"limit"`
	Waiting int    `json:"waiting"`
}

func (c *Capacity) Error() string {
	return fmt.Sprintf("%d of at most %d are active and %d wait", c.Active, c.Limit, c.Waiting)
}

// AtCapacity is the refusal of a queue that has no room.
func AtCapacity(c Capacity) *Error {
	return Errorf(CodeAtCapacity,
		"the queue %s is at its capacity: %w; wait until one of them ends, or force it to be accepted and to wait for its turn", c.Queue, &c)
}
