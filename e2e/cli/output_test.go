package cli

import (
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// This file holds what a program that calls ktrdr relies on: exit codes, and the
// fields of --json that the tests read.

const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitCancelled   = 3
	exitUnreachable = 4
	exitInterrupted = 130
	exitUnread      = 141
)

type memoryPage struct {
	research.MemoryPage
	Next string `json:"next_cursor"`
}

type serverStatus struct {
	ktrdr.Health
	Research research.Status `json:"research"`
}

// stored is a series of the library and its market.
type stored struct {
	jobs.SeriesInfo
	Hash        string    `json:"hash"`
	Market      string    `json:"market"`
	Reason      string    `json:"market_reason"`
	Question    string    `json:"market_question"`
	HoldoutFrom time.Time `json:"holdout_from"`
	Trials      int       `json:"trials"`
	Looks       int       `json:"looks"`
}

type imported struct {
	File   string            `json:"file"`
	Symbol string            `json:"symbol"`
	OK     bool              `json:"ok"`
	Error  string            `json:"error"`
	Report market.DataReport `json:"report"`
	Stored *stored           `json:"stored"`
	Files  []struct {
		market.Merged
		File string `json:"file"`
	} `json:"files"`
}

type shownBars struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Bars      int              `json:"bars"`
	Hash      string           `json:"hash"`
	First     time.Time        `json:"first"`
	Last      time.Time        `json:"last"`
	Gaps      int              `json:"gaps"`
	Closed    int              `json:"closed"`
	Holes     []market.Gap     `json:"holes"`
	Figures   struct {
		Lowest     float64  `json:"lowest"`
		Highest    float64  `json:"highest"`
		Volatility *float64 `json:"volatility"`
	} `json:"figures"`
	Head []struct {
		Time time.Time `json:"time"`
	} `json:"head"`
	Tail []struct {
		Time time.Time `json:"time"`
	} `json:"tail"`
}

type checked struct {
	Path  string `json:"path"`
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix"`
}

type workerSaid struct {
	ID  ktrdr.WorkerID `json:"worker_id"`
	Dir string         `json:"data"`
}

type eventLine struct {
	ID string `json:"id"`
	ktrdr.Event
}

type backedUp struct {
	File    string       `json:"file"`
	Damaged []ktrdr.Hash `json:"damaged_blobs"`
}

type restored struct {
	Serve   string       `json:"serve"`
	Damaged []ktrdr.Hash `json:"damaged_blobs"`
}

type listedStrategy struct {
	Name     string `json:"name"`
	From     string `json:"from"`
	Valid    bool   `json:"valid"`
	Error    string `json:"error"`
	Strategy *struct {
		Hash string `json:"hash"`
	} `json:"strategy"`
}

type resultsPage struct {
	api.Results
	Verdict *research.Assessment `json:"verdict"`
	Next    string               `json:"next_cursor"`
}

type validated struct {
	File     string   `json:"file"`
	Valid    bool     `json:"valid"`
	Problems []placed `json:"problems"`
	Warnings []placed `json:"warnings"`
	Strategy *struct {
		Name     string   `json:"name"`
		Features []string `json:"features"`
		Weights  int      `json:"weights"`
	} `json:"strategy"`
}

type placed struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// csv is the text of a price file.
func csv(b *market.Bars) string {
	text := []byte("timestamp,open,high,low,close,volume\n")
	for i := range b.Len() {
		x := b.At(i)
		text = time.Unix(x.Time, 0).UTC().AppendFormat(text, time.RFC3339)
		for _, v := range [...]float64{x.Open, x.High, x.Low, x.Close, x.Volume} {
			text = strconv.AppendFloat(append(text, ','), v, 'g', -1, 64)
		}
		text = append(text, '\n')
	}
	return string(text)
}
