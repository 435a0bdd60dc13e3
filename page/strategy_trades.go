package page

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
)

// routeDetails are the sections that read files, which may have to be computed
// again.
func (p *Pages) routeDetails() {
	for name, read := range map[string]func(context.Context, *details) (any, error){
		"trades": p.readTrades, "candles": p.readCandles, "fuzzy": p.readFuzzy,
	} {
		show := p.view("Strategy", "strategy-"+name, func(ctx context.Context, r *http.Request) (any, error) {
			d, err := p.readDetails(ctx, r)
			if err != nil {
				return nil, err
			}
			return read(ctx, d)
		})
		p.mux.HandleFunc("GET /strategies/{id}/"+name, show)
	}
}

// lazy are the sections with more than what is kept with a research.
func (f *facts) lazy() []lazy {
	at, wait := "/strategies/"+string(f.op.ID)+"/", "Loading."
	var list []lazy
	if f.ended() && f.op.Run != "" {
		list = append(list, lazy{"panel", "Evidence of the whole run", at + "panel", "Judging the daily returns of all trials."})
	}
	if f.backtest == nil || f.backtest.Trades == 0 {
		return list
	}
	if f.op.Compacted {
		wait = "Its files are not kept. They are computed again, which takes a while."
	}
	return append(list,
		lazy{"candles", "Trades on candles", at + "candles", wait},
		lazy{"fuzzy", "Inputs", at + "fuzzy", wait},
		lazy{"trades", "Trades", at + "trades", wait},
	)
}

// details is what the sections need to know of a research.
type details struct {
	r        *http.Request
	id       ktrdr.OperationID
	training ktrdr.OperationID
	backtest ktrdr.OperationID
}

func (d *details) at() string { return "/strategies/" + string(d.id) }

func (p *Pages) readDetails(ctx context.Context, r *http.Request) (*details, error) {
	id, err := p.findResearch(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	f := facts{op: ktrdr.Operation{ID: id}}
	if err := f.readChildren(ctx, p.lab); err != nil {
		return nil, err
	}
	if f.state.BacktestOperation == "" {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "%s has not traded yet", id)
	}
	return &details{r, id, f.state.TrainingOperation, f.state.BacktestOperation}, nil
}

// tradeTable is a page of trades, worst first.
type tradeTable struct {
	At, Note, Shown, Next string
	Several               bool // symbols
	Rows                  []tradeRow
}

type tradeRow struct {
	Number                                                                int
	Symbol, Side, EntryPrice, ExitPrice, Gross, Costs, Net, Return, Class string
	MAE, MFE, Reason, At                                                  string
	Entry, Exit                                                           time.Time
	Bars                                                                  int
}

const (
	tradesOfAPage = 25
	tradesOfAFile = 200
)

// reasons are why a trade was left, in words.
var reasons = map[string]string{
	"signal": "signal", "target": "target", "stop": "stop", "time": "time is up", "end": "end of the part", "ruin": "ruin",
}

func (p *Pages) readTrades(ctx context.Context, d *details) (any, error) {
	most := rows(ctx, tradesOfAPage, tradesOfAFile)
	found, err := client.Call(ctx, p.lab, api.GetResults, api.ResultsRequest{
		ByID: api.ByID{ID: d.backtest}, Include: []string{"trades"}, Trades: "worst",
		Page: api.Page{Limit: most, Cursor: d.r.URL.Query().Get("cursor")},
	})
	if err != nil {
		return nil, err
	}
	result, err := read[jobs.BacktestResult](found.Results)
	if err != nil {
		return nil, err
	}
	t := tradeTable{At: d.at(), Note: "worst first; test part only", Several: len(result.Symbols) > 1}
	before, _ := strconv.Atoi(d.r.URL.Query().Get("cursor")) // the API has refused another
	for _, x := range found.Trades {
		t.Rows = append(t.Rows, tradeRowOf(x, d.at()))
	}
	t.Shown = fmt.Sprintf("%d to %s of %s.", min(before+1, result.Trades), count(before+len(t.Rows)), count(result.Trades))
	if next := before + most; next < result.Trades {
		t.Next = fmt.Sprintf("%s/trades?cursor=%d", d.at(), next)
	}
	return t, nil
}

func tradeRowOf(x jobs.Trade, at string) tradeRow {
	gain := 0.0
	if worth := x.Quantity * x.EntryPrice; worth != 0 {
		gain = x.Net / worth
	}
	row := tradeRow{
		Number: x.Number, Symbol: x.Symbol, Side: x.Side, EntryPrice: price(x.EntryPrice), ExitPrice: price(x.ExitPrice), Gross: money(x.Gross),
		Costs: chart.Number(x.Costs, 0), Net: money(x.Net), Return: fine(gain), MAE: fine(-x.MAE), MFE: fine(x.MFE), Reason: reasons[x.Reason],
		Entry: x.EntryTime, Exit: x.ExitTime, Bars: x.ExitBar - x.EntryBar, At: fmt.Sprintf("%s/candles?trade=%d", at, x.Number),
	}
	if row.Reason == "" {
		row.Reason = x.Reason
	}
	if x.Net < 0 {
		row.Class = "neg"
	}
	return row
}

