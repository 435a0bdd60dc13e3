package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// values are what a template may hold in braces.
var values = map[string]func(Request, Piece) string{
	"symbol":    func(r Request, _ Piece) string { return r.Symbol },
	"timeframe": func(r Request, _ Piece) string { return string(r.Timeframe) },
	"from":      func(r Request, s Piece) string { return dateOf(max(s.From, r.From)) },
	"to":        func(r Request, s Piece) string { return dateOf(min(s.To, r.To)) },
	"from_unix": func(r Request, s Piece) string { return strconv.FormatInt(max(s.From, r.From), 10) },
	"to_unix":   func(r Request, s Piece) string { return strconv.FormatInt(min(s.To, r.To), 10) },
	"from_ms":   func(r Request, s Piece) string { return strconv.FormatInt(1000*max(s.From, r.From), 10) },
	"to_ms":     func(r Request, s Piece) string { return strconv.FormatInt(1000*min(s.To, r.To), 10) },
	"year":      func(_ Request, s Piece) string { return utc(s.From).Format("2006") },
	"month":     func(_ Request, s Piece) string { return utc(s.From).Format("01") },
	"day":       func(_ Request, s Piece) string { return utc(s.From).Format("02") },
}

// valueNames are the names in the order in which messages list them.
var valueNames = []string{"symbol", "timeframe", "from", "to", "from_unix", "to_unix", "from_ms", "to_ms", "year", "month", "day"}

var braces = regexp.MustCompile(`\{([^{}]*)\}`)

// template is a source whose files have addresses of one form. The files are read as an
// import reads them: CSV, zip, gzip, Parquet.
func template(address string) (*source, error) {
	holds := map[string]bool{}
	for _, m := range braces.FindAllStringSubmatch(address, -1) {
		if values[m[1]] == nil {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "{%s} is not a part of an address; %s", cut(m[1]), text.Choices(m[1], valueNames))
		}
		holds[m[1]] = true
	}
	if !holds["symbol"] {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "the address has no {symbol}: write one like https://HOST/{symbol}_{timeframe}.csv")
	}
	if err := checkAddress(address); err != nil {
		return nil, err
	}
	pieces := one
	switch {
	case holds["day"]:
		pieces = every(day)
	case holds["month"]:
		pieces = months
	case holds["year"]:
		pieces = years
	}
	return &source{
		about: "an address of your own", pace: time.Second, base: address, frames: market.Timeframes, pieces: pieces, fetch: templatePiece,
	}, nil
}

func years(r Request) []Piece {
	var all []Piece
	for y := utc(r.From).Year(); ; y++ {
		from := time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		if from >= r.To {
			return all
		}
		all = append(all, Piece{from, time.Date(y+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()})
	}
}

// checkAddress refuses an address whose host is not written out.
func checkAddress(address string) error {
	u, err := url.Parse(braces.ReplaceAllString(address, "x"))
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the address cannot be read: write https://HOST/…")
	}
	if err := checkURL(u); err != nil {
		return err
	}
	if !strings.HasPrefix(strings.ToLower(address), "https://"+strings.ToLower(u.Host)) && u.User == nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the host of an address is written out: only what follows it may have {…}")
	}
	return nil
}

// checkNoKey refuses an address with a key, where every reader of the lab would see it.
func checkNoKey(address string) error {
	u, err := url.Parse(braces.ReplaceAllString(address, "x"))
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the address cannot be read: write url:https://HOST/…")
	}
	found := u.User != nil
	query(u, func(name, _ string) { found = found || keyName.MatchString(name) })
	if found {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the address holds a key or a password, and an operation is readable by all users of the lab: "+
			"give the backend KTRDR_FETCH_SOURCES=NAME=ADDRESS, and fetch from NAME")
	}
	return nil
}

// hostOf is an address as far as people may see it.
func hostOf(address string) string {
	u, err := url.Parse(braces.ReplaceAllString(address, "x"))
	if err != nil || u.Host == "" {
		return "url"
	}
	return u.Host
}

func templatePiece(ctx context.Context, s session, r Request, piece Piece) (a answer, err error) {
	what := fmt.Sprintf("%s of %s", r.Symbol, dateOf(piece.From))
	address := braces.ReplaceAllStringFunc(s.base, func(m string) string {
		return url.QueryEscape(values[m[1:len(m)-1]](r, piece))
	})
	data, err := s.client.get(ctx, ask{source: s.name, pace: s.pace, url: address, what: s.name + ": " + what})
	if errors.Is(err, errMissing) {
		return a, nil
	}
	if err == nil && len(data) > 0 {
		if err = notData(data, "prices"); err != nil {
			err = fmt.Errorf("%s: %s: %w", s.name, what, err)
		}
	}
	if err != nil || len(data) == 0 {
		return a, err
	}
	f, err := os.CreateTemp("", "ktrdr-fetch-") // Parquet and zip are read from anywhere in the file
	if err != nil {
		return a, err
	}
	defer f.Close()
	if err = os.Remove(f.Name()); err == nil { // so that it is gone with the process, however that ends
		_, err = f.Write(data)
	}
	if err != nil {
		return a, fmt.Errorf("place for %s: %w", what, err)
	}
	b, report, err := market.ReadOpen(ctx, f, market.ImportOptions{
		Source: s.name + " " + what, Symbol: r.Symbol,
		Timeframe: r.Timeframe, Divide: r.Divide,
	})
	if err != nil {
		if report.Rows == 0 && report.Recognised != nil && report.Wrong() == 0 {
			return a, nil // a header alone
		}
		return a, ktrdr.Errorf(ktrdr.CodeFailed, "%w", err)
	}
	a.spread = b.Spread != nil
	for i := range b.Len() {
		a.rows = append(a.rows, b.At(i))
	}
	return a, nil
}
