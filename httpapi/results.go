package httpapi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
)

func (s *Server) results(c *call, in api.ResultsRequest) (api.Results, error) {
	op, err := s.engine.Operation(c.Context(), in.ID)
	if err != nil {
		return api.Results{}, err
	}
	q, err := columns(in)
	if err != nil {
		return api.Results{}, err
	}
	r := api.Results{
		Operation: op.ID, Type: op.Type, Status: op.Status, Results: op.Result, Artifacts: downloads(op), Compacted: op.Compacted,
		ErrorMessage: op.ErrorMessage, Error: op.Error,
	}
	if err := s.addLedger(c, op, &r); err != nil {
		return r, err
	}
	if r.Ladder, err = s.research.Ladder(c.Context(), op); err != nil || len(in.Include) == 0 {
		return r, err
	}
	columns, err := s.desk.Columns(c.Context(), op, q)
	if err != nil {
		return api.Results{}, err
	}
	r.Trades, r.Equity, r.Positions, r.Curve = columns.Trades, columns.Equity, columns.Positions, columns.Curve
	r.Accounts, r.Returns = columns.Accounts, columns.Returns
	if columns.More {
		c.next = strconv.Itoa(q.From + q.Limit)
	}
	return r, nil
}

// addLedger adds what the ledger knows of an operation that a person started, or
// of a confirmation.
func (s *Server) addLedger(c *call, op ktrdr.Operation, r *api.Results) error {
	if op.Parent != "" || s.types[op.Type].Ledger == nil {
		return nil
	}
	page, err := s.engine.Trials(c.Context(), ktrdr.TrialQuery{Of: []ktrdr.OperationID{op.ID}, Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Trials) > 0 {
		r.Trial = &page.Trials[0]
	}
	if err := s.addExamination(c, r); err != nil {
		return err
	}
	if s.types[op.Type].Plan != nil { // looks at what its children made
		looks, err := s.engine.Looks(c.Context(), ktrdr.LookQuery{Research: op.ID})
		r.Looks = looks.Looks
		return cmp.Or(err, s.quote(c, r))
	}
	look, err := s.engine.LookOf(c.Context(), op.ID)
	if err == nil {
		r.Looks = []ktrdr.Look{look}
		return s.quote(c, r)
	} else if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil
	}
	return err
}

// addExamination adds what the examination of a finalist found.
func (s *Server) addExamination(c *call, r *api.Results) error {
	if r.Trial == nil || r.Trial.Examination == "" {
		return nil
	}
	op, err := s.engine.Operation(c.Context(), r.Trial.Examination)
	if err != nil || op.Status != ktrdr.Completed {
		return err
	}
	x, err := jobs.ReadExamination(&op)
	r.Examination = &x
	return err
}

// columns says which columns are wanted, and which page of them.
func columns(in api.ResultsRequest) (q jobs.Page, err error) {
	if len(in.Include) == 0 && in.Page != (api.Page{}) {
		return q, malformed("the query parameters limit and cursor are for columns: say which with include")
	}
	has := func(name string) bool { return slices.Contains(in.Include, name) }
	q = jobs.Page{
		Trades: has("trades"), Equity: has("equity"), Positions: has("positions"), Curve: has("curve"), Returns: has("returns"),
		Limit: cmp.Or(in.Limit, smallPage), WorstFirst: in.Trades == "worst", Since: in.Since, Points: in.Points, Start: in.From, End: in.To,
	}
	if in.Points == 0 && (!in.From.IsZero() || !in.To.IsZero()) {
		return q, malformed("the query parameters from and to are for the equity in points: say how many with points")
	}
	if in.Points != 0 && in.Points < leastPoints {
		return q, malformed("the query parameter points is %d; it must be %d to %d", in.Points, leastPoints, maxPage)
	}
	if in.Cursor == "" {
		return q, nil
	}
	if q.From, err = strconv.Atoi(in.Cursor); err != nil || q.From < 0 {
		return q, malformed("the query parameter cursor is the next_cursor of the page before, not %.40q", in.Cursor)
	}
	return q, nil
}

const leastPoints = 4 // of a curve: its ends and its extremes

// inputs shows what a training reads.
func (s *Server) inputs(c *call, in api.InputsRequest) (jobs.Inputs, error) {
	op, err := s.engine.Operation(c.Context(), in.ID)
	if err != nil {
		return jobs.Inputs{}, err
	}
	return s.desk.Inputs(c.Context(), op, in.InputsQuery)
}

func (s *Server) seriesBars(c *call, in api.BarsRequest) (jobs.SeriesBars, error) {
	return s.desk.Bars(c.Context(), in.Symbol, in.Timeframe, in.BarsQuery)
}

// downloads are the files that a result names as its artifacts.
func downloads(op ktrdr.Operation) []api.Download {
	var r struct {
		Artifacts []ktrdr.Artifact `json:"artifacts"`
	}
	_ = json.Unmarshal(op.Result, &r) // a result without any names none
	list := []api.Download{}
	for _, a := range r.Artifacts {
		at, _, _ := api.File.Request(api.FileRequest{ByID: api.ByID{ID: op.ID}, Name: a.Name})
		list = append(list, api.Download{Artifact: a, URL: at})
	}
	return list
}
