package market

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/ktrdr/ktrdr/internal/text"
)

// parquetMagic begins and ends every Parquet file.
const parquetMagic = "PAR1"

// ReadParquet reads bars from a Parquet file, column by column. Columns are
// found by the names that ReadCSV knows; prices are numbers of any type, decimals
// included. Times are timestamps, dates, texts with the year first, or whole
// numbers that count seconds or the thousandths, millionths or billionths their
// size suggests. The error is an InvalidError where rows are wrong and opt.Mode is Refuse.
func ReadParquet(r io.ReaderAt, size int64, opt ImportOptions) (*Bars, DataReport, error) {
	given := opt.Zone
	opt, err := opt.withDefaults()
	rep := DataReport{Source: opt.Source}
	if err == nil {
		p := parquetReader{opt: opt, given: given, rep: &rep}
		if err = p.read(r, size); err == nil {
			return p.rows.settle(p.opt, rep)
		}
	}
	return nil, rep, fmt.Errorf("%s: %w", rep.Source, err)
}

type parquetReader struct {
	opt     ImportOptions
	given   *time.Location // zone that the user gave, or nil
	rep     *DataReport
	rows    rows
	columns map[role]*parquet.Column
	kind    kind
	times   timeColumn
	symbol  string // of the rows so far
	ask     []float64
}

func (p *parquetReader) read(r io.ReaderAt, size int64) (err error) {
	// The decoder panics on some damaged files; to the user they are all the same.
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("the Parquet file is damaged: %v", x)
		}
	}()
	g := guard{r: r, size: size, maxRows: p.opt.MaxRows}
	if err := g.footer(); err != nil {
		return err
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("the Parquet file is damaged: %w", err)
	}
	if err := p.find(f); err != nil {
		return err
	}
	if n := f.NumRows(); n < 0 || n > int64(p.opt.MaxRows) {
		return fmt.Errorf("there are more than %d rows; split the file and import its parts", p.opt.MaxRows)
	}
	if need := f.NumRows() * rowBytes; need > p.opt.MaxBytes {
		return fmt.Errorf("its %d rows need more than %d MiB of memory, which is the limit for one import; split the file and import its parts",
			f.NumRows(), p.opt.MaxBytes>>20)
	}
	p.rows.grow(int(min(f.NumRows(), size))) // no more than the file could hold, whatever it says
	for i, group := range f.RowGroups() {
		if err := p.group(g, &f.Metadata().RowGroups[i], group); err != nil {
			return fmt.Errorf("row group %d: %w", i, err)
		}
	}
	p.spreads()
	return p.place()
}

// spreads turns spreads in points into prices: whole numbers beside a tick volume, as
// MetaTrader's Python library writes them.
func (p *parquetReader) spreads() {
	of, volume := p.columns[spreadRole], p.columns[volumeRole]
	if of == nil || volume == nil || of.Type().Kind() > parquet.Int64 || !strings.HasPrefix(heading(volume.Name()), "tickvol") {
		return
	}
	digits := 0
	for _, v := range p.rows.Close[:min(len(p.rows.Close), sampleRows)] {
		if _, fraction, ok := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), "."); ok {
			digits = max(digits, len(fraction))
		}
	}
	point := tens[min(digits, len(tens)-1)]
	for i := range p.rows.Spread {
		p.rows.Spread[i] /= point
	}
}

func (p *parquetReader) group(g guard, meta *format.RowGroup, group parquet.RowGroup) error {
	chunks := group.ColumnChunks()
	into := [...]*[]float64{
		openRole: &p.rows.Open, highRole: &p.rows.High, lowRole: &p.rows.Low, closeRole: &p.rows.Close,
		volumeRole: &p.rows.Volume, spreadRole: &p.rows.Spread, bidRole: &p.rows.Close, askRole: &p.ask,
	}
	for r := timeRole; r <= symbolRole; r++ {
		column, ok := p.columns[r]
		if !ok {
			continue
		}
		i := column.Index()
		if i >= len(chunks) || i >= len(meta.Columns) {
			return fmt.Errorf("column %q is missing", column.Name())
		}
		err := g.column(&meta.Columns[i].MetaData, bytesOf(column.Type()))
		switch {
		case err != nil:
		case r == symbolRole:
			err = p.oneSymbol(chunks[i])
		case r == timeRole:
			p.rows.Time, err = appendChunk(p.rows.Time, chunks[i], p.opt.MaxRows, noTime, p.times.value)
		case int(r) < len(into):
			*into[r], err = appendChunk(*into[r], chunks[i], p.opt.MaxRows, math.NaN(), decimal(column.Type())) //nolint:gosec // r is in it
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", column.Name(), err)
		}
	}
	return p.level()
}

