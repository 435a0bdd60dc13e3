package research

import "github.com/ktrdr/ktrdr"

// Triggered is the answer to a request for researches, with the first at the top.
type Triggered struct {
	Operation  ktrdr.OperationID   `json:"operation_id"`
	Session    int64               `json:"session_id"`
	Status     ktrdr.Status        `json:"status"`
	Run        string              `json:"run"`
	Seed       uint64              `json:"seed"`
	Operations []TriggeredResearch `json:"operations"`
	Understood []string            `json:"understood,omitempty"` // what was read out of the brief
	Warnings   []string            `json:"warnings,omitempty"`

	NotUnderstood []string `json:"not_understood,omitempty"` // content words of the brief that had no effect

	Preview *Preview `json:"preview,omitempty"` // of a dry run, which creates no operation

	Replayed bool `json:"-"` // all of them were created by an earlier request with the same key
}

// TriggeredResearch is one of them.
type TriggeredResearch struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Session   int64             `json:"session_id"`
	Status    ktrdr.Status      `json:"status"`
}
