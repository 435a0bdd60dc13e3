package market

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// ReadCSV reads bars from text: plain, gzip or Zstandard, UTF-8 or UTF-16. Separator,
// header, columns, decimal mark and the order of dates are recognised from the text;
// the report says what was recognised. A table without a header has the columns time,
// open, high, low, close, volume, where time may take two columns. A missing volume
// is not known, which is not 0. The error is an InvalidError where rows are wrong and opt.Mode is Refuse.
func ReadCSV(r io.Reader, opt ImportOptions) (*Bars, DataReport, error) {
	zone := opt.Zone
	opt, err := opt.withDefaults()
	rep := DataReport{Source: opt.Source}
	if err != nil {
		return nil, rep, fmt.Errorf("%s: %w", rep.Source, err)
	}
	text, err := plain(r)
	if err != nil {
		return nil, rep, fmt.Errorf("%s: %w", rep.Source, err)
	}
	c := csvReader{lines: lineReader{r: text, buf: make([]byte, 2*maxLine)}, opt: opt, rep: rep}
	if err = c.recognise(text, zone); err == nil {
		err = c.read()
	}
	if err != nil {
		return nil, c.rep, fmt.Errorf("%s: %w", rep.Source, err)
	}
	if err := c.placer.end(); err != nil {
		return nil, c.rep, fmt.Errorf("%s: %w", rep.Source, err)
	}
	c.conclude()
	return c.rows.settle(c.opt, c.rep)
}

type csvReader struct {
	lines   lineReader
	opt     ImportOptions
	rep     DataReport
	table   table
	stamps  stampReader
	placer  placer
	rows    rows
	either  []eitherRow // rows whose date has two meanings, until one decides
	symbol  []byte      // of the first row that names one
	changed int         // rows whose prices were adjusted
	quote   quote
}

// recognise looks at the head of the text. zone is the one that the user gave, or nil.
func (c *csvReader) recognise(text *bufio.Reader, zone *time.Location) error {
	head, err := text.Peek(headBytes)
	all := errors.Is(err, io.EOF)
	if n := bytes.LastIndexByte(head, '\n'); n >= 0 && !all {
		head = head[:n+1]
	}
	if len(bytes.TrimSpace(head)) > 0 && (all || bytes.IndexByte(head, '\n') >= 0) {
		if c.table, err = recognise(head, c.opt); err != nil {
			return err
		}
		if c.opt.Adjusted && !slices.Contains(c.table.columns, adjustedRole) {
			return fmt.Errorf("line %d: the file has no column of adjusted closes, such as \"Adj Close\": import it without --adjusted",
				max(c.table.skip, 1))
		}
	}
	if slices.Contains(c.table.columns, spreadRole) || slices.Contains(c.table.columns, askRole) {
		c.rows.Spread = []float64{}
	}
	if c.opt.Mode == Refuse && c.opt.Divide == 0 && !c.table.zeros {
		c.rows.spill = c.opt.spill // no row is changed later
	}
	known := c.opt.Zone
	if zone == nil && c.table.zone != "" {
		if known, err = formatZone(c.table.zone); err != nil {
			return err
		}
	}
	c.opt.Zone = known
	c.stamps = stampReader{zone: known, order: c.opt.Dates, anyUnit: c.table.binary}
	c.placer = placer{clock: localClock{zone: known}, rows: &c.rows, rep: &c.rep}
	if len(c.table.columns) > 0 { // an empty file has none
		c.rep.Recognised = c.table.recognition(zone, known, &c.opt)
	}
	if c.table.kind != barRows {
		c.stamps.parts = true
		c.opt.Timeframe = cmp.Or(c.opt.Timeframe, tickTimeframe)
		c.placer.ticks = newTicks(c.table.kind, c.opt.Timeframe, &c.rows, &c.rep)
		c.opt.MaxRows = math.MaxInt32 // the bars are limited by their memory
	}
	return nil
}

// formatZone is the zone of a format. EST has no daylight saving time.
func formatZone(name string) (*time.Location, error) {
	if name == "EST" {
		return time.FixedZone("EST", -5*3600), nil
	}
	return time.LoadLocation(name)
}

func (c *csvReader) read() error {
	blank := 0
	for {
		line, err := c.lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(line) == 0 || line[0] <= ' ' && len(bytes.TrimSpace(line)) == 0 {
			if blank++; blank > maxBlank {
				return fmt.Errorf("line %d: there are more than %d empty lines: this is no price file", c.lines.line, maxBlank)
			}
			continue
		}
		if c.lines.line <= c.table.skip {
			continue
		}
		if c.table.columns == nil {
			return fmt.Errorf("line %d: there is no price in the first %d bytes: this is no price file", c.lines.line, headBytes)
		}
		if c.rep.Rows == c.opt.MaxRows {
			return fmt.Errorf("line %d: there are more than %d rows; split the file and import its parts", c.lines.line, c.opt.MaxRows)
		}
		c.rep.Rows++
		if err := c.row(line); err != nil {
			return err
		}
		if c.rows.bytes()+eitherBytes*int64(len(c.either)) > c.opt.MaxBytes {
			return fmt.Errorf("line %d: the rows need more than %d MiB of memory, which is the limit for one import; split the file and import "+
				"its parts", c.lines.line, c.opt.MaxBytes>>20)
		}
	}
	if c.table.columns == nil {
		return errors.New("the file is empty")
	}
	return c.decide()
}

