package jobs

import (
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// SeriesInfo is a series of the library.
type SeriesInfo struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Hash      ktrdr.Hash       `json:"hash"`
	Bars      int              `json:"bars"`
	First     int64            `json:"first"` // opening of the first bar, Unix seconds
	Last      int64            `json:"last"`  // opening of the last
	Size      int64            `json:"size"`  // of the file
	Origin    ktrdr.BarsOrigin `json:"origin"`
	Source    string           `json:"source,omitempty"` // the files, the series or the folder that it was made of
	MadeUp    *bool            `json:"made_up"`          // its bars, or some of them, were made up; null: not known
	AddedAt   time.Time        `json:"added_at"`
	Current   bool             `json:"current"`

	Record   ktrdr.BarsRecord         `json:"record,omitzero"`
	Findings []quality.ContentFinding `json:"findings"` // what is doubtful in its content; null: not judged yet
	Accepted []ktrdr.AcceptedFinding  `json:"accepted,omitempty"`

	File ktrdr.Artifact `json:"-"`
}

// Unaccepted are the severe findings that no person accepts.
func (e SeriesInfo) Unaccepted() []quality.ContentFinding { return Unaccepted(e.Findings, e.Accepted) }

// Unaccepted are the severe of findings that are not accepted by name.
func Unaccepted(found []quality.ContentFinding, accepted []ktrdr.AcceptedFinding) (open []quality.ContentFinding) {
	for _, f := range found {
		named := func(a ktrdr.AcceptedFinding) bool { return a.Finding == string(f.Rule) }
		if f.Severity == quality.Severe && !slices.ContainsFunc(accepted, named) {
			open = append(open, f)
		}
	}
	return open
}

// Pinned names the series for a spec.
func (e SeriesInfo) Pinned() Bars {
	return Bars{Symbol: e.Symbol, Timeframe: e.Timeframe, Hash: e.Hash, Artifact: e.File, MadeUp: e.MadeUp}
}

// String is the series for people.
func (e SeriesInfo) String() string {
	return fmt.Sprintf("%s %s, %d bars, %s to %s", e.Symbol, e.Timeframe, e.Bars, text.Minute(e.First), text.Minute(e.Last))
}

// LibrarySeries is bars of a symbol.
type LibrarySeries struct {
	Symbol    string     `json:"symbol"`
	Timeframe string     `json:"timeframe"`
	Hash      ktrdr.Hash `json:"bars_hash,omitzero"`
	Bars      int        `json:"bars"`
	First     time.Time  `json:"first,omitzero"` // opening of the first bar
	Last      time.Time  `json:"last,omitzero"`
	Size      int64      `json:"size"`              // of its file, in bytes
	Origin    string     `json:"origin,omitempty"`  // file, synth, resample, rename, or folder of an earlier version
	Source    string     `json:"source,omitempty"`  // the files, the series or the folder that it was made of
	MadeUp    *bool      `json:"made_up"`           // its bars, or some of them, were made up; null: not known
	AddedAt   time.Time  `json:"added_at,omitzero"` // when it became current
	Problem   string     `json:"problem,omitempty"` // why it cannot be read; the rest is then unknown

	Market         string    `json:"market,omitempty"`          // empty while it is undecided
	MarketReason   string    `json:"market_reason,omitempty"`   // why it belongs there
	MarketQuestion string    `json:"market_question,omitempty"` // what the user must decide, and how
	HoldoutFrom    time.Time `json:"holdout_from,omitzero"`     // of the market; bars that close after this are its holdout
	Trials         int       `json:"trials"`                    // on the market
	Looks          int       `json:"looks"`                     // that the next look at its holdout pays for

	Record   ktrdr.BarsRecord         `json:"record,omitzero"`    // how its prices were read
	Findings []quality.ContentFinding `json:"findings"`           // what is doubtful in its content; null: not judged yet
	Accepted []ktrdr.AcceptedFinding  `json:"accepted,omitempty"` // the findings that a person accepts

	Holdouts []ktrdr.Holdout `json:"holdouts,omitempty"` // of the market, with those before, oldest first

	Follow *Followed `json:"follow,omitempty"` // how it is kept current; null: it is not
}

// SeriesCheck is what a check of a series found. It reads the bars before the
// holdout of the market; what the holdout holds is not told.
type SeriesCheck struct {
	Symbol    string            `json:"symbol"`
	Timeframe string            `json:"timeframe"`
	OK        bool              `json:"ok"`
	Error     string            `json:"error,omitempty"` // why the bars cannot be used
	Until     time.Time         `json:"until,omitzero"`  // bars that close after this were not checked
	Report    market.DataReport `json:"report"`

	Findings []quality.ContentFinding `json:"findings"`           // what is doubtful in the content; of the holdout only how many
	Accepted []ktrdr.AcceptedFinding  `json:"accepted,omitempty"` // of those, by name
}

// FindingsBeforeHoldout leaves out the findings in a holdout: with bars that it adds again and
// again, an assistant could enclose a price there by whether one appears.
func FindingsBeforeHoldout(found []quality.ContentFinding) []quality.ContentFinding {
	return slices.DeleteFunc(found, func(f quality.ContentFinding) bool { return f.Sealed })
}

// DeletedSeries says what was deleted.
type DeletedSeries struct {
	Symbol    string `json:"symbol"`
	Timeframe string `json:"timeframe"`
	Series    int    `json:"series_deleted"` // the current one and those that it replaced
}
