package page

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// routeZoom are what the charts that zoom ask for. Neither answer has anything of
// a holdout that was not opened.
func (p *Pages) routeZoom() {
	p.mux.HandleFunc("GET /strategies/{id}/equity.json", p.answer(p.zoomEquity))
	p.mux.HandleFunc("GET /strategies/{id}/bars.json", p.answer(p.zoomBars))
}

// answer answers a script.
func (p *Pages) answer(read func(context.Context, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := api.Caller(r.Context()); !ok {
			p.fail(w, r, ktrdr.Errorf(ktrdr.CodeUnauthorized, "sign in first"))
			return
		}
		v, err := read(r.Context(), r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		text, err := json.Marshal(v)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		sendPacked(w, r, http.StatusOK, text, func() []byte { return pack(text, gzip.BestSpeed) })
	}
}

// span is a part of time that a chart shows, and how much of it.
type span struct {
	from, to time.Time // zero: no bound
	points   int
}

// within is a scale of time with the bounds of the span.
func (s span) within(x chart.Scale) chart.Scale {
	if from := float64(s.from.Unix()); !s.from.IsZero() && from > x.Min {
		x.Min = from
	}
	if to := float64(s.to.Unix()); !s.to.IsZero() && to < x.Max {
		x.Max = to
	}
	return x
}

const mostRows = 1000 // of one answer

func readSpan(r *http.Request, usual int) (s span, err error) {
	q := r.URL.Query()
	if _, s.from, s.to, err = readWindow("", q.Get("from"), q.Get("to")); err != nil {
		return s, err
	}
	s.points = usual
	if text := q.Get("points"); text != "" {
		if s.points, err = strconv.Atoi(text); err != nil || s.points < 4 || s.points > mostRows {
			return s, ktrdr.Errorf(ktrdr.CodeInvalid, "points is a number from 4 to %d, not %.20q", mostRows, text)
		}
	}
	return s, nil
}

// zoomedBars are candles with the trades on them.
type zoomedBars struct {
	From   int64        `json:"from"`   // Unix seconds: where the bars of the research begin,
	To     int64        `json:"to"`     // and where they end
	Merged int          `json:"merged"` // bars in one candle
	Bars   [][5]float64 `json:"bars"`   // opening in Unix seconds, open, high, low, close
	Trades []zoomedMark `json:"trades"`
	Many   int          `json:"many,omitempty"` // trades, too many to be marked
}

// zoomedMark is a trade, from the candle that it was entered at to that of its
// exit. The place before the first candle is -1.
type zoomedMark struct {
	Number int     `json:"number"`
	From   int     `json:"from"`
	To     int     `json:"to"`
	Entry  float64 `json:"entry"` // prices
	Exit   float64 `json:"exit"`
	Long   bool    `json:"long"`
	Won    bool    `json:"won"`
}

// zoomBars reads the bars of a series that a strategy traded, up to its holdout.
func (p *Pages) zoomBars(ctx context.Context, r *http.Request) (any, error) {
	s, err := readSpan(r, mostCandles)
	if err != nil {
		return nil, err
	}
	d, err := p.readDetails(ctx, r)
	if err != nil {
		return nil, err
	}
	spec, err := p.specOf(ctx, d.id)
	if err != nil {
		return nil, err
	}
	if from := sealedFrom(spec); !from.IsZero() && (s.to.IsZero() || s.to.After(from)) {
		s.to = from
	}
	ask := api.ResultsRequest{ByID: api.ByID{ID: d.backtest}, Include: []string{"trades"}, Page: api.Page{Limit: mostRows}, Since: s.from}
	found, err := client.Call(ctx, p.lab, api.GetResults, ask)
	if err != nil {
		return nil, err
	}
	result, err := read[jobs.BacktestResult](found.Results)
	if err != nil {
		return nil, err
	}
	symbol := r.URL.Query().Get("symbol")
	if symbol == "" {
		symbol = result.Traded()[0]
	}
	if !slices.Contains(result.Traded(), symbol) {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "%s did not trade %.100q", d.id, symbol)
	}
	series, err := p.bars(ctx, symbol, result, s)
	if err != nil {
		return nil, err
	}
	z := zoomedOf(series, found.Trades)
	z.From, z.To = extent(spec, symbol)
	return z, nil
}

