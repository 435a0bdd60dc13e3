package api

import (
	"time"

	"github.com/ktrdr/ktrdr"
)

// UploadPath is where the page takes price files. It has more time and a larger body
// than other pages.
const UploadPath = "/data/upload"

// Content types, headers, and the events that a stream has besides the
// operation's own.
const (
	ContentJSON   = "application/json"
	ContentBytes  = "application/octet-stream"
	ContentEvents = "text/event-stream"

	HeaderKey       = "Idempotency-Key"
	HeaderReplay    = "Idempotent-Replay"
	HeaderOperation = "Ktrdr-Operation"
	HeaderEpoch     = "Ktrdr-Epoch"
	HeaderEventID   = "Last-Event-ID"

	EventRun = "run" // a run's row
	EventEnd = "end" // the stream is over

	// StreamBeat is how often a stream says that it is alive.
	StreamBeat = 15 * time.Second
)

// Envelope is every answer but that of Health.
type Envelope struct {
	Success bool     `json:"success"`
	Data    any      `json:"data"`
	Error   *Failure `json:"error"`
	Next    string   `json:"next_cursor,omitempty"`
}

// Failure is an error as programs and people get it.
type Failure struct {
	Code      ktrdr.Code     `json:"code"`
	Message   string         `json:"message"`
	Class     ktrdr.Class    `json:"class"`
	Severity  ktrdr.Severity `json:"severity"`
	Retryable bool           `json:"retryable"`
	Details   *Details       `json:"details,omitempty"`

	Capacity *ktrdr.Capacity `json:"capacity,omitempty"` // why there is no room
}

// Details is what a refused transition was about.
type Details struct {
	Operation  ktrdr.OperationID `json:"operation_id,omitempty"`
	Status     ktrdr.Status      `json:"status,omitempty"`
	Epoch      ktrdr.Epoch       `json:"epoch"`
	GivenEpoch ktrdr.Epoch       `json:"given_epoch,omitempty"`
}
