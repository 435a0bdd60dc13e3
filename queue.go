package ktrdr

import "fmt"

// Queue is the line that a new parent stands in. Of a queue's parents only so
// many are live at once; the others wait as PENDING and start in the order of
// their priority and then of their coming, each when
//
//   - fewer than the limit of its queue are live,
//   - nobody before it in the line could start instead, and
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

// QueueState is who is in a queue, at one moment.
type QueueState struct {
	Count    QueueCount  // of all
	Started  []Operation // those who have started and not ended, as they came
	Children []Operation // of those, what has not ended, in no order
	Waiting  []Operation // the first of those who wait, as they will be asked
	Ended    []Operation // the newest of those who have ended, newest first, as little of them as of those who wait
	Last     *Operation  // of these, who ended last, whole; nil if nobody did
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
