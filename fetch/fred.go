package fetch

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// fred is the CSV download of the Federal Reserve Bank of St. Louis: one value a date.
func fred() *source {
	return &source{
		about: "economic series, one value a bar: DGS10, SP500", adjust: "newest revision, dated by period and not by publication",
		base: "https://fred.stlouisfed.org", pace: time.Second,
		frames: []market.Timeframe{market.D1, market.W1, market.Mo1}, example: Request{Symbol: "SP500", Timeframe: market.D1},
		pieces: one, fetch: fredPiece,
	}
}

func fredPiece(ctx context.Context, s session, r Request, piece Piece) (a answer, err error) {
	data, err := s.get(ctx, r.Symbol, "/graph/fredgraph.csv?id=%s&cosd=%s&coed=%s", url.QueryEscape(r.Symbol), dateOf(piece.From),
		dateOf(piece.To))
	if errors.Is(err, errMissing) {
		return a, unknown(s, r)
	}
	if err != nil {
		return a, err
	}
	wrong := func(format string, args ...any) (answer, error) {
		return answer{}, ktrdr.Errorf(ktrdr.CodeFailed, "%s: %s: %s", s.name, r.Symbol, fmt.Sprintf(format, args...))
	}
	if err := notData(data, "a table"); err != nil { // also for a series that it does not know
		return wrong("%v", err)
	}
	table, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))).ReadAll()
	if err != nil || len(table) == 0 || len(table[0]) != 2 {
		return wrong("the answer is not a table of dates and values")
	}
	empty := 0
	for i, row := range table[1:] {
		at, err := time.Parse(time.DateOnly, row[0])
		if err != nil {
			return wrong("line %d: %q is not a date", i+2, cut(row[0]))
		}
		if row[1] == "." || row[1] == "" {
			empty++
			continue
		}
		v, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return wrong("line %d: %q is not a number", i+2, cut(row[1]))
		}
		t := at.Unix()
		if r.Timeframe != market.D1 { // weeks may be dated by any of their days
			t = r.Timeframe.Start(t)
		}
		a.rows = append(a.rows, market.Bar{Time: t, Open: v, High: v, Low: v, Close: v, Volume: math.NaN()})
	}
	if empty > 0 {
		a.notes = append(a.notes, text.Counted(empty, "date")+" without a value: left out")
	}
	return a, nil
}
