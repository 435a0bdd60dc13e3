package local

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/ktrdr/ktrdr/market"
)

// Target is a file, or one in an archive, and the series that it is imported as. Without a
// timeframe the file's times show it.
type Target struct {
	File   string
	Inside string // the file of an archive of several series
	Name

	Problem string // why it cannot be imported as anything
}

// String is the file, as results name it.
func (t Target) String() string {
	if t.Inside == "" {
		return t.File
	}
	return t.File + "/" + t.Inside
}

// Targets says what each file is imported as: what given says, else what its name tells, else
// its rows. An archive of several series is several targets. A file among several that
// tells no symbol is a target with a problem.
func Targets(ctx context.Context, files []string, given Name, opt market.ImportOptions) ([]Target, error) {
	var list []Target
	for _, file := range files {
		for _, inside := range members(file, given) {
			t := Target{File: file, Inside: inside}
			unread := t.name(ctx, given, opt)
			switch {
			case t.Symbol != "":
			case unread != nil:
				t.Problem = PriceFile(t.File).Trouble(unread).Error() // a symbol would not help
			default:
				t.Problem = fmt.Sprintf("the name of %s does not tell the symbol, as EURUSD_1h.csv does: give --symbol", t)
			}
			list = append(list, t)
		}
	}
	if len(list) == 1 && list[0].Problem != "" {
		return nil, invalid("%s", list[0].Problem)
	}
	return list, ctx.Err()
}

// members are the files of an archive of several series. It is one without a name for every
// other file, which is read as one.
func members(file string, given Name) []string {
	names, err := market.Inside(file)
	if err != nil || given.Symbol != "" {
		return []string{""} // reading the file says what is wrong
	}
	series := map[Name]bool{}
	for _, n := range names {
		if s, ok := NamedSeries(path.Base(n)); ok {
			series[s] = true
		}
	}
	if len(series) < 2 {
		return []string{""}
	}
	return names
}

// name names the series of a target. The error says why none of its rows could be read.
func (t *Target) name(ctx context.Context, given Name, opt market.ImportOptions) error {
	n, ok := NamedSeries(path.Base(t.Inside))
	if !ok {
		n, ok = NamedSeries(filepath.Base(t.File))
	}
	t.Name = n
	if given.Symbol != "" {
		t.Symbol = given.Symbol
	}
	if given.Timeframe != "" {
		t.Timeframe = given.Timeframe
	}
	if ok && t.Timeframe != "" || t.Symbol != "" && t.Timeframe != "" {
		return nil
	}
	symbol, tf, err := market.Peek(ctx, t.File, t.Inside, opt)
	if t.Symbol == "" {
		t.Symbol = symbol
	}
	if t.Timeframe == "" {
		t.Timeframe = tf
	}
	return err
}
