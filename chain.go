package ktrdr

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ChainHead is the newest link of the chain of a market's ledger. Its text is
// MARKET/LINKS/HASH. A head that was published proves later that no link up to it
// was dropped, added or changed.
//
//	entry 1 ──▶ hash 1 ──┐
//	entry 2 ─────────────┴▶ hash 2 ──┐
//	entry 3 ─────────────────────────┴▶ hash 3 = head
type ChainHead struct {
	Market string
	Links  int
	Hash   Hash // of the last link; zero before the first
}

// HeadPattern finds the text of heads, in a report or a message.
var HeadPattern = regexp.MustCompile(`mkt_[0-9a-f]{12}/[1-9][0-9]{0,9}/[0-9a-f]{64}`)

// String is MARKET/LINKS/HASH.
func (h ChainHead) String() string { return fmt.Sprintf("%s/%d/%s", h.Market, h.Links, h.Hash) }

// MarshalText implements encoding.TextMarshaler.
func (h ChainHead) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *ChainHead) UnmarshalText(text []byte) error {
	rest, last := cutLast(string(text))
	market, count := cutLast(rest)
	links, err := strconv.Atoi(count)
	hash, err2 := ParseHash(last)
	if err = errors.Join(err, err2); err != nil || links < 0 || market == "" {
		return Errorf(CodeInvalid, "%.100q is no head of a ledger: it has the form MARKET/LINKS/HASH", text)
	}
	*h = ChainHead{market, links, hash}
	return nil
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '/')
	return s[:max(i, 0)], s[i+1:]
}

// ChainLink is one link of the chain of a market's ledger.
type ChainLink struct {
	Market   string `json:"market"`
	Position int    `json:"position"` // from 1
	Hash     Hash   `json:"hash"`
	Entry    string `json:"entry"` // the JSON of a ChainEntry, byte for byte
}

// LinkHash is the hash of a link: of the hash before it and of its entry.
func LinkHash(before Hash, entry []byte) Hash {
	h := sha256.New()
	_, _ = io.WriteString(h, "ktrdr ledger 1\n") // a hash never fails
	_, _ = h.Write(before[:])
	_, _ = h.Write(entry)
	return Hash(h.Sum(nil))
}

// ChainKind says what an entry of the chain is.
type ChainKind string

// The kinds.
const (
	ChainEarlier ChainKind = "earlier" // what was counted before the chain began
	ChainTrial   ChainKind = "trial"   // a trial has ended
	ChainLook    ChainKind = "look"    // a look is reserved: its bars were not read yet
	ChainResult  ChainKind = "result"  // what the look showed
	ChainMerge   ChainKind = "merge"   // another market turned out to be this one
	ChainHoldout ChainKind = "holdout" // a new holdout replaces the one before
)

// ChainEntry is one entry of the chain. The member of its kind is set.
type ChainEntry struct {
	Market   string        `json:"market"`
	Position int           `json:"position"` // from 1
	Kind     ChainKind     `json:"kind"`
	Earlier  *EarlierEntry `json:"earlier,omitempty"`
	Trial    *TrialEntry   `json:"trial,omitempty"`
	Look     *LookEntry    `json:"look,omitempty"`
	Result   *ResultEntry  `json:"result,omitempty"`
	Merge    *MergeEntry   `json:"merge,omitempty"`
	Holdout  *HoldoutEntry `json:"holdout,omitempty"`
}

// EarlierEntry is what was counted before the chain began. It is the first link of
// a market that an earlier version of ktrdr counted on.
type EarlierEntry struct {
	Trials int `json:"trials"`
	Looks  int `json:"looks"`
}

