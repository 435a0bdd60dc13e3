package page

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

func TestZoom_LinesEndWhereASealedHoldoutBegins(t *testing.T) {
	end := float64(holdoutFrom.Unix())
	f := judged(evidence.Neutral)
	z := linesOf(f.stretches(), f.sealedSpan())
	if n := len(z.Time); n == 0 || slices.Max(z.Time) > end || len(z.Account) != n || len(z.Hold) != n || len(z.Luck) != n ||
		len(z.Fitted) != n {
		t.Errorf("%d times up to %v, want none after %v and as many values", n, slices.Max(z.Time), end)
	}
	if zone := z.Zones[len(z.Zones)-1]; zone.From != end || zone.Class != "se" {
		t.Errorf("the last zone is %+v, want the sealed holdout", zone)
	}
	f = looked(true)
	z = linesOf(f.stretches(), f.sealedSpan())
	if slices.Max(z.Time) <= end || z.Zones[len(z.Zones)-1].Class != "ho" {
		t.Errorf("an opened holdout is not among the lines: %+v", z.Zones)
	}
	gap := slices.Index(z.Time, end)
	if gap < 0 || z.Account[gap] != nil || z.Account[gap+1] == nil || *z.Account[gap+1] != 1 {
		t.Error("nothing is between the parts, so that their lines are joined")
	}
}

func TestZoom_DetailTakesThePlaceOfWhatIsKept(t *testing.T) {
	line := []chart.XY{{X: 0, Y: 1}, {X: 10, Y: 2}, {X: 20, Y: 3}, {X: 30, Y: 4}}
	detail := []chart.XY{{X: 10, Y: 7}, {X: 15, Y: 8}, {X: 21, Y: 9}}
	want := []chart.XY{{X: 0, Y: 1}, {X: 10, Y: 7}, {X: 15, Y: 8}, {X: 21, Y: 9}, {X: 30, Y: 4}}
	if got := replaced(line, detail); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := replaced(line, nil); !slices.Equal(got, line) {
		t.Errorf("without detail %v, want what was there", got)
	}
	for at, want := range map[float64]float64{0: 1, 5: 1.5, 30: 4} {
		if got := valueAt(line, at); got == nil || *got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	if valueAt(line, -1) != nil || valueAt(line, 31) != nil || valueAt(nil, 0) != nil {
		t.Error("a line has values outside its ends")
	}
}

func TestZoom_TradesLieOnTheirCandles(t *testing.T) {
	at := func(hours int) time.Time { return testFrom.Add(time.Duration(hours) * time.Hour) }
	series := jobs.SeriesBars{Symbol: "A", Merged: 4}
	for i := range 5 {
		series.Bars = append(series.Bars, jobs.BarRow{Time: at(4 * i), Open: 1, High: 2, Low: 0.5, Close: 1.5})
	}
	trade := func(symbol string, entry, exit int) jobs.Trade {
		return jobs.Trade{Symbol: symbol, EntryTime: at(entry), ExitTime: at(exit), Side: "long", Net: 1}
	}
	z := zoomedOf(series, []jobs.Trade{trade("A", 5, 11), trade("A", -3, 0), trade("B", 5, 11), trade("A", 30, 31)})
	if len(z.Trades) != 2 || z.Trades[0].From != 1 || z.Trades[0].To != 2 || z.Trades[1].From != -1 || z.Trades[1].To != 0 || z.Merged != 4 {
		t.Errorf("%+v, want one from candle 1 to 2 and one from before the first", z.Trades)
	}
	many := make([]jobs.Trade, nearTrades+1)
	for i := range many {
		many[i] = trade("A", 5, 11)
	}
	if z := zoomedOf(series, many); len(z.Trades) != 0 || z.Many != nearTrades+1 {
		t.Errorf("%d trades are marked of %d, want none", len(z.Trades), z.Many)
	}
}

// traded is the API of one research that has traded. It notes which bars and which
// equity it was asked for.
type traded struct {
	f    *facts
	asks map[string]url.Values
}

func (a *traded) RoundTrip(r *http.Request) (*http.Response, error) {
	const backtest = ktrdr.OperationID("op_backtesting_20200101_000000_0000bbbb")
	path, q := r.URL.Path, r.URL.Query()
	var data any
	switch {
	case strings.HasSuffix(path, "/bars"):
		bar := jobs.BarRow{Time: testFrom, Open: 1, High: 1, Low: 1, Close: 1}
		a.asks["bars"], data = q, jobs.SeriesBars{Symbol: "A", Merged: 1, Bars: []jobs.BarRow{bar}}
	case strings.HasSuffix(path, string(backtest)+"/results"):
		text, _ := json.Marshal(a.f.backtest)
		a.asks["results"], data = q, api.Results{
			Status: ktrdr.Completed, Results: text, Equity: []jobs.Point{{Time: testFrom.Add(time.Hour), Value: 1100}},
		}
	case strings.HasSuffix(path, "/results"):
		data = api.Results{Status: ktrdr.Completed, Results: json.RawMessage("{}")}
	case strings.HasSuffix(path, "/history"), strings.HasSuffix(path, "/conversation"), strings.Contains(path, "/memory"):
		data = map[string]any{}
		if strings.HasSuffix(path, "/history") {
			data = []any{}
		}
	case q.Get("parent_id") != "" || q.Get("parent") != "" || q.Get("parent_operation_id") != "":
		data = []api.OperationRow{{ID: backtest, Type: ktrdr.Backtesting, Status: ktrdr.Completed}}
	case strings.HasSuffix(path, "/operations"):
		data = []api.OperationRow{{ID: a.f.op.ID, Type: ktrdr.AgentResearch}}
	default:
		data = a.f.op
	}
	text, err := json.Marshal(map[string]any{"success": true, "data": data})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(text)),
	}, err
}

