package ktrdr

import (
	"encoding/json"
	"time"
)

// Note is something that a plan wants remembered: an experiment, a hypothesis. Notes are only ever added. Of those with the same kind
// and key the first is kept and the others change nothing, so that a plan that
// is asked twice notes once.
type Note struct {
	Kind       string          `json:"kind"`
	Key        string          `json:"key"`
	Run        string          `json:"run,omitempty"`
	Generation int             `json:"generation"`
	Index      int             `json:"index"`
	Data       json.RawMessage `json:"data"`

	Operation OperationID `json:"operation_id"` // that it was noted for; filled in
	At        time.Time   `json:"at"`           // filled in
}

// NoteOrder is the order of a page of notes.
type NoteOrder string

// The orders. NotesByPlace does not depend on time: the same notes come in the same
// order, whichever was written first.
const (
	NotesNewest  NoteOrder = ""
	NotesOldest  NoteOrder = "oldest"
	NotesByPlace NoteOrder = "place" // generation, index, kind, key
)

// NoteQuery selects the notes of which all of this is true; zero fields select
// all.
type NoteQuery struct {
	Kind             string
	Run              string
	Operation        OperationID
	BeforeGeneration *int   // only lower ones; nil means all, and 0 none
	Horizon          string // only those at or before it; empty means all

	Order  NoteOrder
	Limit  int // 1..1000; 0 means 50
	Cursor string
}

// NotePage is a page and the cursor of the next; an empty cursor ends.
type NotePage struct {
	Notes []Note `json:"notes"`
	Next  string `json:"next_cursor,omitempty"`
}
