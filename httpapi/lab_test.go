package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

// fakeDesk answers as its functions do; the others it does not need.
type fakeDesk struct {
	training func(jobs.TrainingRequest) (jobs.Accepted, error)
	backtest func(jobs.BacktestRequest) (jobs.Accepted, error)
	load     func(jobs.DataLoadRequest) (jobs.Accepted, error)
	predict  func(jobs.PredictionRequest) (jobs.Prediction, error)
	models   func(limit int, cursor string) ([]jobs.TrainedModel, string, error)
	columns  func(ktrdr.Operation, jobs.Page) (jobs.Columns, error)
	made     func(ktrdr.Operation, string) ([]byte, error)
	pinned   func(ktrdr.OperationID, bool) (ktrdr.Operation, error)
	fixed    []string // symbols whose holdouts were fixed
}

func (f *fakeDesk) FixHoldouts(_ context.Context, symbol string) error {
	f.fixed = append(f.fixed, symbol)
	return nil
}

func (f *fakeDesk) File(_ context.Context, op ktrdr.Operation, name string) ([]byte, error) {
	return f.made(op, name)
}

func (f *fakeDesk) Pin(_ context.Context, id ktrdr.OperationID, pinned bool) (ktrdr.Operation, error) {
	return f.pinned(id, pinned)
}

func (f *fakeDesk) Training(_ context.Context, r jobs.TrainingRequest) (jobs.Accepted, error) {
	return f.training(r)
}

func (f *fakeDesk) Backtest(_ context.Context, r jobs.BacktestRequest) (jobs.Accepted, error) {
	return f.backtest(r)
}

func (f *fakeDesk) DataFetch(context.Context, jobs.DataFetchRequest) (jobs.Accepted, error) {
	return jobs.Accepted{Operation: ktrdr.NewOperation{Type: ktrdr.DataFetch}}, nil
}

func (f *fakeDesk) DataLoad(_ context.Context, r jobs.DataLoadRequest) (jobs.Accepted, error) {
	return f.load(r)
}

func (f *fakeDesk) Predict(_ context.Context, r jobs.PredictionRequest) (jobs.Prediction, error) {
	return f.predict(r)
}

func (f *fakeDesk) Models(_ context.Context, limit int, cursor string) ([]jobs.TrainedModel, string, error) {
	return f.models(limit, cursor)
}

func (f *fakeDesk) Strategies(context.Context) ([]jobs.Strategy, error) { return nil, nil }
func (f *fakeDesk) Indicators() []indicator.Description {
	return []indicator.Description{{Name: "rsi"}}
}

func (f *fakeDesk) CheckSeries(_ context.Context, symbol, timeframe string) (jobs.SeriesCheck, error) {
	return jobs.SeriesCheck{Symbol: symbol, Timeframe: timeframe, OK: true}, nil
}

func (f *fakeDesk) DeleteSeries(_ context.Context, symbol, timeframe string) (jobs.DeletedSeries, error) {
	return jobs.DeletedSeries{Symbol: symbol, Timeframe: timeframe, Series: 2}, nil
}

func (f *fakeDesk) RenameSeries(_ context.Context, r jobs.RenameRequest) ([]jobs.LibrarySeries, error) {
	return []jobs.LibrarySeries{{Symbol: r.NewSymbol}}, nil
}

func (f *fakeDesk) ValidateStrategy(text string) strategy.Validation {
	return strategy.Validate([]byte(text), "strategy")
}

func (f *fakeDesk) AddStrategy(_ context.Context, r jobs.StrategyRequest) (jobs.Strategy, error) {
	return jobs.Strategy{Name: r.Name, From: "lab"}, nil
}

func (f *fakeDesk) DeleteStrategy(_ context.Context, name string) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "no strategy %s", name)
}

func (f *fakeDesk) Series(context.Context) ([]jobs.LibrarySeries, error) {
	return []jobs.LibrarySeries{{Symbol: "EURUSD"}}, nil
}

