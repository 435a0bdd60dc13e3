package quality

import (
	"fmt"
	"slices"
	"time"
)

// Severity says what a finding means for research.
type Severity string

// The severities.
const (
	Info    Severity = "info"    // worth knowing
	Warning Severity = "warning" // look at it; nothing is refused
	Severe  Severity = "severe"  // no research begins on the series until a person accepts it
)

// ContentRule names what can be wrong with the content of a series.
type ContentRule string

// The rules. Rules says what each of them means.
const (
	Spike          ContentRule = "spike"
	UnitJump       ContentRule = "unit-jump"
	ConstantRun    ContentRule = "constant-run"
	CloseOnly      ContentRule = "close-only"
	RepeatedDay    ContentRule = "repeated-day"
	ShiftedClock   ContentRule = "shifted-clock"
	SkippedHour    ContentRule = "skipped-hour"
	WeekendBars    ContentRule = "weekend-bars"
	AdjustedJoined ContentRule = "adjusted-joined"
	Precision      ContentRule = "precision"
	SplitMissed    ContentRule = "split-missed"
	SplitTwice     ContentRule = "split-twice"
	LevelJump      ContentRule = "level-jump"
	ClosedHours    ContentRule = "closed-hours"
	VolumeUnit     ContentRule = "volume-unit"
	OtherMarket    ContentRule = "other-market"
	Revised        ContentRule = "revised"
)

// RuleText is what the documentation says of a rule.
type RuleText struct {
	Rule    ContentRule
	Meaning string
	Do      string // what a user does about it
}

// Rules describes every rule, in the order in which findings are listed.
var Rules = []RuleText{
	{
		UnitJump, "prices jump to 10, 100, 1,000 … times or a 10th, 100th … of what they were",
		"import the file in parts, each with its own --divide, and join them with --append",
	},
	{
		SplitMissed, "prices fall at once to a half, a third … and stay there",
		"import prices that are adjusted for splits, or list the split in instruments.yaml",
	},
	{
		SplitTwice, "prices rise at once to 2, 3 … times and stay there",
		"import prices that are adjusted for splits once",
	},
	{
		AdjustedJoined, "adjusted prices are joined with unadjusted ones",
		"import the whole series from one source, adjusted or not",
	},
	{
		OtherMarket, "some bars are of another market or at another level",
		"take those bars out of the file, or import them under their own symbol",
	},
	{
		LevelJump, "prices jump at an opening and stay there",
		"compare the day with another source: a real gap, a dividend, a futures roll or a joint of two files",
	},
	{
		Spike, "a price leaves the others and comes back at once",
		"compare the bar with another source, and correct it or leave it out",
	},
	{
		ConstantRun, "the price stands still for longer than it does at these hours",
		"take the bars out: a feed that stood still shows no prices",
	},
	{
		CloseOnly, "bars have no range: only their closes were recorded",
		"use these bars for closes only, or import a source with highs and lows",
	},
	{
		RepeatedDay, "the bars of a day are those of another day",
		"import the day again from another source",
	},
	{
		ShiftedClock, "the week opens and closes an hour or more earlier or later than in other weeks",
		"import the file with the --zone in which it was written, or in parts",
	},
	{
		SkippedHour, "an hour is missing where clocks are set forward",
		"import the file with the --zone in which it was written",
	},
	{
		WeekendBars, "there are bars on weekends on which the market does not trade",
		"take them out of the file",
	},
	{
		ClosedHours, "there are bars outside the sessions or on holidays of the venue",
		"import the file with the --zone in which it was written, or correct the venue in instruments.yaml",
	},
	{
		VolumeUnit, "volumes jump to many times or a small part of what they were",
		"do not use volume across the jump, or import volumes in one unit",
	},
	{
		Precision, "prices have more or fewer decimals from a bar on",
		"compare both parts: they may be of two sources",
	},
	{
		Revised, "bars differ from those of the same time that the lab had before",
		"ask the source why it changed them; results on the earlier bars stay as they are",
	},
}

// ContentFinding is what one rule found in a series.
type ContentFinding struct {
	Rule     ContentRule `json:"rule"`
	Severity Severity    `json:"severity"`
	First    int64       `json:"first"` // opening of the first bar that it concerns, Unix seconds
	Last     int64       `json:"last"`  // opening of the last
	Count    int         `json:"count"` // how often it was found
	At       []int64     `json:"at"`    // where it was found: the first places, Unix seconds
	Text     string      `json:"text"`  // one sentence with figures, of the largest case
	Do       string      `json:"do"`    // what to do about it

	// Sealed says that its cases lie in the holdout, of which only their number is told.
	Sealed bool `json:"sealed,omitempty"`
}

