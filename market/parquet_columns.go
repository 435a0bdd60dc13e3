package market

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// find finds the columns of a file by their names, and says what was recognised.
func (p *parquetReader) find(f *parquet.File) error {
	var names []string
	var leaves []*parquet.Column
	for _, c := range f.Root().Columns() {
		if c.Leaf() && !c.Repeated() {
			names, leaves = append(names, columnName(c.Name())), append(leaves, c)
		}
	}
	if len(names) == 0 {
		return errors.New("the file has no columns")
	}
	roles, err := rolesOf(names)
	if err != nil {
		return err
	}
	p.columns, p.kind = map[role]*parquet.Column{}, kindOf(roles)
	said := &Recognition{Format: writerOf(f), Prices: "in units"}
	for i, r := range roles {
		switch {
		case r == ignored, r == adjustedRole && !p.opt.Adjusted:
			continue
		case r == adjustedRole:
			return errors.New("--adjusted is for text files: write the adjusted prices as open, high, low and close")
		case r == clockRole:
			return errors.New("date and time stand in two columns, which only text files may do; join them")
		case !usable(leaves[i].Type(), r):
			return fmt.Errorf("column %q is of type %s, which is not one for %s; write times as timestamps and prices as doubles",
				leaves[i].Name(), leaves[i].Type(), roleNames[r])
		}
		p.columns[r] = leaves[i]
		if r == symbolRole {
			continue
		}
		name := roleNames[r]
		if heading(names[i]) != heading(name) {
			name += " (" + clip([]byte(names[i])) + ")"
		}
		said.Columns = append(said.Columns, name)
	}
	if p.columns[spreadRole] != nil || p.columns[askRole] != nil {
		p.rows.Spread = []float64{}
	}
	if p.kind != barRows {
		said.note(tickNote(p.kind, &p.opt))
		p.opt.Timeframe = cmp.Or(p.opt.Timeframe, tickTimeframe)
	} else if p.columns[volumeRole] == nil {
		said.note("no volume")
	}
	p.times = timesOf(p.columns[timeRole], p)
	said.Zone = "are UTC"
	switch {
	case !p.times.local:
	case p.given != nil:
		said.Zone = "without a zone are " + p.given.String()
	default:
		said.Zone = "without a zone are UTC"
	}
	if p.opt.Divide > 0 {
		said.Prices = fmt.Sprintf("divided by %v", p.opt.Divide)
	}
	p.rep.Recognised = said
	return nil
}

// columnName is the name of a column. pandas writes that of a column with several names as
// ('Close', 'AAPL').
func columnName(name string) string {
	if rest, ok := strings.CutPrefix(name, "('"); ok {
		if first, _, ok := strings.Cut(rest, "'"); ok {
			return first
		}
	}
	return name
}

// writerOf is the program that wrote a file.
func writerOf(f *parquet.File) string {
	by := f.Metadata().CreatedBy
	_, pandas := f.Lookup("pandas")
	switch {
	case pandas:
		return "Parquet by pandas"
	case strings.HasPrefix(by, "DuckDB"):
		return "Parquet by DuckDB"
	case strings.HasPrefix(by, "Polars"):
		return "Parquet by polars"
	}
	return "Parquet"
}

// usable tells whether a column of a type can hold a role: whole numbers any,
// fractions and decimals all but a time, texts a time or a symbol. Whole numbers
// that stand for something else would be misread.
func usable(t parquet.Type, r role) bool {
	var meaning any
	if l := t.LogicalType(); l != nil {
		meaning = l.Value
	}
	_, scaled := meaning.(*format.DecimalType)
	switch t.Kind() {
	case parquet.Double, parquet.Float:
		return r != timeRole && r != symbolRole
	case parquet.Int32, parquet.Int64:
		switch meaning.(type) {
		case nil, *format.IntType:
			return r != symbolRole
		case *format.TimestampType, *format.DateType:
			return r == timeRole
		}
		return scaled && r != timeRole && r != symbolRole
	case parquet.Int96:
		return r == timeRole
	case parquet.FixedLenByteArray:
		return scaled && t.Length() <= 16 && r != timeRole && r != symbolRole
	case parquet.ByteArray:
		return !scaled && (r == timeRole || r == symbolRole)
	}
	return false
}

// bytesOf is how long a value of a type may be in a file.
func bytesOf(t parquet.Type) int64 {
	if t.Kind() == parquet.ByteArray {
		return 64
	}
	return 16
}

// decimal reads the values of a column of decimals; nil for other columns.
func decimal(t parquet.Type) func(parquet.Value) float64 {
	l := t.LogicalType()
	if l == nil {
		return nil
	}
	d, ok := l.Value.(*format.DecimalType)
	if !ok {
		return nil
	}
	return func(v parquet.Value) float64 {
		var n int64
		switch v.Kind() {
		case parquet.Int32:
			n = int64(v.Int32())
		case parquet.Int64:
			n = v.Int64()
		default:
			return decimalBytes(v.ByteArray(), d.Scale)
		}
		return scaledBy(n, d.Scale)
	}
}