func (p *Pages) bars(ctx context.Context, symbol string, result jobs.BacktestResult, s span) (jobs.SeriesBars, error) {
	return client.Call(ctx, p.lab, api.SeriesBars, api.BarsRequest{
		SeriesRequest: api.SeriesRequest{Symbol: symbol, Timeframe: string(result.Timeframe)},
		BarsQuery:     jobs.BarsQuery{From: s.from, To: s.to, Points: s.points},
	})
}

func (p *Pages) specOf(ctx context.Context, id ktrdr.OperationID) (research.Spec, error) {
	op, err := p.lab.Operation(ctx, id)
	if err != nil {
		return research.Spec{}, err
	}
	return ktrdr.ParseSpec[research.Spec](op.Spec)
}

// sealedFrom is where the first holdout of a research begins; zero without one.
func sealedFrom(spec research.Spec) (from time.Time) {
	for _, s := range spec.Sealed {
		if from.IsZero() || s.From.Before(from) {
			from = s.From
		}
	}
	return from
}

// extent is where the bars of a symbol begin that a research searched, and where
// they end: at its holdout.
func extent(spec research.Spec, symbol string) (from, to int64) {
	for _, s := range spec.Searched {
		if s.Symbol == symbol && (from == 0 || s.From.Unix() < from) {
			from = s.From.Unix()
		}
		if s.Symbol == symbol {
			to = max(to, s.To.Unix())
		}
	}
	return from, to
}

func zoomedOf(series jobs.SeriesBars, trades []jobs.Trade) zoomedBars {
	z := zoomedBars{Merged: series.Merged, Bars: make([][5]float64, len(series.Bars)), Trades: []zoomedMark{}}
	for i, b := range series.Bars {
		z.Bars[i] = [5]float64{float64(b.Time.Unix()), b.Open, b.High, b.Low, b.Close}
	}
	if len(series.Bars) == 0 {
		return z
	}
	for _, t := range trades {
		if t.Symbol != "" && t.Symbol != series.Symbol || !overlaps(series.Bars, t) {
			continue
		}
		z.Trades = append(z.Trades, zoomedMark{
			t.Number, candleOf(series.Bars, t.EntryTime), candleOf(series.Bars, t.ExitTime), t.EntryPrice, t.ExitPrice, t.Side == "long", t.Net > 0,
		})
	}
	if len(z.Trades) > nearTrades {
		z.Many, z.Trades = len(z.Trades), []zoomedMark{}
	}
	return z
}

// candleOf is the place of the candle that an instant is in; -1 before the first.
func candleOf(rows []jobs.BarRow, at time.Time) int {
	i, exact := slices.BinarySearchFunc(rows, at, func(b jobs.BarRow, at time.Time) int { return b.Time.Compare(at) })
	if !exact {
		i--
	}
	return i
}

// zoomedLines are the lines of the equity at common times. A row of nulls is
// between two parts.
type zoomedLines struct {
	Time    []float64    `json:"time"`
	Account []*float64   `json:"account"`
	Fitted  []*float64   `json:"fitted"` // in sample
	Hold    []*float64   `json:"hold"`
	Luck    []*float64   `json:"luck"`
	Zones   []zoomedZone `json:"zones"`
	// Underwater is the figure of the drawdowns of the same time.
	Underwater template.HTML `json:"underwater"`
}

type zoomedZone struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Name  string  `json:"name"`
	Class string  `json:"class"`
}

// zoomEquity reads the lines of the equity: all of them as they are kept, and the
// test part between two instants bar by bar.
func (p *Pages) zoomEquity(ctx context.Context, r *http.Request) (any, error) {
	s, err := readSpan(r, mostPoints)
	if err != nil {
		return nil, err
	}
	id, err := p.findResearch(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	f, err := p.readFacts(ctx, id)
	if err != nil {
		return nil, err
	}
	parts := f.stretches()
	if len(parts) == 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "%s has not traded yet", id)
	}
	for i := range parts {
		if parts[i].class != "te" || s.from.IsZero() && s.to.IsZero() {
			continue
		}
		if err := p.addDetail(ctx, f, &parts[i], s); err != nil {
			return nil, err
		}
	}
	z := linesOf(parts, f.sealedSpan())
	z.Underwater = drawUnderwater(parts, f.sealedSpan(), s.within(f.shownSpan(parts)))
	return z, nil
}