// price writes a price with five significant digits.
func price(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 5 - int(math.Floor(math.Log10(math.Abs(v)))) - 1
	return chart.Number(v, min(max(digits, 0), 8))
}

// candles are bars with the trades on them, and memberships below.
type candles struct {
	At, Title, Note, Previous, Next string
	Zoom                            string    // where the chart that zooms asks for more
	First, Last                     time.Time // openings
	Chart                           template.HTML
	Sets                            []candleSet
}

type candleSet struct {
	Name, Indicator string
	Chart           template.HTML
}

const (
	usualCandles = 160
	mostCandles  = 500
)

// readCandles shows the bars around a trade, or from an instant to another.
func (p *Pages) readCandles(ctx context.Context, d *details) (any, error) {
	q := d.r.URL.Query()
	number, from, to, err := readWindow(q.Get("trade"), q.Get("from"), q.Get("to"))
	if err != nil {
		return nil, err
	}
	ask := api.ResultsRequest{ByID: api.ByID{ID: d.backtest}, Include: []string{"trades"}, Page: api.Page{Limit: nearTrades}, Since: from}
	first := max(number-1-nearTrades/3, 0)
	if from.IsZero() && first > 0 {
		ask.Cursor = strconv.Itoa(first)
	}
	found, err := client.Call(ctx, p.lab, api.GetResults, ask)
	if err != nil {
		return nil, err
	}
	result, err := read[jobs.BacktestResult](found.Results)
	if err != nil {
		return nil, err
	}
	near := found.Trades
	at := slices.IndexFunc(near, func(t jobs.Trade) bool { return t.Number == number })
	window := jobs.InputsQuery{From: from, Limit: mostCandles}
	switch {
	case from.IsZero() && at < 0:
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no trade %d; the trades are 1 to %d", number, result.Trades)
	case from.IsZero():
		t := near[at]
		window = jobs.InputsQuery{
			Symbol: t.Symbol, From: barsBefore(t, usualCandles/4), Limit: min(max(usualCandles, t.ExitBar-t.EntryBar+usualCandles/2), mostCandles),
		}
	case len(near) > 0:
		window.Symbol, number = near[0].Symbol, near[0].Number
	}
	in, err := client.Call(ctx, p.lab, api.GetInputs, api.InputsRequest{ByID: api.ByID{ID: d.training}, InputsQuery: window})
	if err != nil {
		return nil, err
	}
	if end := slices.IndexFunc(in.Bars, func(b jobs.BarRow) bool { return !to.IsZero() && !b.Time.Before(to) }); end > 0 {
		in.Bars = in.Bars[:end]
	}
	return drawCandles(d, in, near, number, result.Trades), nil
}

// windowOf is the part of a query that says which bars are wanted.
func windowOf(q url.Values) string {
	kept := url.Values{}
	for _, name := range []string{"trade", "from", "to"} {
		if text := q.Get(name); text != "" {
			kept.Set(name, text)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + kept.Encode()
}

// readWindow reads which bars are wanted: those around a trade, by default the
// first, or those between two instants.
func readWindow(trade, from, to string) (number int, first, end time.Time, err error) {
	number = 1
	if trade != "" {
		if number, err = strconv.Atoi(trade); err != nil || number < 1 {
			return 0, first, end, ktrdr.Errorf(ktrdr.CodeInvalid, "trade is the number of a trade, not %.20q", trade)
		}
	}
	for text, at := range map[string]*time.Time{from: &first, to: &end} {
		if text == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			return 0, first, end, ktrdr.Errorf(ktrdr.CodeInvalid, "from and to are instants such as 2026-01-31T14:00:00Z, not %.40q", text)
		}
	}
	return number, first, end, nil
}

const nearTrades = 300 // of one window

// barsBefore is an instant some bars before a trade. Bars may be missing on any
// day, so that it goes by the usual time between the bars of the trade.
func barsBefore(t jobs.Trade, bars int) time.Time {
	length := time.Hour
	if n := t.ExitBar - t.EntryBar; n > 0 {
		length = t.ExitTime.Sub(t.EntryTime) / time.Duration(n)
	}
	return t.EntryTime.Add(-time.Duration(bars) * length)
}

// money writes an amount without cents, with its sign.
func money(v float64) string {
	switch n := int(math.Round(v)); {
	case n > 0:
		return "+" + count(n)
	case n < 0:
		return "−" + count(-n)
	}
	return "0"
}

// read reads a part of an answer.
func read[T any](text json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(text, &v)
	return v, err
}
