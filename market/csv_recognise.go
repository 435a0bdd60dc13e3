package market

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// table is what the head of a text says about the rest.
//
//	sep=;                        ┐
//	# made by …                  │ skip
//	Date;Open;High;Low;Close     ┘
//	31/12/2020;1,10;1,12;…       the first row; a sample of rows decides how numbers are written
type table struct {
	layout
	skip   int    // lines before the first row
	format string // as Recognition.Format
	zone   string // the name of the zone that the format has, if it has one
	symbol string // that the head names
	names  []string
	zeros  bool // as of fileFormat
	binary bool // numbers of times have a unit each: see stampReader.anyUnit
}

const (
	mostPreamble = 20  // lines before a header
	sampleRows   = 400 // that are looked at to learn how numbers are written
)

// recognise finds the table in the head of a text.
func recognise(head []byte, opt ImportOptions) (table, error) {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	if err := noTable(head); err != nil {
		return table{}, err
	}
	lines := bytes.Split(head, []byte{'\n'})
	for i := range lines {
		lines[i] = bytes.TrimSuffix(lines[i], []byte{'\r'})
	}
	var t table
	var first error // what is wrong with the first line that could be a header
	var above []byte
	var aboveErr error // what is wrong with the line before
	forced, passed := byte(0), 0
	for i, line := range lines {
		if s, ok := bytes.CutPrefix(line, []byte("sep=")); ok && len(s) == 1 && i == 0 {
			forced, t.format = s[0], "spreadsheet export"
			continue
		}
		if len(bytes.TrimSpace(line)) == 0 || line[0] == '#' {
			continue
		}
		if bytes.IndexByte(line, '\r') >= 0 {
			return t, fmt.Errorf("line %d has carriage returns in it: save the file with lines that end as on Unix or Windows", i+1)
		}
		found, err := t.start(lines, i, forced)
		if found {
			if err := t.unread(line, above, aboveErr, opt.Mode); err != nil {
				return t, err
			}
			return t, t.learn(lines, opt)
		}
		above, aboveErr = line, fmt.Errorf("line %d: %w", i+1, err)
		if first == nil {
			first = aboveErr
		}
		if passed++; passed == mostPreamble {
			break
		}
	}
	return t, first
}

// unread refuses a table without a header if the line above its first row is a header of
// which not all is known, as Date,Close/Last,High,Low,Open,Volume: without it the columns would
// be taken for open, high, low, close. Such a line may also be a row with an error, which
// Normalise leaves out.
func (t *table) unread(row, above []byte, why error, mode Mode) error {
	if why == nil || t.names != nil || columnsOf(row) != nil {
		return nil
	}
	cells, titles := t.cells(above), true
	if len(cells) < 5 {
		return nil
	}
	for _, cell := range cells[:5] {
		cell = unquoted(cell)
		if len(cell) == 0 {
			return nil
		}
		titles = titles && (cell[0] < '0' || cell[0] > '9')
	}
	if !titles && (mode == Normalise || len(cells) != len(t.cells(row))) {
		return nil
	}
	return why
}

// otherKinds are how files begin that are not text.
var otherKinds = [][2]string{
	{"\xd0\xcf\x11\xe0", "an Excel workbook"},
	{"ARROW1", "an Arrow (Feather) file"},
	{"\x89HDF", "an HDF5 file"},
	{"SQLite format 3", "an SQLite database"},
}

// noTable refuses what is sent in place of prices when a download fails.
func noTable(head []byte) error {
	raw := head[:min(len(head), 512)]
	for _, kind := range otherKinds {
		if bytes.HasPrefix(raw, []byte(kind[0])) {
			return fmt.Errorf("line 1: this is %s, not a table of prices: save the prices as CSV or Parquet", kind[1])
		}
	}
	begin := bytes.ToLower(bytes.TrimSpace(raw))
	for _, s := range []string{"<!doctype", "<html", "<head", "<?xml", "<body"} {
		if bytes.HasPrefix(begin, []byte(s)) {
			return fmt.Errorf("line 1: this is a web page, not prices: the download probably failed; download the file again")
		}
	}
	if len(begin) > 0 && (begin[0] == '{' || begin[0] == '[') {
		return fmt.Errorf("line 1: this is JSON, not a table of prices: save the prices as CSV or Parquet")
	}
	return nil
}

// start tells whether the header, or the first row of a table without one, is line i.
func (t *table) start(lines [][]byte, i int, forced byte) (bool, error) {
	line := lines[i]
	t.sep = forced
	if forced == 0 {
		t.sep = separator(line)
	}
	cells := t.cells(line)
	names := make([]string, len(cells))
	header := false
	for k, cell := range cells {
		names[k] = readable(unquoted(cell))
		header = header || roleOf(names[k]).role != ignored
	}
	if !header {
		roles := columnsOf(line)
		if roles == nil {
			roles = bare(cells)
		}
		if roles != nil {
			t.columns, t.skip = roles, i
			return true, nil
		}
		return false, fmt.Errorf("%q is neither a header with open, high, low and close nor a row of time, open, high, low, close, volume; "+
			"add a header", clip(line))
	}
	below, second, ok := t.tickers(lines, i, names)
	if second != "" {
		return false, fmt.Errorf("the file has columns of %s and of %s: write a file for each symbol",
			clip([]byte(t.symbol)), clip([]byte(second)))
	}
	if ok {
		names[0], i = "Date", below
	}
	roles, err := rolesOf(names)
	if err != nil {
		return false, err
	}
	t.columns, t.skip, t.names = roles, i+1, names
	return true, nil
}