// addDetail puts every bar between two instants into the test part, or their
// extremes.
func (p *Pages) addDetail(ctx context.Context, f *facts, part *stretch, s span) error {
	found, err := client.Call(ctx, p.lab, api.GetResults, api.ResultsRequest{
		ByID: api.ByID{ID: f.state.BacktestOperation}, Include: []string{"equity"}, Points: s.points, From: s.from, To: s.to,
	})
	if err != nil {
		return err
	}
	var account []chart.XY
	for _, v := range found.Equity {
		account = append(account, chart.XY{X: float64(v.Time.Unix()), Y: v.Value / f.backtest.Config.InitialCapital})
	}
	part.account = replaced(part.account, account)
	traded := f.backtest.Traded()
	if len(part.hold) == 0 || len(traded) != 1 {
		return nil
	}
	start := time.Unix(int64(part.hold[0].X), 0).UTC()
	first, err := p.bars(ctx, traded[0], *f.backtest, span{start, start.Add(time.Second), 1})
	if err != nil || len(first.Bars) == 0 {
		return ignoreMissing(err)
	}
	if s.from.Before(start) {
		s.from = start
	}
	if end := f.backtest.End.Add(time.Second); s.to.IsZero() || s.to.After(end) {
		s.to = end
	}
	series, err := p.bars(ctx, traded[0], *f.backtest, s)
	if err != nil {
		return ignoreMissing(err)
	}
	var hold []chart.XY
	for _, b := range series.Bars {
		hold = append(hold, chart.XY{X: float64(b.Time.Unix()), Y: b.Close / first.Bars[0].Close})
	}
	part.hold = replaced(part.hold, hold)
	return nil
}

// ignoreMissing forgives that a series is no longer in the library.
func ignoreMissing(err error) error {
	if code := ktrdr.CodeOf(err); code == ktrdr.CodeNotFound || code == ktrdr.CodeConflict {
		return nil
	}
	return err
}

// replaced is a line with its points between the ends of the detail exchanged for
// the detail.
func replaced(line, detail []chart.XY) []chart.XY {
	if len(detail) == 0 {
		return line
	}
	begin, end := detail[0].X, detail[len(detail)-1].X
	before, after := 0, len(line)
	for i, v := range line {
		if v.X < begin {
			before = i + 1
		}
		if v.X > end {
			after = min(after, i)
		}
	}
	return slices.Concat(line[:before], detail, line[after:])
}

// linesOf puts the lines of all parts at common times: those of the account.
func linesOf(parts []stretch, sealed *stretch) zoomedLines {
	z := zoomedLines{Zones: []zoomedZone{}}
	row := func(at float64, account, fitted, hold, luck *float64) {
		z.Time = append(z.Time, at)
		z.Account, z.Fitted, z.Hold, z.Luck = append(z.Account, account), append(z.Fitted, fitted), append(z.Hold, hold), append(z.Luck, luck)
	}
	for i, part := range parts {
		if i > 0 {
			row(part.from, nil, nil, nil, nil)
		}
		z.Zones = append(z.Zones, zoomedZone{part.from, part.to, part.name, part.class})
		for _, v := range part.account {
			account, fitted := &v.Y, (*float64)(nil)
			if part.faint {
				account, fitted = nil, &v.Y
			}
			row(v.X, account, fitted, valueAt(part.hold, v.X), luckAt(part, v.X))
		}
	}
	if sealed != nil {
		z.Zones = append(z.Zones, zoomedZone{sealed.from, sealed.to, "Holdout, sealed", sealed.class})
	}
	return z
}

// valueAt is a line at an instant, straight between its points; nil outside it.
func valueAt(line []chart.XY, at float64) *float64 {
	i, exact := slices.BinarySearchFunc(line, at, func(v chart.XY, at float64) int {
		switch {
		case v.X < at:
			return -1
		case v.X > at:
			return 1
		}
		return 0
	})
	switch {
	case exact:
		return &line[i].Y
	case i == 0 || i == len(line):
		return nil
	}
	a, b := line[i-1], line[i]
	v := a.Y + (b.Y-a.Y)*(at-a.X)/(b.X-a.X)
	return &v
}

func luckAt(part stretch, at float64) *float64 {
	if part.luck <= 0 || part.to <= part.from {
		return nil
	}
	v := math.Exp((at - part.from) / (part.to - part.from) * math.Log(part.luck))
	return &v
}