func (f *fakeDesk) DecideMarket(_ context.Context, r jobs.MarketRequest) (jobs.LibrarySeries, error) {
	return jobs.LibrarySeries{Symbol: r.Symbol, Timeframe: r.Timeframe, Market: "mkt_1", MarketReason: "same market as " + r.SameMarketAs}, nil
}

func (f *fakeDesk) AcceptFindings(_ context.Context, r jobs.AcceptRequest, by string) (jobs.LibrarySeries, error) {
	return jobs.LibrarySeries{
		Symbol: r.Symbol, Timeframe: r.Timeframe, Accepted: []ktrdr.AcceptedFinding{{Finding: strings.Join(r.Findings, " "), By: by}},
	}, nil
}

func (f *fakeDesk) Bars(_ context.Context, symbol, timeframe string, q jobs.BarsQuery) (jobs.SeriesBars, error) {
	return jobs.SeriesBars{Symbol: symbol + timeframe, HoldoutFrom: q.From, Selected: q.Points}, nil
}

func (f *fakeDesk) Inputs(_ context.Context, op ktrdr.Operation, q jobs.InputsQuery) (jobs.Inputs, error) {
	return jobs.Inputs{Symbol: q.Symbol, First: q.Limit}, nil
}

func (f *fakeDesk) Columns(_ context.Context, op ktrdr.Operation, q jobs.Page) (jobs.Columns, error) {
	return f.columns(op, q)
}

func TestLab_StartsWhatTheDeskMakesOfARequest(t *testing.T) {
	seed := uint64(7)
	want := jobs.TrainingRequest{StrategyName: "rsi", Symbol: "EURUSD", StartDate: "2020-01-01", Seed: &seed}
	made := ktrdr.NewOperation{Type: ktrdr.Training, Spec: json.RawMessage(`{"a":1}`)}
	desk := &fakeDesk{training: func(r jobs.TrainingRequest) (jobs.Accepted, error) {
		if !reflect.DeepEqual(r, want) {
			t.Errorf("request %+v, want %+v", r, want)
		}
		return jobs.Accepted{Operation: made, Warnings: []string{"no input uses it"}}, nil
	}}
	engine := &fakeEngine{submit: func(op ktrdr.NewOperation, _ ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
		if string(op.Spec) != string(made.Spec) {
			t.Errorf("spec %s, want the desk's", op.Spec)
		}
		return ktrdr.Operation{ID: testOp, Status: ktrdr.Pending}, nil
	}}
	st := serve(t, engine, func(c *Config) { c.Desk = desk })
	for _, path := range []string{"/api/v1/training/start", "/api/v1/trainings/start"} {
		a := st.send(t, http.MethodPost, path, `{"strategy_name":"rsi","symbol":"EURUSD","start_date":"2020-01-01","seed":7}`)
		var got api.Started
		if err := json.Unmarshal(a.parsed.Data, &got); err != nil || a.status != http.StatusAccepted || got.Operation != testOp ||
			len(got.Warnings) != 1 {
			t.Errorf("%s: %d %s, want 202 with the operation and its warning", path, a.status, a.body)
		}
	}
}

func TestLab_AsksTheDeskForAPrediction(t *testing.T) {
	want := jobs.PredictionRequest{Model: "op_x", Symbol: "EURUSD", Last: 2, OpenHoldout: true}
	said := jobs.Prediction{
		Strategy: "rsi", Symbol: "EURUSD", Timeframe: "1h", Classes: []string{"buy", "sell"}, Warnings: []string{"it is a look"},
		Bars: []jobs.PredictedBar{
			{
				Time: time.Unix(3600, 0).UTC(), Closed: time.Unix(7200, 0).UTC(), Close: 1.25, Signal: "BUY", Confidence: 0.5,
				Answers: []float32{0.5, 0.25},
			},
		},
		Look: []ktrdr.LookMarket{{Market: "mkt_1", Number: 3}},
	}
	st := serve(t, &fakeEngine{}, func(c *Config) {
		c.Desk = &fakeDesk{predict: func(r jobs.PredictionRequest) (jobs.Prediction, error) {
			if r != want {
				t.Errorf("request %+v, want %+v", r, want)
			}
			return said, nil
		}}
	})
	a := st.send(t, http.MethodPost, "/api/v1/predictions", `{"model":"op_x","symbol":"EURUSD","last":2,"open_holdout":true}`)
	var got jobs.Prediction
	if err := json.Unmarshal(a.parsed.Data, &got); err != nil || a.status != http.StatusOK || !reflect.DeepEqual(got, said) {
		t.Errorf("%d %s, want the desk's answer", a.status, a.body)
	}
	if a := st.send(t, http.MethodPost, "/api/v1/predictions", `{"model":"op_x","open":true}`); a.status != http.StatusBadRequest {
		t.Errorf("a field that there is not: %d, want 400", a.status)
	}
}

