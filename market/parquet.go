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
)

// parquetMagic begins and ends every Parquet file.
const parquetMagic = "PAR1"

// ReadParquet reads bars from a Parquet file, column by column. Columns are
// found by the names that ReadCSV knows; prices are of any number type, times
// are timestamps, dates, or whole numbers that count seconds or the
// thousandths, millionths or billionths their size suggests. The error is an
// InvalidError where rows are wrong and opt.Mode is Refuse.
func ReadParquet(r io.ReaderAt, size int64, opt ImportOptions) (*Bars, DataReport, error) {
	opt, err := opt.withDefaults()
	rep := DataReport{Source: opt.Source}
	if err == nil {
		p := parquetReader{opt: opt, rep: &rep}
		if err = p.read(r, size); err == nil {
			return p.rows.settle(opt, rep)
		}
	}
	return nil, rep, fmt.Errorf("%s: %w", rep.Source, err)
}

type parquetReader struct {
	opt  ImportOptions
	rep  *DataReport
	rows rows
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
	columns, err := parquetColumns(f)
	if err != nil {
		return err
	}
	if n := f.NumRows(); n < 0 || n > int64(p.opt.MaxRows) {
		return fmt.Errorf("there are more than %d rows; split the file and import its parts", p.opt.MaxRows)
	}
	if need := f.NumRows() * rowBytes; need > p.opt.MaxBytes {
		return fmt.Errorf("its %d rows need more than %d MiB of memory, which is the limit for one import; split the file and import its parts",
			f.NumRows(), p.opt.MaxBytes>>20)
	}
	if columns[spreadRole] != nil {
		p.rows.Spread = []float64{}
	}
	p.rows.grow(int(min(f.NumRows(), size))) // no more than the file could hold, whatever it says
	for i, group := range f.RowGroups() {
		if err := p.group(g, &f.Metadata().RowGroups[i], group, columns); err != nil {
			return fmt.Errorf("row group %d: %w", i, err)
		}
	}
	p.spreads(columns)
	p.place(columns[timeRole])
	return nil
}