// TrialEntry is a trial that has ended. A research that was resumed after its
// generation was closed has another entry, which amends the first.
type TrialEntry struct {
	Key        string      `json:"key"`
	Amends     int         `json:"amends,omitempty"` // position of the entry before
	Operation  OperationID `json:"operation_id"`
	Type       Type        `json:"operation_type"`
	Run        string      `json:"run,omitempty"`
	Generation int         `json:"generation"`
	Index      int         `json:"index"`
	Symbols    string      `json:"symbols"`
	Timeframes string      `json:"timeframes"`
	Status     Status      `json:"status"`
	Rung       string      `json:"rung,omitempty"`
	Counted    int         `json:"trials_counted"` // that the verdict is adjusted for
	TrialFigures
	TrialFacts
}

// TrialFacts are what a trial was made from.
type TrialFacts struct {
	Spec         Hash         `json:"spec_hash,omitzero"` // sha256 of the spec
	Seed         *uint64      `json:"seed,omitempty"`
	KernelClass  string       `json:"kernel_class,omitempty"`
	StrategyYAML Hash         `json:"strategy_hash,omitzero"` // sha256 of the YAML
	Model        Hash         `json:"model_hash,omitzero"`    // of a model that was traded
	Costs        []TrialCosts `json:"costs,omitempty"`        // floors, as fractions
	Bars         []TrialBars  `json:"bars,omitempty"`
}

// TrialCosts are the cost floor of a symbol.
type TrialCosts struct {
	Symbol     string  `json:"symbol"`
	Commission float64 `json:"commission"`
	Slippage   float64 `json:"slippage"`
	Spread     float64 `json:"spread"`
}

// TrialBars name a series.
type TrialBars struct {
	Symbol    string `json:"symbol"`
	Timeframe string `json:"timeframe"`
	Hash      Hash   `json:"bars_hash"`
}

// LookEntry is a look that was reserved. It is a link before the bars are read.
type LookEntry struct {
	Key        string          `json:"key"`
	Operation  OperationID     `json:"operation_id,omitempty"`
	Kind       LookKind        `json:"kind"`
	Research   OperationID     `json:"research_operation_id,omitempty"`
	Run        string          `json:"run,omitempty"`
	Generation int             `json:"generation"`
	Number     int             `json:"number"`                // on this market
	Before     int             `json:"looks_before"`          // that it pays for; of several markets the most
	Holdout    time.Time       `json:"holdout_from,omitzero"` // where the holdout begins that it is at
	Spec       Hash            `json:"spec_hash,omitzero"`
	Spans      json.RawMessage `json:"spans,omitempty"` // the bars of the holdout, with their hashes
}

// ResultEntry is what a look showed.
type ResultEntry struct {
	Key      string   `json:"key"`
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"adjusted_p"`
	Claim    bool     `json:"claim"`
	Hash     Hash     `json:"look_hash,omitzero"`
}

// MergeEntry names a market whose chain ends here. What it counted counts here from
// now on. Its chain stays, so that a head of it can still be checked.
type MergeEntry struct {
	Head   ChainHead `json:"head"`
	Trials int       `json:"trials"` // of the market that ends, in its chain or not
	Looks  int       `json:"looks"`
}

// HoldoutEntry is a new holdout. Looks before it are not paid for by looks at it, but
// for those that claimed and whose claims show its bars.
type HoldoutEntry struct {
	From time.Time `json:"holdout_from"`
	HoldoutLength
	Looks  int           `json:"looks"`            // on this market so far
	Claims []OperationID `json:"claims,omitempty"` // each is one look of its budget
}

// EncodeEntry writes an entry as it is hashed.
func EncodeEntry(e ChainEntry) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("entry %d of the ledger of %s: %w", e.Position, e.Market, err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// ParseEntry reads an entry. Text that EncodeEntry would write differently is
// CodeInvalid.
func ParseEntry(text []byte) (e ChainEntry, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return e, Errorf(CodeInvalid, "entry of a ledger: %w", err)
	}
	again, err := EncodeEntry(e)
	if err != nil || !bytes.Equal(again, text) {
		return e, Errorf(CodeInvalid, "entry of a ledger: it is not written as ktrdr writes it")
	}
	return e, nil
}