// String is the finding for people, without what to do about it.
func (f ContentFinding) String() string {
	said := fmt.Sprintf("%s %s: %s", f.Severity, f.Rule, f.Text)
	if len(f.At) > 1 {
		said += fmt.Sprintf(" (the largest of %d)", f.Count)
	}
	return said
}

// Same tells whether another finding, perhaps of later bars, is of the same cases.
func (f ContentFinding) Same(g ContentFinding) bool {
	return f.Rule == g.Rule && f.Severity == g.Severity && f.First == g.First && f.Last == g.Last && f.Count == g.Count && f.Sealed == g.Sealed
}

// Seal hides where and how much of findings that reach into the holdout, which begins
// at from; a zero time hides nothing.
func Seal(found []ContentFinding, from time.Time) []ContentFinding {
	if found == nil || from.IsZero() {
		return found
	}
	n := notes{sealed: from.Unix()}
	for _, f := range found {
		if f.Sealed || f.Last < n.sealed {
			n.all = append(n.all, noted{ContentFinding: f})
			continue
		}
		n.add(f.Rule, f.Severity, f.First, f.Last, 0, "")
	}
	return n.findings()
}

// Join lists findings of several judgements, the worst first.
func Join(lists ...[]ContentFinding) []ContentFinding {
	var n notes
	for _, list := range lists {
		for _, f := range list {
			n.all = append(n.all, noted{ContentFinding: f})
		}
	}
	return n.findings()
}

// Worst is the highest severity among findings; "" where there are none.
func Worst(findings []ContentFinding) Severity {
	worst := Severity("")
	for _, f := range findings {
		if f.Severity.rank() > worst.rank() {
			worst = f.Severity
		}
	}
	return worst
}

func (s Severity) rank() int { return slices.Index([]Severity{Info, Warning, Severe}, s) }

// Known tells whether there is a rule of that name.
func Known(r ContentRule) bool { return describe(r).Rule != "" }

func describe(r ContentRule) RuleText {
	if i := slices.IndexFunc(Rules, func(d RuleText) bool { return d.Rule == r }); i >= 0 {
		return Rules[i]
	}
	return RuleText{}
}

// keptPlaces is how many places a finding names.
const keptPlaces = 20

// notes collects what a rule finds: one finding of a rule and severity, with
// the sentence of its largest case.
type notes struct {
	all    []noted
	sealed int64 // cases from this time on are counted and not told; 0: all are told
}

type noted struct {
	ContentFinding
	size float64
}

// add notes one case; size says how bad it is beside others of its rule. The sentence is
// made only if it is kept.
func (n *notes) add(r ContentRule, s Severity, first, last int64, size float64, format string, args ...any) {
	sealed := n.sealed != 0 && last >= n.sealed
	if sealed {
		first, last, size = n.sealed, n.sealed, 0
	}
	for i := range n.all {
		if f := &n.all[i]; f.Rule == r && f.Severity == s && f.Sealed == sealed {
			f.Count++
			if len(f.At) < keptPlaces && !sealed {
				f.At = append(f.At, first)
			}
			f.First, f.Last = min(f.First, first), max(f.Last, last)
			if size > f.size {
				f.size, f.Text = size, fmt.Sprintf(format, args...)
			}
			return
		}
	}
	f := ContentFinding{Rule: r, Severity: s, First: first, Last: last, Count: 1, At: []int64{first}, Do: describe(r).Do}
	f.Sealed = sealed
	if sealed {
		f.At, f.Text = []int64{}, describe(r).Meaning+"; it is in the holdout, so where and how much is not shown"
	} else {
		f.Text = fmt.Sprintf(format, args...)
	}
	n.all = append(n.all, noted{f, size})
}

// count sets how many bars, days or weeks the one finding of a rule is about. Of the
// holdout no such number is told.
func (n *notes) count(r ContentRule, s Severity, k int) {
	for i := range n.all {
		if f := &n.all[i]; f.Rule == r && f.Severity == s && !f.Sealed {
			f.Count = k
		}
	}
}

// findings lists the worst first, then in the order of Rules.
func (n *notes) findings() []ContentFinding {
	out := make([]ContentFinding, len(n.all))
	for i, f := range n.all {
		out[i] = f.ContentFinding
	}
	place := func(r ContentRule) int { return slices.IndexFunc(Rules, func(d RuleText) bool { return d.Rule == r }) }
	slices.SortStableFunc(out, func(a, b ContentFinding) int {
		if a.Severity != b.Severity {
			return b.Severity.rank() - a.Severity.rank()
		}
		return place(a.Rule) - place(b.Rule)
	})
	return out
}