// spreads turns spreads in points into prices: whole numbers beside a tick volume, as
// MetaTrader's Python library writes them.
func (p *parquetReader) spreads(columns map[role]*parquet.Column) {
	of, volume := columns[spreadRole], columns[volumeRole]
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

func parquetColumns(f *parquet.File) (map[role]*parquet.Column, error) {
	var names []string
	var leaves []*parquet.Column
	for _, c := range f.Root().Columns() {
		if c.Leaf() && !c.Repeated() {
			names, leaves = append(names, c.Name()), append(leaves, c)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the file has no columns")
	}
	roles, err := rolesOf(names)
	if err != nil {
		return nil, err
	}
	columns := map[role]*parquet.Column{}
	for i, r := range roles {
		if r == ignored || r > spreadRole {
			continue
		}
		if r == clockRole {
			return nil, errors.New("date and time stand in two columns, which only text files may do; join them")
		}
		if !usable(leaves[i].Type(), r) {
			return nil, fmt.Errorf("column %q is of type %s, which is not one for %s; write times as timestamps and prices as doubles", names[i],
				leaves[i].Type(), roleNames[r])
		}
		columns[r] = leaves[i]
	}
	return columns, nil
}

// usable tells whether a column of a type can hold a role: whole numbers any,
// fractions all but a time. Whole numbers that stand for something else, such as
// decimals, would be misread.
func usable(t parquet.Type, r role) bool {
	var meaning any
	if l := t.LogicalType(); l != nil {
		meaning = l.Value
	}
	switch t.Kind() {
	case parquet.Double, parquet.Float:
		return r != timeRole
	case parquet.Int32, parquet.Int64:
		switch meaning.(type) {
		case nil, *format.IntType:
			return true
		case *format.TimestampType, *format.DateType:
			return r == timeRole
		}
	}
	return false
}

// noTime stands for a time that is missing.
const noTime = math.MinInt64

func (p *parquetReader) group(g guard, meta *format.RowGroup, group parquet.RowGroup, columns map[role]*parquet.Column) error {
	chunks := group.ColumnChunks()
	into := [...]*[]float64{
		openRole: &p.rows.Open, highRole: &p.rows.High, lowRole: &p.rows.Low,
		closeRole: &p.rows.Close, volumeRole: &p.rows.Volume, spreadRole: &p.rows.Spread,
	}
	for r := timeRole; r <= spreadRole; r++ {
		column, ok := columns[r]
		if !ok {
			continue
		}
		i := column.Index()
		if i >= len(chunks) || i >= len(meta.Columns) {
			return fmt.Errorf("column %q is missing", column.Name())
		}
		err := g.column(&meta.Columns[i].MetaData)
		switch {
		case err != nil:
		case r == timeRole:
			p.rows.Time, err = appendChunk(p.rows.Time, chunks[i], p.opt.MaxRows, noTime)
		default:
			*into[r], err = appendChunk(*into[r], chunks[i], p.opt.MaxRows, math.NaN())
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", column.Name(), err)
		}
	}
	if columns[volumeRole] == nil {
		p.rows.Volume = append(p.rows.Volume, slices.Repeat([]float64{math.NaN()}, len(p.rows.Time)-len(p.rows.Volume))...)
	}
	for r, column := range p.rows.columns() {
		if len(*column) != len(p.rows.Time) {
			return fmt.Errorf("the Parquet file is damaged: %d times and %d values of %s", len(p.rows.Time), len(*column),
				roleNames[openRole+role(r)])
		}
	}
	return nil
}

// appendChunk appends the values of a column chunk, missing for those that are
// null, until there are more than limit.
func appendChunk[T int64 | float64](dst []T, chunk parquet.ColumnChunk, limit int, missing T) ([]T, error) {
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
		dst, err = appendPage(dst, page, missing)
		parquet.Release(page)
		if err != nil {
			return dst, err
		}
		if len(dst) > limit {
			return dst, fmt.Errorf("there are more than %d rows", limit)
		}
	}
}

// appendPage appends the values of a page: as a slice where it is one in memory, else one by one.
func appendPage[T int64 | float64](dst []T, page parquet.Page, missing T) ([]T, error) {
	if page.Dictionary() == nil && page.NumNulls() == 0 {
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
			dst = append(dst, one(v, missing))
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

// timeUnit is the unit of the times of a column: ticks per second, or, as a
// negative number, seconds per tick; 0 where the column does not say. A
// local time is one of no zone.
func timeUnit(column *parquet.Column) (unit int64, local bool) {
	logical := column.Type().LogicalType()
	if logical == nil {
		return 0, true
	}
	switch t := logical.Value.(type) {
	case *format.TimestampType:
		return int64(time.Second / t.Unit.Value.Duration()), !t.IsAdjustedToUTC
	case *format.DateType:
		return -day, true
	}
	return 0, true
}

// place turns the times of the column into instants and drops rows without a valid time.
func (p *parquetReader) place(column *parquet.Column) {
	unit, local := timeUnit(column)
	p.rep.Rows = len(p.rows.Time)
	local = local && p.opt.Zone != time.UTC
	in, w := p.rows, 0
	in.line = make([]int32, in.Len())
	var placed rows // of local times
	out := placer{clock: localClock{zone: p.opt.Zone}, rows: &placed, rep: p.rep}
	for i, t := range in.Time {
		line := i + 1
		if unit == 0 && t != noTime {
			unit = unitOf(max(t, -t))
		}
		sec := t
		if unit < 0 {
			sec = t * -unit
		} else if t != noTime {
			sec = t / unit
		}
		switch {
		case t == noTime:
			p.rep.add(line, Unreadable, "the time is missing")
		case unit > 0 && t%unit != 0:
			p.rep.add(line, Unreadable, "time %d is no whole second", t)
		case !plausible(sec):
			p.rep.add(line, Unreadable, "time %d lies outside the years %d to %d", t, firstYear, lastYear)
		default:
			in.Time[i], in.line[i] = sec, int32(line)
			if local {
				out.add(line, in.At(i), true)
			} else {
				in.put(w, i)
				w++
			}
			continue
		}
		p.rep.Dropped++
	}
	in.cut(w)
	p.rows = in
	if local {
		out.flush(0, false)
		placed.join()
		p.rows = placed
	}
}
