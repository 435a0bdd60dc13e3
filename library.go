package ktrdr

import (
	"context"
	"encoding/json"
	"time"
)

// StoredBars is a series of bars that the lab holds.
type StoredBars struct {
	Symbol    string
	Timeframe string
	Hash      Hash // of the bars
	Bars      int
	First     time.Time // opening of the first bar
	Last      time.Time // opening of the last
	File      Artifact  // the bars file in the blob store
	Origin    BarsOrigin
	Source    string // the files, the series or the folder that it was made of
	MadeUp    *bool  // its bars, or some of them, were made up; nil: not known
	AddedAt   time.Time
	Current   bool // false for a series that another one has replaced

	Record   BarsRecord
	Findings json.RawMessage   // what is doubtful in its content, a list; nil: not judged yet
	Accepted []AcceptedFinding // of those, by name
}

// BarsRecord says how the prices of a series were read: what their figures mean.
type BarsRecord struct {
	Format     string `json:"format,omitempty"`     // the program or service that wrote the file
	Zone       string `json:"zone,omitempty"`       // of the times in the file; stored bars are in UTC
	Unit       string `json:"unit,omitempty"`       // of the prices in the file
	Adjustment string `json:"adjustment,omitempty"` // for splits, dividends and rolls
}

// AcceptedFinding is a finding with which a person lets research begin.
type AcceptedFinding struct {
	Finding string    `json:"finding"` // its rule
	By      string    `json:"by"`
	At      time.Time `json:"at,omitzero"`
}

// BarsOrigin says how a series came into the lab.
type BarsOrigin string

// Origins of bars.
const (
	BarsFromFile     BarsOrigin = "file"     // imported price files
	BarsSynthetic    BarsOrigin = "synth"    // made up
	BarsResampled    BarsOrigin = "resample" // made of shorter bars
	BarsRenamed      BarsOrigin = "rename"   // another series under a new symbol
	BarsFromOldStore BarsOrigin = "folder"   // the data folder of an earlier version
)

// AnyMadeUp says whether one of several series is made up. It is nil, which means
// not known, where none is known to be and some are not known.
func AnyMadeUp(of ...*bool) *bool {
	made := new(bool)
	for _, m := range of {
		switch {
		case m == nil:
			made = nil
		case *m:
			return m
		}
	}
	return made
}

// NewBars is a series to be added to the library.
type NewBars struct {
	StoredBars
	// Replaces is the hash of the current series that it takes the place of.
	// Zero means that there must be none.
	Replaces Hash
	// Old says that it is to be kept beside the current series, whatever that
	// is.
	Old bool
	// Series assigns it to a market in the transaction that adds it, so that
	// bars that are refused change no market. Nil: its market stays as it is.
	Series *NewSeries
}

// BarsImport is the claim of an operation that adds bars to the library.
type BarsImport struct {
	Operation OperationID
	Epoch     Epoch
	// Result makes the operation's result of the series as it is stored, and of
	// how it was assigned to a market; that is zero where it was not. It is called
	// within the transaction, perhaps more than once.
	Result func(added StoredBars, placed MarketSeries) (json.RawMessage, error)
}

// DocumentKind says what a document is.
type DocumentKind string

// Kinds of documents.
const (
	StrategyDocument    DocumentKind = "strategy"
	InstrumentsDocument DocumentKind = "instruments" // the one file of instruments
	FollowDocument      DocumentKind = "follow"      // a series that is kept current: from where, and how often
)

// Document is a text that a person wrote and that every backend needs.
type Document struct {
	Kind    DocumentKind
	Name    string
	Content string
	Origin  DocumentOrigin
	Source  string // the file that it was read from
	Owner   string // the backend whose folder holds that file, for DocumentFromFolder
	SavedAt time.Time
}

// DocumentOrigin says who gave the lab a document.
type DocumentOrigin string

// Origins of documents.
const (
	DocumentFromUser   DocumentOrigin = "user"   // a command or a request
	DocumentFromFolder DocumentOrigin = "folder" // a file in the data folder of a backend
)

// Bounds of what a document may hold.
const (
	MaxDocument     = 256 << 10 // bytes
	MaxDocumentName = 200
)

// Library is the catalogue of what users gave the lab: bars, strategies and the
// file of instruments. The bytes of bars are in the blob store.
type Library interface {
	// Bars lists the current series by symbol and timeframe; with old also
	// those that were replaced, newest first.
	Bars(ctx context.Context, old bool) ([]StoredBars, error)

	// BarsOf returns the current series; CodeNotFound.
	BarsOf(ctx context.Context, symbol, timeframe string) (StoredBars, error)

	// AddBars makes a series the current one of its symbol and timeframe. Its
	// file is in the blob store already. A series that is current already stays
	// as it is; only that its bars are made up is noted. CodeConflict when another is current than the one it replaces,
	// when there is a symbol that differs from it by capitals only, or as AddSeries
	// says of its Series. What is refused changes nothing.
	AddBars(ctx context.Context, b NewBars) (StoredBars, error)

	// ImportBars is AddBars for an operation. The operation's result is stored in
	// the transaction that adds the bars, so that an operation adds bars once: run
	// again, it gets its first result and changes nothing, also when the
	// bars were changed or deleted since. A claim that is over is refused as every write of a worker is.
	ImportBars(ctx context.Context, b NewBars, by BarsImport) (json.RawMessage, error)

	// ImportResult returns the result of an operation that has added its bars; nil
	// when it has not. CodeNotFound.
	ImportResult(ctx context.Context, id OperationID) (json.RawMessage, error)

	// JudgeBars stores the findings of a series that was not judged. One that was
	// stays as it is.
	JudgeBars(ctx context.Context, symbol, timeframe string, hash Hash, findings json.RawMessage) error

	// AcceptFindings notes that a person accepts findings of the current series, at
	// the time of the store. What was accepted before stays as it is. CodeNotFound;
	// CodeConflict when another series than that of the hash is current.
	AcceptFindings(ctx context.Context, symbol, timeframe string, hash Hash, rules []string, by string) (StoredBars, error)

	// DeleteBars deletes a series and those that it replaced, and returns them;
	// CodeNotFound. The market keeps its trials and looks.
	DeleteBars(ctx context.Context, symbol, timeframe string) ([]StoredBars, error)

	// RenameBars adds series under a new symbol in place of the current ones of
	// another, which it replaces. CodeConflict when the new symbol has one of
	// them, or when what is renamed is not exactly what is current.
	RenameBars(ctx context.Context, symbol string, renamed []NewBars) error

	// Documents lists those of a kind by name.
	Documents(ctx context.Context, kind DocumentKind) ([]Document, error)

	// Document returns one; CodeNotFound.
	Document(ctx context.Context, kind DocumentKind, name string) (Document, error)

	// SaveDocument stores one. CodeConflict when there is one with another
	// content and it must not be replaced.
	SaveDocument(ctx context.Context, d Document, replace bool) error

	// DeleteDocument deletes one; CodeNotFound.
	DeleteDocument(ctx context.Context, kind DocumentKind, name string) error
}