func TestLab_AsksTheDeskForAMarket(t *testing.T) {
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Desk = &fakeDesk{} })
	a := st.send(t, http.MethodPost, "/api/v1/data/market", `{"symbol":"EURUSD","timeframe":"1h","same_market_as":"X"}`)
	var got jobs.LibrarySeries
	if err := json.Unmarshal(a.parsed.Data, &got); err != nil || a.status != http.StatusOK || got.Market != "mkt_1" ||
		got.MarketReason != "same market as X" {
		t.Errorf("%d %s, want the desk's answer", a.status, a.body)
	}
}

func TestLab_ARefusedRequestCreatesNothing(t *testing.T) {
	refuse := func() (jobs.Accepted, error) {
		return jobs.Accepted{}, ktrdr.Errorf(ktrdr.CodeInvalid, "there are no 1h bars of EURUSD")
	}
	desk := &fakeDesk{
		training: func(jobs.TrainingRequest) (jobs.Accepted, error) { return refuse() },
		backtest: func(jobs.BacktestRequest) (jobs.Accepted, error) { return refuse() },
		load:     func(jobs.DataLoadRequest) (jobs.Accepted, error) { return refuse() },
	}
	engine := &fakeEngine{submit: func(op ktrdr.NewOperation, _ ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
		t.Errorf("%s was submitted", op.Type)
		return ktrdr.Operation{}, nil
	}}
	st := serve(t, engine, func(c *Config) { c.Desk = desk })
	for path, body := range map[string]string{
		"/api/v1/training/start":  `{"strategy_name":"x"}`,
		"/api/v1/backtests/start": `{"model":"op_x"}`,
		"/api/v1/data/load":       `{"path":"x.csv","symbol":"EURUSD"}`,
	} {
		a := st.send(t, http.MethodPost, path, body)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.parsed.Error.Message, "no 1h bars") {
			t.Errorf("%s: %d %s, want 422 with the desk's sentence", path, a.status, a.body)
		}
	}
	if a := st.send(t, http.MethodPost, "/api/v1/training/start", `{"strategy_nam":"x"}`); a.status != http.StatusBadRequest {
		t.Errorf("a misspelt field: %d %s, want 400", a.status, a.body)
	}
}