// readable is a name as text. Bytes that are not UTF-8 are of Windows-1252, as spreadsheets of
// western Europe write them; its letters have the numbers that they have in Unicode.
func readable(name []byte) string {
	if utf8.Valid(name) {
		return string(name)
	}
	letters := make([]rune, len(name))
	for i, c := range name {
		letters[i] = rune(c)
	}
	return string(letters)
}

// tickers reads the lines that yfinance puts below its header, and gives the last of them,
// and a second symbol if there is one:
//
//	Price,Close,High,Low,Open,Volume
//	Ticker,AAPL,AAPL,AAPL,AAPL,AAPL
//	Date,,,,,
func (t *table) tickers(lines [][]byte, i int, names []string) (last int, second string, ok bool) {
	if slices.ContainsFunc(names, func(n string) bool { return roleOf(n).role == timeRole }) {
		return 0, "", false
	}
	for k := i + 1; k < min(i+4, len(lines)); k++ {
		cells := t.cells(lines[k])
		switch first := heading(string(unquoted(cells[0]))); {
		case (first == "ticker" || first == "symbols" || first == "symbol") && len(cells) > 1:
			t.symbol = string(unquoted(cells[1]))
			for _, cell := range cells[2:] {
				if name := string(unquoted(cell)); name != "" && name != t.symbol && second == "" {
					second = name
				}
			}
		case headings[first].role == timeRole && len(bytes.Trim(lines[k], "\", ;\t"+string(unquoted(cells[0])))) == 0:
			t.format, t.zeros = "yfinance", true
			return k, second, true
		}
	}
	return 0, "", false
}

// bare is what the columns of a table without a header hold, by one row; nil if it is no row.
func bare(cells [][]byte) []role {
	prices := []role{openRole, highRole, lowRole, closeRole, volumeRole}
	s := stampReader{zone: time.UTC}
	cell := func(i int) []byte { return unquoted(cells[i]) }
	if len(cells) < 6 {
		return nil
	}
	clocked := len(cells) >= 6 && isClock(cell(1)) && (len(cells) == 7 || bytes.IndexByte(cell(1), ':') > 0)
	if clocked {
		if _, problem := s.read(cell(0), cell(1)); problem != "" {
			return nil
		}
		return append([]role{timeRole, clockRole}, prices[:min(len(cells)-2, 5)]...)
	}
	if _, problem := s.read(cell(0), nil); problem != "" || len(cells) > 7 && len(cells) != binanceColumns {
		return nil
	}
	return append([]role{timeRole}, prices...)
}

const binanceColumns = 12

// cells splits a line.
func (t *table) cells(line []byte) [][]byte {
	var cells [][]byte
	for more := true; more; {
		var cell []byte
		cell, line, more = t.cell(line)
		cells = append(cells, cell)
	}
	return cells
}

// separator is the mark between the cells of a line. Within quotes none counts.
func separator(line []byte) byte {
	best, most := byte(','), -1
	for _, c := range []byte{',', ';', '\t'} {
		n, quoted := 0, false
		for _, x := range line {
			switch {
			case x == '"':
				quoted = !quoted
			case x == c && !quoted:
				n++
			}
		}
		// A comma may be a decimal mark beside another separator.
		if n > most || c != ',' && best == ',' && n >= 4 {
			best, most = c, n
		}
	}
	return best
}

// learn looks at a sample of rows: how numbers are written, and who writes such files.
func (t *table) learn(lines [][]byte, opt ImportOptions) error {
	var numbers [][]byte
	var rows [][][]byte
	for _, line := range lines[min(t.skip, len(lines)):max(len(lines)-1, min(t.skip+1, len(lines)))] {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		cells := t.cells(line)
		for k, r := range t.columns {
			if k >= len(cells) {
				break
			}
			if r >= openRole && r <= adjustedRole && (!r.optional() || r >= bidRole) {
				numbers = append(numbers, unquoted(cells[k]))
			}
		}
		if rows = append(rows, cells); len(rows) == sampleRows {
			break
		}
	}
	var err error
	if t.numbers, err = styleOf(numbers, opt.Decimal); err != nil {
		return fmt.Errorf("line %d: %w", t.skip+1, err)
	}
	t.kind = kindOf(t.columns)
	t.name(rows, opt)
	if t.spreadsInPoints() {
		t.point = tens[min(decimals(numbers, t.numbers), len(tens)-1)]
	}
	return nil
}

