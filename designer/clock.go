package designer

import (
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr/market"
)

// clock is what a reading of the calendar needs beside the others: it has no
// window, and its values are few and known beforehand.
//
//	Each  one fuzzy set for every value      24 hours, 7 days
//	Raw   the outputs of around, as they are     sine and cosine, or 0 and 1
type clock struct {
	around []string                        // outputs that are read together as raw inputs
	values func(market.Timeframe) []member // of Each; nil: it is always Raw
}

// Each is the partition of a reading that has few values: a fuzzy set for every one.
const Each Partition = "each"

// partition is the one that a design may have for a wished one.
func (r reading) partition(wished Partition) Partition {
	switch {
	case r.clock == nil && wished == Each:
		return Raw
	case r.clock == nil || wished == Raw:
		return wished
	case r.clock.values == nil:
		return Raw
	}
	return Each
}

// hours are fuzzy sets for the hours at which bars open: one for each, or for every
// bar of a day where bars are longer.
func hours(tf market.Timeframe) []member {
	step := max(1, float64(tf.End(0))/3600)
	var list []member
	for at := 0.0; at < 24; at += step {
		list = append(list, member{name: fmt.Sprintf("h%02.0f", at), shape: "triangular", at: at, slope: step})
	}
	return list
}

// days are fuzzy sets for the days of the week.
func days(market.Timeframe) []member {
	var list []member
	for i, name := range []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		list = append(list, member{name: name, shape: "triangular", at: float64(i), slope: 1})
	}
	return list
}

// parameters are those of a membership, as a strategy writes them.
func (m member) parameters() string {
	if m.shape == "triangular" {
		return fmt.Sprintf("%s, %s, %s", number(m.at-m.slope), number(m.at), number(m.at+m.slope))
	}
	return number(m.at) + ", " + number(m.slope)
}

// title is what a reading is called in a sentence.
func (r reading) title() string { return strings.ReplaceAll(r.name, "_", " ") }
