package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// Follow says how a series is kept current, or which folder is watched for files of any series.
type Follow struct {
	Source    string  `json:"source,omitempty"`
	Symbol    string  `json:"symbol,omitempty"` // as the source writes it
	As        string  `json:"as,omitempty"`     // in the library
	Timeframe string  `json:"timeframe,omitempty"`
	Folder    string  `json:"folder,omitempty"` // instead of a source: absolute, on the machine of the backend
	Zone      string  `json:"zone,omitempty"`   // of times in its files that carry none
	Divide    float64 `json:"divide,omitempty"`
	Seconds   int64   `json:"every_seconds"` // between two turns
}

// Name is the series. That of a folder has no slashes, which names of documents must not have.
func (f Follow) Name() string {
	if f.Folder != "" {
		sum := sha256.Sum256([]byte(f.Folder))
		return "folder " + hex.EncodeToString(sum[:])
	}
	return f.As + " " + f.Timeframe
}

// Label is what is followed, for people.
func (f Follow) Label() string {
	if f.Folder != "" {
		return f.Folder
	}
	return f.Name()
}

// Request is the fetch that continues the series.
func (f Follow) Request() DataFetchRequest {
	return DataFetchRequest{Source: f.Source, Symbol: f.Symbol, As: f.As, Timeframe: f.Timeframe, Divide: f.Divide}
}

// Followed is what is followed, and what its last turn brought.
type Followed struct {
	Follow

	Last     *FollowTurn     `json:"last,omitempty"` // that started something; nil: none has
	Failures []FollowFailure `json:"failures"`       // that no later turn has mended
}

// FollowTurn is a turn that started operations.
type FollowTurn struct {
	At         time.Time `json:"at"`
	Operations int       `json:"operations"`
	Active     int       `json:"active"`   // of them
	NewBars    int       `json:"new_bars"` // that those which have completed added
}

// FollowFailure is a series or a file that could not be added.
type FollowFailure struct {
	What      string            `json:"what"`
	Error     string            `json:"error"`
	Since     time.Time         `json:"since,omitzero"`         // the first of its failures in a row
	Operation ktrdr.OperationID `json:"operation_id,omitempty"` // the newest of them; empty: none could be started
}

// Trouble says that a series is not current, since when, and why; "" if its newest fetch succeeded.
func (f Followed) Trouble() string {
	if len(f.Failures) == 0 {
		return ""
	}
	x := f.Failures[0]
	return fmt.Sprintf("%s is not kept current: its fetches fail since %s: %s", f.Label(), text.Minute(x.Since.Unix()), x.Error)
}