func TestZoom_AsksForNothingOfASealedHoldout(t *testing.T) {
	f := judged(evidence.Neutral)
	f.backtest.Symbol, f.backtest.Timeframe, f.backtest.Config.InitialCapital = "A", "1h", 1000
	f.spec.Model, f.spec.Run, f.spec.Gates.MaxLoss = "builtin", "run_1", 1
	f.spec.Bars, f.spec.Holdout = make([]jobs.Bars, 1), make([]jobs.Bars, 1)
	f.spec.Searched = []research.Span{{Symbol: "A", From: testFrom, To: holdoutFrom}}
	var err error
	if f.op.Spec, err = json.Marshal(f.spec); err != nil {
		t.Fatal(err)
	}
	f.state.Strategy = "name: a"
	if f.op.State, err = json.Marshal(f.state); err != nil {
		t.Fatal(err)
	}
	lab := &traded{f: f, asks: map[string]url.Values{}}
	c, err := client.New("http://inside", "", client.Options{Transport: lab})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Lab: c, Charts: fstest.MapFS{}, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/strategies/0000aaaa/"+path, nil)
		p.ServeHTTP(w, r.WithContext(api.As(r.Context(), ktrdr.Token{ID: "t", Scope: ktrdr.ScopeRead})))
		return w
	}
	for _, query := range []string{
		"", "?to=" + holdoutTo.Format(time.RFC3339), "?from=2019-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&points=500",
	} {
		w := get("bars.json" + query)
		if to := lab.asks["bars"].Get("to"); w.Code != http.StatusOK || to != holdoutFrom.Format(time.RFC3339) {
			t.Errorf("%q: %d %s: bars up to %q, want up to the holdout, %v", query, w.Code, said(w), to, holdoutFrom)
		}
	}
	for path, want := range map[string]int{
		"bars.json?points=3": 400, "bars.json?points=1001": 400, "bars.json?from=x": 400, "bars.json?symbol=B": 404, "equity.json?points=x": 400,
	} {
		if w := get(path); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	w := get("equity.json?from=2020-01-01T00:00:00Z&to=2020-01-05T00:00:00Z&points=50")
	if got := lab.asks["results"]; w.Code != http.StatusOK || got.Get("points") != "50" || got.Get("to") != "2020-01-05T00:00:00Z" ||
		!strings.Contains(w.Body.String(), "1.1") {
		t.Errorf("%d %s: asked for %v, want 50 points and the account at 1.1", w.Code, said(w), got)
	}
	anonymous := httptest.NewRecorder()
	p.ServeHTTP(anonymous, httptest.NewRequest(http.MethodGet, "/strategies/0000aaaa/bars.json", nil))
	if anonymous.Code != http.StatusUnauthorized {
		t.Errorf("without signing in: %d, want 401", anonymous.Code)
	}
}

// said is what a page says went wrong.
func said(w *httptest.ResponseRecorder) string {
	_, text, _ := strings.Cut(w.Body.String(), `role="alert">`)
	text, _, _ = strings.Cut(text, "<")
	return text
}
