package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Table prints a list in columns, one row for each item. See Rows.
func Table[T any](w io.Writer, head string, list []T, cells func(T) []any) {
	Rows(w, head, func(row func(...any)) {
		for _, x := range list {
			row(cells(x)...)
		}
	})
}

// Rows prints rows in columns. On a terminal it fits the width: the widest
// columns are cut, the first one, which names the row, last. Cells must not be
// coloured: their colour would count as width.
func Rows(w io.Writer, head string, rows func(row func(cells ...any))) {
	all := [][]string{strings.Split(head, "\t")}
	rows(func(cells ...any) {
		all = append(all, text.Map(cells, func(c any) string { return Plain(fmt.Sprint(c)) }))
	})
	room := 0
	if IsTerminal(w) {
		room = Width(w)
	}
	_, _ = io.WriteString(w, strings.Join(LayOut(all, room), ""))
}

const (
	columnGap   = 2
	leastColumn = 10 // texts are not cut below this width

	// NoCutsBelow is the width of a terminal below which nothing is cut.
	NoCutsBelow = 30

	// FullIDsAbove is the width of a terminal from which ids are shown in full.
	FullIDsAbove = 140
)

// droppable are the columns that a narrow terminal leaves out, in this order.
// The first column of a table stays: it names the row.
var droppable = []string{
	"HASH", "SIZE", "LAST BAR", "CLAIMED AT", "SHARPE SINCE", "SINCE", "BARS SINCE", "HOLDOUT FROM",
	"SEED", "WORKER", "ATTEMPTS", "WHERE", "TESTED BY", "OVERRULED", "COMMISSION", "SLIPPAGE", "SPREAD", "HOLD", "COST", "LOOKS", "TRIALS",
	"AT", "RUN", "ALPHA", "FAILED", "CLAIMS", "CREATED", "TYPES", "FROM", "PROGRESS",
}

// lasting are the columns that stay as long as there is room for anything beside the
// name of the row, the most important first: whether prices are made up, or refused for research, must be seen.
var lasting = []string{"PRICES", "RESULT", "QUALITY", "RUNG"}

// LayOut writes rows as lines of at most room columns; 0 means no limit. The
// first row is the head.
func LayOut(all [][]string, room int) (lines []string) {
	widths := widthsOf(all)
	var dropped []string
	if room >= NoCutsBelow {
		room-- // what fills the last column wraps on some terminals
		for _, name := range droppable {
			if least(widths) <= room {
				break
			}
			if i := slices.Index(all[0], name); i > 0 {
				all, dropped = without(all, i), append(dropped, name)
				widths = widthsOf(all)
			}
		}
		for tightest(widths) > room && len(widths) > 1 {
			i := leastImportant(all[0])
			dropped, all = append(dropped, all[0][i]), without(all, i)
			widths = widthsOf(all)
		}
		shrink(widths, room)
		if days := inDays(all, widths); days != nil {
			all, widths = days, widthsOf(days)
			shrink(widths, room)
		}
	}
	for _, row := range all {
		var b strings.Builder
		for i, cell := range row {
			short := text.Fit(cell, max(widths[i], 1))
			b.WriteString(short)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-text.Width(short)+columnGap))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if room >= NoCutsBelow-1 {
			line = text.Fit(line, room)
		}
		lines = append(lines, line+"\n")
	}
	if len(dropped) > 0 {
		lines = append(lines, text.Fit("Not shown for lack of room: "+strings.Join(dropped, ", "), room)+"\n")
	}
	return lines
}

func widthsOf(all [][]string) (widths []int) {
	for _, row := range all {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], text.Width(cell))
		}
	}
	return widths
}

// inDays shortens all instants to their days if one of them is wider than its column; nil if
// none is. A date that is cut in the middle tells less.
func inDays(all [][]string, widths []int) [][]string {
	cut := false
	days := text.Map(all, func(row []string) []string {
		row = slices.Clone(row)
		for i, cell := range row {
			if at, err := time.Parse(minuteLayout, cell); err == nil {
				row[i], cut = at.Format(time.DateOnly), cut || widths[i] < len(cell)
			}
		}
		return row
	})
	if !cut {
		return nil
	}
	return days
}

// without leaves out a column.
func without(all [][]string, column int) [][]string {
	rest := make([][]string, len(all))
	for i, row := range all {
		rest[i] = row
		if column < len(row) {
			rest[i] = slices.Delete(slices.Clone(row), column, column+1)
		}
	}
	return rest
}

// least is how wide a table is whose texts are cut.
func least(widths []int) int {
	n := widths[0]
	for _, w := range widths[1:] {
		n += columnGap + min(w, leastColumn)
	}
	return n
}

// tightest is how wide a table is whose texts and names are cut.
func tightest(widths []int) int {
	return least(widths) - max(0, widths[0]-leastColumn)
}

// leastImportant is the last column that is not lasting; when only lasting ones are left,
// the least important of them.
func leastImportant(head []string) int {
	for i := len(head) - 1; i > 0; i-- {
		if !slices.Contains(lasting, head[i]) {
			return i
		}
	}
	for _, name := range slices.Backward(lasting) {
		if i := slices.Index(head, name); i > 0 {
			return i
		}
	}
	return len(head) - 1
}

// shrink cuts the widest columns until all fit; the first one, which names the
// row, last.
func shrink(widths []int, room int) {
	total := func() (n int) {
		for _, w := range widths {
			n += w + columnGap
		}
		return n - columnGap
	}
	for total() > room {
		widest := 0
		for i, w := range widths {
			if i > 0 && w > leastColumn && w > widths[widest] || widest == 0 && i > 0 && w > leastColumn {
				widest = i
			}
		}
		if widths[widest] <= leastColumn {
			return
		}
		widths[widest]--
	}
}