func (c *csvReader) row(line []byte) error {
	var b Bar
	var f fields
	var s stamp
	problem := c.table.split(line, &b, &f)
	if problem == "" {
		if s, problem = c.stamps.read(f.time, f.clock); problem == "" && !c.sameZone(s) {
			return nil
		}
		b.Time = s.sec
	}
	if problem != "" {
		c.rep.add(c.lines.line, Unreadable, "%s", problem)
		c.rep.Dropped++
		c.stamps.brief, c.table.brief = c.rep.full(), c.rep.full()
		return nil
	}
	if f.symbol != nil {
		if err := c.oneSymbol(f.symbol); err != nil {
			return err
		}
	}
	switch {
	case c.table.kind == quoteRows:
		var told bool
		if b.Close, b.Spread, told = c.quote.next(f.bid, f.ask); !told {
			return nil
		}
	case c.table.point > 0:
		b.Spread /= c.table.point
	case f.ask == f.ask && c.rows.Spread != nil:
		b.Spread = askLessBid(&b, &f)
	}
	if c.opt.Adjusted {
		c.adjust(&b, f.adjusted)
	}
	c.place(b, s)
	return nil
}

// oneSymbol refuses a file with rows of several symbols.
func (c *csvReader) oneSymbol(symbol []byte) error {
	if c.symbol == nil {
		c.symbol = bytes.Clone(symbol)
		if c.rep.Recognised.Symbol == "" {
			c.rep.Recognised.Symbol = string(symbol)
		}
	}
	if !bytes.Equal(c.symbol, symbol) {
		return fmt.Errorf("line %d: the file has rows of %s and of %s: write a file for each symbol", c.lines.line, clip(c.symbol), clip(symbol))
	}
	return nil
}

// adjust scales the prices of a row to its adjusted close.
func (c *csvReader) adjust(b *Bar, adjusted float64) {
	if adjusted == b.Close || b.Close <= 0 || adjusted <= 0 {
		return
	}
	by := adjusted / b.Close
	b.Open, b.High, b.Low, b.Close = b.Open*by, b.High*by, b.Low*by, adjusted
	b.High, b.Low, b.Spread = max(b.High, b.Open, b.Close), min(b.Low, b.Open, b.Close), b.Spread*by
	c.changed++
}

// sameZone compares the zone of a time with that of the first one, and tells
// whether the row can be placed. Times with several offsets are instants all
// the same, and stay when the rest is normalised; a time without a zone among
// others that have one could mean anything.
func (c *csvReader) sameZone(s stamp) bool {
	first := &c.stamps.first
	if !c.stamps.any {
		c.stamps.any = true
		*first = s
	}
	if s.zoned == first.zoned && s.offset == first.offset {
		return true
	}
	if off := s.offset - first.offset; s.zoned && first.zoned && (off == 3600 || off == -3600) {
		return true // daylight saving time
	}
	c.rep.add(c.lines.line, MixedZone, "this time has %s, the first row has %s", s.zoneName(), first.zoneName())
	if s.zoned != first.zoned {
		c.rep.Dropped++
		return false
	}
	return true
}

const (
	maxLine  = 64 << 10  // bytes of the longest line a price file may have
	maxBlank = 1_000_000 // empty lines: a few bytes of gzip can hold billions
)

// lineReader splits text into lines within a buffer of fixed size.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int
	line       int // number of the line that next gave last
	err        error
}

// next gives the next line without its end, valid until the following call.
func (l *lineReader) next() ([]byte, error) {
	for scanned := 0; ; {
		if i := bytes.IndexByte(l.buf[l.start+scanned:l.end], '\n'); i >= 0 {
			return l.take(scanned+i, 1), nil
		}
		scanned = l.end - l.start
		if l.err != nil {
			return l.rest()
		}
		if scanned >= maxLine {
			return nil, fmt.Errorf("line %d is longer than %d bytes: this is no price file", l.line+1, maxLine)
		}
		l.fill()
	}
}

// rest gives the last line, if it has no end, and then why there are no more.
func (l *lineReader) rest() ([]byte, error) {
	if n := l.end - l.start; n > 0 && errors.Is(l.err, io.EOF) {
		return l.take(n, 0), nil
	}
	return nil, l.err
}

// take gives the next n bytes as a line and skips the end behind it.
func (l *lineReader) take(n, end int) []byte {
	line := l.buf[l.start : l.start+n]
	l.start += n + end
	l.line++
	if n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

func (l *lineReader) fill() {
	copy(l.buf, l.buf[l.start:l.end])
	l.end -= l.start
	l.start = 0
	for tries := 0; ; tries++ {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err == nil && n == 0 && tries < 100 {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrNoProgress
		}
		l.err = err
		return
	}
}

// WriteCSV writes bars such that reading them gives the same bits. What is not known is empty.
func WriteCSV(w io.Writer, b *Bars) error {
	out := bufio.NewWriter(w)
	line := append(make([]byte, 0, 256), "timestamp,open,high,low,close,volume"...)
	if b.Spread != nil {
		line = append(line, ",spread"...)
	}
	line = append(line, '\n')
	columns := b.columns()
	for i := range b.Len() {
		if _, err := out.Write(line); err != nil {
			return err
		}
		line = time.Unix(b.Time[i], 0).UTC().AppendFormat(line[:0], time.RFC3339)
		for _, column := range columns {
			line = append(line, ',')
			if v := (*column)[i]; v == v {
				line = strconv.AppendFloat(line, v, 'g', -1, 64)
			}
		}
		line = append(line, '\n')
	}
	if _, err := out.Write(line); err != nil {
		return err
	}
	return out.Flush()
}