// decimalBytes reads a decimal of up to 16 bytes, the highest first.
func decimalBytes(b []byte, scale int32) float64 {
	if len(b) == 0 {
		return math.NaN()
	}
	n := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if n.IsInt64() {
		return scaledBy(n.Int64(), scale)
	}
	v, _ := new(big.Rat).SetFrac(n, power(scale)).Float64()
	return v
}

// scaledBy is n by a power of ten, rounded once.
func scaledBy(n int64, scale int32) float64 {
	if n >= -1<<53 && n <= 1<<53 && scale >= 0 && int(scale) < len(tens) {
		return float64(n) / tens[scale]
	}
	v, _ := new(big.Rat).SetFrac(big.NewInt(n), power(scale)).Float64()
	return v
}

// power is a power of ten. A type declares at most 38 digits; what declares more is damaged.
func power(scale int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(max(scale, 0), 38))), nil)
}

// noTime stands for a time that is missing, and badTime for a text that is no time.
const (
	noTime  = math.MinInt64
	badTime = noTime + 1
)

// timeColumn is how the times of a column are written.
type timeColumn struct {
	unit  int64                     // ticks per second or, as a negative number, seconds per tick; 0 where the column does not say
	local bool                      // they are of no zone
	value func(parquet.Value) int64 // reads those that are not whole numbers; nil for others

	problems []string // of the first texts that are no times, in the order of the rows
}

// problem says what is wrong with the next time that cannot be read.
func (c *timeColumn) problem(t int64) string {
	if t == noTime || len(c.problems) == 0 {
		return "the time is missing or cannot be read"
	}
	said := c.problems[0]
	c.problems = c.problems[1:]
	return said
}

func timesOf(column *parquet.Column, p *parquetReader) timeColumn {
	c := timeColumn{local: true}
	switch column.Type().Kind() {
	case parquet.Int96:
		c.unit, c.value = 1e9, int96
		return c
	case parquet.ByteArray:
		return textTimes(p)
	}
	logical := column.Type().LogicalType()
	if logical == nil {
		return c
	}
	switch t := logical.Value.(type) {
	case *format.TimestampType:
		c.unit, c.local = int64(time.Second/t.Unit.Value.Duration()), !t.IsAdjustedToUTC
	case *format.DateType:
		c.unit = -day
	}
	return c
}

// int96 reads the timestamps of older writers: nanoseconds of a day, and the day.
func int96(v parquet.Value) int64 {
	x := v.Int96()
	const epoch = 2440588 // the Julian day of 1970-01-01
	days := int64(x[2]) - epoch
	if days < -62_000 || days > 85_000 { // of the years that a price may come from
		return noTime
	}
	ns := int64(binary.LittleEndian.Uint64(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, x[0]), x[1])))
	if ns < 0 || ns >= day*1e9 {
		return noTime
	}
	return days*day*1e9 + ns
}

// textTimes reads times that are texts. Days and months must stand behind the year, and
// either all of them name a zone or none does.
func textTimes(p *parquetReader) timeColumn {
	s := stampReader{zone: p.opt.Zone, parts: p.kind != barRows}
	var first *stamp
	return timeColumn{unit: 1, local: true, value: func(v parquet.Value) int64 {
		text := v.ByteArray()
		st, problem := s.read(text, nil)
		switch {
		case problem != "":
		case st.either:
			problem = fmt.Sprintf("time %q may have the day or the month first: write it with the year first", clip(text))
		case first == nil:
			first = &st
			if p.times.local = !st.zoned; st.zoned {
				p.rep.Recognised.Zone = "name their zone"
			}
		case st.zoned != first.zoned:
			problem = fmt.Sprintf("this time has %s, the first row has %s", st.zoneName(), first.zoneName())
		}
		if problem == "" {
			return st.sec
		}
		if len(p.times.problems) < KeptFindings {
			p.times.problems = append(p.times.problems, problem)
		}
		return badTime
	}}
}

// oneSymbol refuses a file with rows of several symbols.
func (p *parquetReader) oneSymbol(chunk parquet.ColumnChunk) error {
	other := ""
	_, err := appendChunk(nil, chunk, p.opt.MaxRows, 0, func(v parquet.Value) int64 {
		switch b := v.ByteArray(); {
		case p.symbol == "":
			p.symbol = string(b)
			p.rep.Recognised.Symbol = p.symbol
		case other == "" && string(b) != p.symbol:
			other = string(b)
		}
		return 0
	})
	if err == nil && other != "" {
		err = fmt.Errorf("the file has rows of %s and of %s: write a file for each symbol", clip([]byte(p.symbol)), clip([]byte(other)))
	}
	return err
}
