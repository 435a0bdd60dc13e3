package backtest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/market"
)

type portfolioHead struct {
	Timeframe market.Timeframe `json:"timeframe"`
	Symbols   []string         `json:"symbols"` // of the accounts, in their order
}

// Encode writes the portfolio as a columns file. Of one account that is the
// account's own file. Of several it is a file of the kind portfolio: timeframe and
// symbols as JSON, config and metrics of the sum as JSON, ended, time and equity of
// the sum, and for each account a column of bytes that is the file of its result.
// The same portfolio is always the same bytes.
func (p *Portfolio) Encode() ([]byte, error) {
	if len(p.Accounts) == 1 {
		return p.Accounts[0].Encode()
	}
	head := portfolioHead{Timeframe: p.Timeframe}
	files, size := make([][]byte, len(p.Accounts)), 0
	for i, a := range p.Accounts {
		file, err := a.Encode()
		if err != nil {
			return nil, fmt.Errorf("account of %s: %w", a.Symbol, err)
		}
		head.Symbols, files[i] = append(head.Symbols, a.Symbol), file
		size += len(file)
	}
	w := newWriter(kindPortfolio, size+16*len(p.Sum.Time)+4096)
	for _, column := range []struct {
		name  string
		value any
	}{{"portfolio", head}, {"config", p.Sum.Config}, {"metrics", p.Sum.Metrics}} {
		text, err := json.Marshal(column.value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", column.name, err)
		}
		put(w, column.name, text)
	}
	put(w, "ended", []int8{int8(p.Sum.Ended)})
	put(w, "time", p.Sum.Time)
	put(w, "equity", p.Sum.Equity)
	for _, file := range files {
		put(w, "account", file)
	}
	return w.finish(), nil
}

// Hash identifies the portfolio. It is the digest with which Encode ends.
func (p *Portfolio) Hash() ([sha256.Size]byte, error) {
	b, err := p.Encode()
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return [sha256.Size]byte(b[len(b)-sha256.Size:]), nil
}

// DecodePortfolio reads what Portfolio.Encode wrote. The file of one account names
// neither its symbol nor its timeframe: both are empty then. Anything else is ErrCorrupt.
func DecodePortfolio(b []byte) (*Portfolio, error) {
	if len(b) < fileHead || binary.LittleEndian.Uint32(b[len(magic):]) != kindPortfolio {
		r, err := Decode(b)
		if err != nil {
			return nil, err
		}
		return &Portfolio{Accounts: []Account{{Result: r}}, Sum: r}, nil
	}
	rd := newReader(b, kindPortfolio)
	var head portfolioHead
	p, s := &Portfolio{}, &Result{}
	takeJSON(rd, "portfolio", &head)
	takeJSON(rd, "config", &s.Config)
	takeJSON(rd, "metrics", &s.Metrics)
	ended := take[int8](rd, "ended")
	s.Time = take[int64](rd, "time")
	s.Equity = take[float64](rd, "equity")
	for _, symbol := range head.Symbols {
		file := take[uint8](rd, "account")
		if rd.err != nil {
			break
		}
		r, err := Decode(file)
		if err != nil {
			return nil, fmt.Errorf("account of %s: %w", symbol, err)
		}
		p.Accounts = append(p.Accounts, Account{symbol, r})
	}
	if err := rd.done(); err != nil {
		return nil, err
	}
	p.Timeframe, p.Sum = head.Timeframe, s
	return p, p.restore(ended)
}

// restore checks the sum of a portfolio that was read and gathers its trades.
func (p *Portfolio) restore(ended []int8) error {
	s := p.Sum
	switch {
	case len(ended) != 1 || Reason(ended[0]) != OnEnd && Reason(ended[0]) != OnRuin:
		return corrupt("ended is %v", ended)
	case len(p.Accounts) < 2:
		return corrupt("a portfolio of %d accounts", len(p.Accounts))
	case len(s.Time) == 0 || len(s.Time) != len(s.Equity) || !slices.IsSorted(s.Time):
		return corrupt("the sum has %d times and %d equities, or its times are out of order", len(s.Time), len(s.Equity))
	case !finite(s.Equity...):
		return corrupt("the equity curve holds what is not a number")
	case s.Config.StartBar < 0 || s.Config.StartBar >= len(s.Time):
		return corrupt("the sum begins at bar %d of %d", s.Config.StartBar, len(s.Time))
	}
	if err := checkAccounts(p.Accounts); err != nil {
		return corrupt("%v", err)
	}
	s.Ended = Reason(ended[0])
	trades, err := allTrades(s.Time, p.Accounts)
	if err != nil {
		return corrupt("%v", err)
	}
	s.Trades = trades
	return nil
}