// spreadsInPoints tells whether the column of spreads counts the last digit of the
// prices, as MetaTrader and its Python library write it.
func (t *table) spreadsInPoints() bool {
	return slices.Contains(t.columns, spreadRole) && slices.ContainsFunc(t.names, func(n string) bool {
		return strings.HasPrefix(heading(n), "tickvol")
	})
}

// decimals is the most digits behind the decimal mark of any of the numbers.
func decimals(cells [][]byte, style numberStyle) (most int) {
	for _, cell := range cells {
		if i := bytes.LastIndexByte(cell, style.decimal()); i >= 0 {
			most = max(most, len(cell)-i-1)
		}
	}
	return most
}

var kindNames = [...]string{barRows: "table", quoteRows: "table of quotes", tradeRows: "table of trades"}

// name finds out who writes such files. What is not known is a table with or without a header.
func (t *table) name(rows [][][]byte, opt ImportOptions) {
	known := t.format != ""
	if !known {
		t.format = kindNames[t.kind] + " without a header"
		if t.names != nil {
			t.format = kindNames[t.kind] + " with a header"
		}
	}
	if f := formatOf(t, rows, cmp.Or(opt.Inside, opt.Source)); f != nil {
		if !known {
			t.format = f.name
		}
		t.zone, t.zeros = f.zone, t.zeros || f.zeros
	}
	if len(t.columns) == 0 || len(rows) == 0 {
		return
	}
	if t.names == nil && len(t.columns) == 6 && t.kind == barRows && lowFirst(t, rows) {
		t.columns = []role{timeRole, lowRole, highRole, openRole, closeRole, volumeRole}
		t.format = "Coinbase candles"
	}
	t.binary = len(rows[0]) == binanceColumns || strings.HasPrefix(t.format, "Binance")
}

// lowFirst tells whether the rows stand as low, high, open, close: some row then
// breaks the usual order, and none breaks this one.
func lowFirst(t *table, rows [][][]byte) bool {
	breaks := 0
	for _, cells := range rows {
		var v [4]float64
		if len(cells) < 5 {
			return false
		}
		for i := range v {
			x, ok := t.numbers.parse(unquoted(cells[1+i]), false)
			if !ok {
				return false
			}
			v[i] = x
		}
		if low, high := v[0], v[1]; low > min(v[2], v[3]) || high < max(v[2], v[3]) {
			return false
		}
		if o, h, l, c := v[0], v[1], v[2], v[3]; h < max(o, c) || l > min(o, c) {
			breaks++
		}
	}
	return breaks > 0
}

// recognition tells what was recognised. given is the zone that the user gave, or nil; zone the one that is used.
func (t *table) recognition(given, zone *time.Location, opt *ImportOptions) *Recognition {
	r := &Recognition{Format: t.format, Symbol: t.symbol, Prices: "in units", Zone: "without a zone are UTC"}
	for k, role := range t.columns {
		if role == ignored || role == adjustedRole || role == symbolRole {
			continue
		}
		name := roleNames[role]
		if t.names != nil && heading(t.names[k]) != heading(name) {
			name += " (" + clip([]byte(t.names[k])) + ")"
		}
		r.Columns = append(r.Columns, name)
	}
	switch {
	case given != nil:
		r.Zone = "without a zone are " + zone.String()
	case t.zone == "EST":
		r.Zone = "are EST without daylight saving time"
	case t.zone != "":
		r.Zone = "are " + t.zone
	}
	if opt.Divide > 0 {
		r.Prices = fmt.Sprintf("divided by %v", opt.Divide)
	}
	if t.numbers.comma {
		r.note("decimal comma")
	}
	if t.point > 0 {
		r.note("spread in points of " + strconv.FormatFloat(1/t.point, 'f', -1, 64))
	}
	t.noteKind(r, opt)
	if slices.Contains(t.columns, adjustedRole) {
		if opt.Adjusted {
			r.note("prices are scaled to the adjusted close")
		} else {
			r.note("adjusted close is not used (--adjusted uses it)")
		}
	}
	return r
}

// noteKind says what rows are where they are no bars, and what the bars are made of.
func (t *table) noteKind(r *Recognition, opt *ImportOptions) {
	if t.kind == barRows {
		if slices.Contains(t.columns, askRole) {
			r.note("spread is ask less bid")
		}
		if !slices.Contains(t.columns, volumeRole) {
			r.note("no volume")
		}
		return
	}
	r.note(tickNote(t.kind, opt))
}

// tickNote says what bars are made of.
func tickNote(k kind, opt *ImportOptions) string {
	said := "made into " + string(cmp.Or(opt.Timeframe, tickTimeframe)) + " bars of "
	if k == quoteRows {
		said += "bids; the spread is the mean of ask less bid; volume counts the quotes"
	} else {
		said += "trades"
	}
	if opt.Timeframe == "" {
		said += "; --timeframe makes other bars"
	}
	return said
}
