package fetch

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// binance is the public archive of Binance: a zip for each month that is over and for
// each day, with a file beside it that holds its SHA-256.
func binance() *source {
	return &source{
		about: "public archive of spot trading: BTCUSDT", adjust: "prices as traded", base: "https://data.binance.vision",
		pace:    200 * time.Millisecond,
		frames:  []market.Timeframe{market.M1, market.M5, market.M15, market.M30, market.H1, market.H2, market.H4, market.D1},
		example: Request{Symbol: "BTCUSDT", Timeframe: market.H1}, pieces: binancePieces, fetch: binancePiece,
	}
}

// binancePieces are months, and days of the month in which the request ends.
func binancePieces(r Request) []Piece {
	all := months(r)
	last := all[len(all)-1]
	if last.To <= r.To {
		return all
	}
	r.From = max(r.From, last.From)
	return append(all[:len(all)-1], every(day)(r)...)
}

// published is how long after its end the archive of a month may not be there yet.
const published = 40 * day

func binancePiece(ctx context.Context, s session, r Request, piece Piece) (a answer, err error) {
	if piece.To-piece.From == day {
		return binanceFile(ctx, s, r, "daily", dateOf(piece.From))
	}
	month := utc(piece.From).Format("2006-01")
	a, err = binanceFile(ctx, s, r, "monthly", month)
	if err != nil || len(a.rows) > 0 {
		return a, err
	}
	if piece.To < r.To-published {
		a.notes = append(a.notes, "there is no archive of "+month)
		return a, nil
	}
	for t := piece.From; t < piece.To; t += day { // the month is not published yet, its days are
		part, err := binanceFile(ctx, s, r, "daily", dateOf(t))
		if err != nil {
			return a, err
		}
		a.rows = append(a.rows, part.rows...)
	}
	return a, nil
}

// binanceFile reads one archive; it has no rows if there is no such archive.
func binanceFile(ctx context.Context, s session, r Request, period, date string) (answer, error) {
	name := fmt.Sprintf("%s-%s-%s.zip", r.Symbol, r.Timeframe, date)
	at := fmt.Sprintf("/data/spot/%s/klines/%s/%s/%s", period, r.Symbol, r.Timeframe, name)
	data, err := verified(ctx, s, at, name)
	if errors.Is(err, errMissing) {
		return answer{}, nil
	}
	if err != nil {
		return answer{}, err
	}
	file, err := unzipOne(data)
	if err != nil {
		return answer{}, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: %s: %w", s.name, name, err)
	}
	rows, err := klines(file)
	if err != nil {
		return answer{}, ktrdr.Errorf(ktrdr.CodeFailed, "%s: %s: %w", s.name, name, err)
	}
	return answer{rows: rows}, nil
}

// verified downloads a file and the checksum beside it until the two agree.
func verified(ctx context.Context, s session, at, name string) ([]byte, error) {
	const tries = 3
	for range tries {
		data, err := s.get(ctx, name, "%s", at)
		if err != nil {
			return nil, err
		}
		if err := notData(data, "an archive"); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.name, name, err)
		}
		sum, err := s.get(ctx, name+".CHECKSUM", "%s.CHECKSUM", at)
		if errors.Is(err, errMissing) {
			return nil, ktrdr.Errorf(ktrdr.CodeFailed,
				"%s: %s has no checksum beside it, so that the download cannot be checked: try again later", s.name, name)
		}
		if err != nil {
			return nil, err
		}
		word, _, _ := strings.Cut(strings.TrimSpace(string(sum)), " ")
		if want, err := hex.DecodeString(word); err != nil || len(want) != sha256.Size {
			return nil, ktrdr.Errorf(ktrdr.CodeFailed, "%s: the checksum of %s is not a SHA-256: %q", s.name, name, cut(word))
		}
		if is := sha256.Sum256(data); strings.EqualFold(hex.EncodeToString(is[:]), word) {
			return data, nil
		}
	}
	return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: %s is not the file that its checksum names, %d times: try again later", s.name,
		name, tries)
}

// unzipOne unpacks an archive of one file, within bounds.
func unzipOne(data []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(z.File) != 1 || path.Ext(z.File[0].Name) != ".csv" {
		return nil, fmt.Errorf("the archive holds %s instead of one CSV file", text.Counted(len(z.File), "file"))
	}
	f, err := z.File[0].Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return unpacked(f, maxUnpacked)
}

// unpacked reads what an archive holds; more than most bytes are refused.
func unpacked(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it unpacks to more than %d MiB, which prices do not", most>>20)
	}
	return data, err
}

// klines reads rows of open time, open, high, low, close, volume and others. Times are
// milliseconds, and microseconds from 2025 on.
func klines(data []byte) ([]market.Bar, error) {
	var all []market.Bar
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		f := strings.Split(strings.TrimSpace(lines.Text()), ",")
		if n == 1 && strings.HasPrefix(f[0], "open_time") || len(f) == 1 && f[0] == "" {
			continue
		}
		if len(f) < 6 {
			return nil, fmt.Errorf("line %d has %d columns instead of 12", n, len(f))
		}
		t, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is not a time", n, cut(f[0]))
		}
		const microseconds = 100_000_000_000_000 // later than the year 5000 in milliseconds
		if t >= microseconds {
			t /= 1000
		}
		bar, err := barOf(t/1000, f[1:6]...)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, bar)
	}
	return all, lines.Err()
}

// barOf makes a bar of open, high, low, close and volume as text.
func barOf(t int64, fields ...string) (market.Bar, error) {
	var v [5]float64
	for i, f := range fields {
		var err error
		if v[i], err = strconv.ParseFloat(f, 64); err != nil {
			return market.Bar{}, fmt.Errorf("%q is not a number", cut(f))
		}
	}
	return market.Bar{Time: t, Open: v[0], High: v[1], Low: v[2], Close: v[3], Volume: v[4]}, nil
}
