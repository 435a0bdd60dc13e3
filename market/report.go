package market

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Rule names what can be wrong with a row.
type Rule string

// The rules.
const (
	Unreadable     Rule = "unreadable"        // a field that is no number or no time, or missing
	NaN            Rule = "nan"               // a number that is not one
	Infinite       Rule = "inf"               // a number without end
	NonPositive    Rule = "non-positive"      // a price of 0 or less
	Extreme        Rule = "extreme"           // a price or volume beyond 1e30, or a price below 1e-30
	Negative       Rule = "negative-volume"   // a volume below 0
	NegativeSpread Rule = "negative-spread"   // an ask below the bid
	Inconsistent   Rule = "ohlc-inconsistent" // open or close outside low to high
	Duplicate      Rule = "duplicate"         // a time that came before
	OutOfOrder     Rule = "out-of-order"      // a time before the one above it
	MixedZone      Rule = "mixed-zone"        // a time zone unlike that of the first row
	Misaligned     Rule = "misaligned"        // a time between the openings of the timeframe

	AmbiguousTime Rule = "ambiguous-time" // a time of a repeated hour, where clocks are set back, that the order of the rows does not decide
	NoSuchTime    Rule = "no-such-time"   // a time that clocks of the zone skip

	Missing Rule = "gap" // bars missing inside the trading week
)

// Finding is one thing wrong at one place.
type Finding struct {
	Source string `json:"source"` // file
	Line   int    `json:"line"`   // line of a text file, row of any other, from 1
	Rule   Rule   `json:"rule"`
	Value  string `json:"value"` // what was found there
}

// String is the finding as compilers print theirs.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.Source, f.Line, f.Rule, f.Value)
}

// Gap is a hole inside the trading week.
type Gap struct {
	After  int64 `json:"after"`  // opening of the last bar before it, Unix seconds
	Before int64 `json:"before"` // opening of the first bar after it
	Bars   int   `json:"bars"`   // bars missing within the hours at which this market trades
}

// DataReport tells what was found in a file and what was done about it.
type DataReport struct {
	Source    string    `json:"source"`
	Rows      int       `json:"rows"` // rows of data that were read
	Bars      int       `json:"bars"` // bars that they gave
	Timeframe Timeframe `json:"timeframe"`

	Recognised *Recognition `json:"recognised,omitempty"` // of the file; nil where nothing was read

	Counts   map[Rule]int `json:"counts,omitempty"`   // findings by rule
	Findings []Finding    `json:"findings,omitempty"` // the first of them, by line

	Sorted  bool `json:"sorted"`  // rows were brought into order
	Dropped int  `json:"dropped"` // rows left out
	Widened int  `json:"widened"` // rows whose high or low was moved to hold open and close
	Cleared int  `json:"cleared"` // rows whose negative volume became 0

	Holes  []Gap `json:"holes,omitempty"` // the first gaps inside the trading week; Counts has them all
	Closed int   `json:"closed"`          // gaps while the market is closed: weekends, nightly breaks
}

// KeptFindings is how many findings a report has, and how many gaps. All are counted.
const KeptFindings = 100

const printedFindings = 20 // in an error

func (r *DataReport) add(line int, rule Rule, format string, args ...any) {
	if r.Counts == nil {
		r.Counts = map[Rule]int{}
	}
	r.Counts[rule]++ // all are counted, the first are kept
	if !r.full() {
		r.Findings = append(r.Findings, Finding{r.Source, line, rule, fmt.Sprintf(format, args...)})
	}
}

func (r *DataReport) full() bool { return len(r.Findings) >= KeptFindings }

// Wrong is the number of findings that make a file refused: all but gaps, which every market has.
func (r *DataReport) Wrong() int {
	n := 0
	for rule, c := range r.Counts {
		if rule != Missing {
			n += c
		}
	}
	return n
}

// Unreadable says that no row of the file could be read.
func (r *DataReport) Unreadable() bool { return r.Rows > 0 && r.Counts[Unreadable] >= r.Rows }

func (r *DataReport) order() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return a.Line - b.Line })
}

// InvalidError refuses a file for what is wrong in it.
type InvalidError struct{ Report DataReport }

// Error lists the first findings and says how many there are.
func (e *InvalidError) Error() string {
	var b strings.Builder
	n := e.Report.Wrong()
	fmt.Fprintf(&b, "%s has %s in %s; correct it, or import it with normalising", e.Report.Source, text.Counted(n, "finding"),
		text.Counted(e.Report.Rows, "row"))
	shown := 0
	for _, f := range e.Report.Findings {
		if f.Rule == Missing {
			continue
		}
		if shown == printedFindings {
			break
		}
		shown++
		b.WriteString("\n  " + f.String())
	}
	if n > shown {
		fmt.Fprintf(&b, "\n  and %s more", text.Grouped(n-shown))
	}
	return b.String()
}

// moment is an instant in messages. It is written out only where it is shown.
type moment int64

func (m moment) String() string { return clock(int64(m)) }

func clock(t int64) string { return time.Unix(t, 0).UTC().Format("2006-01-02 15:04:05") }
