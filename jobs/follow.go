package jobs

import (
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// FollowState is how a series is kept current, and how its newest fetches ended.
type FollowState struct {
	Follow
	Last     time.Time `json:"last,omitzero"`           // when the newest fetch ended that succeeded
	Failures int       `json:"failures_in_row"`         // fetches since then, which failed
	Since    time.Time `json:"failed_since,omitzero"`   // when the first of them ended
	Error    string    `json:"error_message,omitempty"` // of the newest
}

// FetchesRead is how many of the newest fetches say how series are kept current.
const FetchesRead = 1000

// FollowStates says how series are kept current. fetches are the newest, the newest first.
func FollowStates(follows []Follow, fetches []ktrdr.Operation) []FollowState {
	list := make([]FollowState, len(follows))
	at := make(map[string]*FollowState, len(follows))
	for i, f := range follows {
		list[i].Follow = f
		at[f.Name()] = &list[i]
	}
	for _, op := range fetches {
		spec, err := ktrdr.ParseSpec[FetchSpec](op.Spec)
		if err != nil {
			continue // of another version
		}
		s := at[Follow{As: spec.Symbol, Timeframe: string(spec.Timeframe)}.Name()]
		switch {
		case s == nil || !s.Last.IsZero():
		case op.Status == ktrdr.Completed:
			s.Last = op.CompletedAt
		case op.Status == ktrdr.Failed:
			if s.Failures++; s.Failures == 1 {
				s.Error = op.ErrorMessage
			}
			s.Since = op.CompletedAt
		}
	}
	return list
}

// Trouble says that a series is not current, and why; "" if its newest fetch succeeded.
func (s FollowState) Trouble() string {
	if s.Failures == 0 {
		return ""
	}
	failed := "the newest fetch failed at"
	if s.Failures > 1 {
		failed = fmt.Sprintf("the newest %d fetches failed, the first at", s.Failures)
	}
	return fmt.Sprintf("%s is not kept current: %s %s: %s", s.Name(), failed, text.Minute(s.Since.Unix()), s.Error)
}
