package market

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip" // undoes it in half the time of the standard library's
)

// ReadCSV reads bars from text, plain or gzipped. Columns may be separated by
// comma, semicolon or tab, be quoted, and stand under a header in the usual
// names (timestamp, date, datetime, time, or date and time; open, high, low,
// close; volume, tick_volume, vol; MetaTrader's <DATE> <TIME> <OPEN>…) or
// without one as time, open, high, low, close, volume, where time may take two
// columns. A missing volume is 0. The error is an InvalidError where rows are
// wrong and opt.Mode is Refuse.
func ReadCSV(r io.Reader, opt ImportOptions) (*Bars, DataReport, error) {
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
	c.stamps.zone, c.placer = opt.Zone, placer{clock: localClock{zone: opt.Zone}, rows: &c.rows, rep: &c.rep}
	if err := c.read(); err != nil {
		return nil, c.rep, fmt.Errorf("%s: %w", rep.Source, err)
	}
	c.placer.flush(0, false)
	c.rows.join()
	return c.rows.settle(opt, c.rep)
}

// plain undoes gzip, which its first two bytes give away.
func plain(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	switch head, _ := b.Peek(2); string(head) {
	case "\x1f\x8b":
	case "\xff\xfe", "\xfe\xff":
		return nil, errors.New("the text is UTF-16: save it as UTF-8")
	default:
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return gzipped{z}, nil
}

// gzipped says of a file that ends too soon that it does: to a reader of lines it would be one that ends.
type gzipped struct{ *gzip.Reader }

func (z gzipped) Read(b []byte) (int, error) {
	n, err := z.Reader.Read(b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("gzip: the file was cut short: copy or download it again")
	}
	return n, err
}

type csvReader struct {
	lines  lineReader
	opt    ImportOptions
	rep    DataReport
	layout layout
	stamps stampReader
	placer placer
	rows   rows
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
		if c.layout.columns == nil {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
			if bytes.IndexByte(line, '\r') >= 0 {
				return fmt.Errorf("line %d has carriage returns in it: save the file with lines that end as on Unix or Windows", c.lines.line)
			}
			header := false
			if c.layout, header, err = layoutOf(line); err != nil {
				return fmt.Errorf("line %d: %w", c.lines.line, err)
			}
			if header {
				continue
			}
		}
		if c.rep.Rows == c.opt.MaxRows {
			return fmt.Errorf("line %d: there are more than %d rows; split the file and import its parts", c.lines.line, c.opt.MaxRows)
		}
		c.rep.Rows++
		c.row(line)
		if c.rows.bytes() > c.opt.MaxBytes {
			return fmt.Errorf("line %d: the rows need more than %d MiB of memory, which is the limit for one import; split the file and import "+
				"its parts", c.lines.line, c.opt.MaxBytes>>20)
		}
	}
	if c.layout.columns == nil {
		return errors.New("the file is empty")
	}
	return nil
}

func (c *csvReader) row(line []byte) {
	var b Bar
	var f fields
	local := false
	problem := c.layout.split(line, &b, &f)
	if problem == "" {
		s, why := c.stamps.read(f.time, f.clock)
		b.Time, local, problem = s.sec, s.local, why
		if why == "" && !c.sameZone(s) {
			return
		}
	}
	if problem != "" {
		c.rep.add(c.lines.line, Unreadable, "%s", problem)
		c.rep.Dropped++
		c.stamps.brief, c.layout.brief = c.rep.full(), c.rep.full()
		return
	}
	c.placer.add(c.lines.line, b, local)
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
	return bytes.TrimSuffix(line, []byte{'\r'})
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

// WriteCSV writes bars such that reading them gives the same bits.
func WriteCSV(w io.Writer, b *Bars) error {
	out := bufio.NewWriter(w)
	line := append(make([]byte, 0, 256), "timestamp,open,high,low,close,volume\n"...)
	for i := range b.Len() {
		if _, err := out.Write(line); err != nil {
			return err
		}
		x := b.At(i)
		line = time.Unix(x.Time, 0).UTC().AppendFormat(line[:0], time.RFC3339)
		for _, v := range [...]float64{x.Open, x.High, x.Low, x.Close, x.Volume} {
			line = append(line, ',')
			line = strconv.AppendFloat(line, v, 'g', -1, 64)
		}
		line = append(line, '\n')
	}
	if _, err := out.Write(line); err != nil {
		return err
	}
	return out.Flush()
}