func TestResults_ListFilesAndPagesOfColumns(t *testing.T) {
	result := `{"summary":"fine","artifacts":[{"name":"backtest.ktbt","sha256":"` + strings.Repeat("ab", 32) + `","size":12}]}`
	engine := &fakeEngine{operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
		return ktrdr.Operation{ID: id, Type: ktrdr.Backtesting, Status: ktrdr.Completed, Result: json.RawMessage(result)}, nil
	}}
	var asked jobs.Page
	desk := &fakeDesk{columns: func(_ ktrdr.Operation, q jobs.Page) (jobs.Columns, error) {
		asked = q
		return jobs.Columns{
			Trades: []jobs.Trade{{Side: "long"}}, Equity: []jobs.Point{{Time: time.Unix(0, 0), Value: 1}},
			Curve: &evidence.Curve{Years: []evidence.Year{{Year: 2020}}}, More: true,
		}, nil
	}}
	st := serve(t, engine, func(c *Config) { c.Desk = desk })
	path := "/api/v1/operations/" + string(testOp) + "/results"
	a := st.send(t, http.MethodGet, path+"?include=trades,equity,curve&limit=2&cursor=4", "")
	var got api.Results
	if err := json.Unmarshal(a.parsed.Data, &got); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	if asked != (jobs.Page{Trades: true, Equity: true, Curve: true, From: 4, Limit: 2}) {
		t.Errorf("asked for %+v, want two entries from 4 on, and the curve", asked)
	}
	if a.parsed.Next != "6" || len(got.Trades) != 1 || len(got.Equity) != 1 || got.Positions != nil || got.Curve == nil ||
		got.Curve.Years[0].Year != 2020 {
		t.Errorf("page %s, next %q, want trades and equity, and 6", a.parsed.Data, a.parsed.Next)
	}
	if len(got.Artifacts) != 1 || got.Artifacts[0].URL != path[:len(path)-len("/results")]+"/files/"+got.Artifacts[0].Name {
		t.Errorf("artifacts %+v, want the one of the result with its URL", got.Artifacts)
	}
	asked = jobs.Page{}
	if st.send(t, http.MethodGet, path, ""); asked != (jobs.Page{}) {
		t.Error("columns were read without being asked for")
	}
	st.send(t, http.MethodGet, path+"?include=trades,equity&trades=worst&points=400", "")
	if asked != (jobs.Page{Trades: true, Equity: true, Limit: smallPage, WorstFirst: true, Points: 400}) {
		t.Errorf("asked for %+v, want the worst trades and 400 points", asked)
	}
	st.send(t, http.MethodGet, path+"?include=equity&points=400&from=2020-01-02T00:00:00Z&to=2020-01-03T00:00:00Z", "")
	if day := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC); !asked.Start.Equal(day) || !asked.End.Equal(day.AddDate(0, 0, 1)) {
		t.Errorf("asked for %+v, want 2 January", asked)
	}
	for _, bad := range []string{
		"?include=equity&from=2020-01-02T00:00:00Z", "?include=trades&trades=best", "?include=equity&points=3", "?include=weights", "?limit=5",
		"?include=trades&cursor=-1", "?include=trades&limit=1001",
	} {
		if a := st.send(t, http.MethodGet, path+bad, ""); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", bad, a.status)
		}
	}
}

func TestLab_ShowsBarsAndInputs(t *testing.T) {
	engine := &fakeEngine{operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
		return ktrdr.Operation{ID: id, Type: ktrdr.Training, Status: ktrdr.Completed}, nil
	}}
	st := serve(t, engine)
	for path, want := range map[string]string{
		"/api/v1/data/EURUSD/1h/bars?from=2020-01-02&points=7":                   `"holdout_from":"2020-01-02T00:00:00Z","selected":7`,
		"/api/v1/data/EURUSD/1h/bars?from=2020-01-02T03:00:00Z":                  `"holdout_from":"2020-01-02T03:00:00Z"`,
		"/api/v1/operations/" + string(testOp) + "/inputs?symbol=EURUSD&limit=9": `"first":9`,
		"/api/v1/data/EURUSD/1h/bars?from=yesterday":                             "is an instant such as",
	} {
		if a := st.send(t, http.MethodGet, path, ""); !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %s, want %s", path, a.body, want)
		}
	}
}

func TestLab_ListsArePagesAndNeverNull(t *testing.T) {
	desk := &fakeDesk{models: func(limit int, cursor string) ([]jobs.TrainedModel, string, error) {
		if limit != 3 || cursor != "c" {
			t.Errorf("asked for %d from %q, want 3 from c", limit, cursor)
		}
		return nil, "d", nil
	}}
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Desk = desk })
	if a := st.send(t, http.MethodGet, "/api/v1/models?limit=3&cursor=c", ""); string(a.parsed.Data) != "[]" || a.parsed.Next != "d" {
		t.Errorf("models: %s", a.body)
	}
	for path, want := range map[string]string{"/api/v1/strategies": "[]", "/api/v1/indicators": "rsi", "/api/v1/data": "EURUSD"} {
		if a := st.send(t, http.MethodGet, path, ""); a.status != http.StatusOK || !strings.Contains(string(a.parsed.Data), want) {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
	}
}