// level fills the columns that the file does not have, and tells whether all have one length.
func (p *parquetReader) level() error {
	n := len(p.rows.Time)
	if p.columns[volumeRole] == nil {
		p.rows.Volume = append(p.rows.Volume, slices.Repeat([]float64{math.NaN()}, max(0, n-len(p.rows.Volume)))...)
	}
	if p.columns[askRole] != nil {
		if len(p.ask) != len(p.rows.Close) {
			return fmt.Errorf("the Parquet file is damaged: %d bids and %d asks", len(p.rows.Close), len(p.ask))
		}
		p.rows.Spread = p.ask // until they are placed
	}
	if p.kind != barRows {
		p.rows.Open, p.rows.High, p.rows.Low = p.rows.Close, p.rows.Close, p.rows.Close
	}
	for r, column := range p.rows.columns() {
		if len(*column) != n {
			return fmt.Errorf("the Parquet file is damaged: %d times and %d values of %s", n, len(*column), roleNames[openRole+role(r)])
		}
	}
	return nil
}

// appendChunk appends the values of a column chunk, missing for those that are
// null, until there are more than limit.
func appendChunk[T int64 | float64](dst []T, chunk parquet.ColumnChunk, limit int, missing T, value func(parquet.Value) T) ([]T, error) {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
		dst, err = appendPage(dst, page, missing, value)
		parquet.Release(page)
		if err != nil {
			return dst, err
		}
		if len(dst) > limit {
			return dst, fmt.Errorf("there are more than %d rows", limit)
		}
	}
}

// appendPage appends the values of a page: as a slice where it is one in memory and value is
// nil, else one by one.
func appendPage[T int64 | float64](dst []T, page parquet.Page, missing T, value func(parquet.Value) T) ([]T, error) {
	if value == nil && page.Dictionary() == nil && page.NumNulls() == 0 {
		values := page.Data()
		switch page.Type().Kind() {
		case parquet.Double:
			return appendAll(dst, values.Double()), nil
		case parquet.Float:
			return appendAll(dst, values.Float()), nil
		case parquet.Int64:
			return appendAll(dst, values.Int64()), nil
		case parquet.Int32:
			return appendAll(dst, values.Int32()), nil
		}
	}
	values := page.Values()
	var buf [256]parquet.Value
	for {
		n, err := values.ReadValues(buf[:])
		for _, v := range buf[:n] {
			if value != nil && !v.IsNull() {
				dst = append(dst, value(v))
			} else {
				dst = append(dst, one(v, missing))
			}
		}
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
		if n == 0 {
			return dst, io.ErrNoProgress
		}
	}
}

func appendAll[T int64 | float64, V int32 | int64 | float32 | float64](dst []T, values []V) []T {
	dst = slices.Grow(dst, len(values))
	for _, v := range values {
		dst = append(dst, T(v))
	}
	return dst
}

func one[T int64 | float64](v parquet.Value, missing T) T {
	switch v.Kind() {
	case parquet.Double:
		return T(v.Double())
	case parquet.Float:
		return T(v.Float())
	case parquet.Int64:
		return T(v.Int64())
	case parquet.Int32:
		return T(v.Int32())
	}
	return missing // null
}

// place turns the times of the column into instants and drops rows without a valid time.
func (p *parquetReader) place() error {
	p.rep.Rows = len(p.rows.Time)
	unit, local := p.times.unit, p.times.local && p.opt.Zone != time.UTC
	in, w := p.rows, 0
	in.line = make([]int32, in.Len())
	placed := rows{} // of local times, or of ticks
	if in.Spread != nil {
		placed.Spread = []float64{}
	}
	out := placer{clock: localClock{zone: p.opt.Zone}, rows: &placed, rep: p.rep}
	if p.kind != barRows {
		out.ticks = newTicks(p.kind, p.opt.Timeframe, &placed, p.rep)
	}
	var q quote
	for i, t := range in.Time {
		line := i + 1
		if unit == 0 && t > badTime {
			unit = unitOf(max(t, -t))
		}
		sec := t
		if unit < 0 {
			sec = t * -unit
		} else if t > badTime {
			sec = t / unit
		}
		switch {
		case t <= badTime:
			p.rep.add(line, Unreadable, "%s", p.times.problem(t))
		case unit > 0 && t%unit != 0 && out.ticks == nil:
			p.rep.add(line, Unreadable, "time %d is no whole second", t)
		case !plausible(sec):
			p.rep.add(line, Unreadable, "time %d lies outside the years %d to %d", t, firstYear, lastYear)
		default:
			in.Time[i], in.line[i] = sec, int32(line)
			if !local && out.ticks == nil {
				if p.ask != nil {
					in.Spread[i] = withoutNoise(in.Spread[i]-in.Close[i], in.Close[i])
				}
				in.put(w, i)
				w++
				continue
			}
			b, told := in.At(i), true
			switch {
			case p.kind == quoteRows:
				b.Close, b.Spread, told = q.next(b.Close, b.Spread)
			case p.ask != nil:
				b.Spread = withoutNoise(b.Spread-b.Close, b.Close)
			}
			if told {
				out.add(line, b, local)
			}
			continue
		}
		p.rep.Dropped++
	}
	if local || out.ticks != nil {
		if err := out.end(); err != nil {
			return err
		}
		p.rows = placed
	} else {
		in.cut(w)
		p.rows = in
	}
	if q.skipped > 0 {
		p.rep.Recognised.note("left out " + text.Counted(q.skipped, "row") + " before a bid and an ask were told")
	}
	return nil
}
