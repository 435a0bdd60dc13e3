package httpapi

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"

	"github.com/ktrdr/ktrdr"
)

// Results is what an operation ended with; Results is null until it has. The
// columns are there when they were asked for.
type Results struct {
	Operation    ktrdr.OperationID `json:"operation_id"`
	Type         ktrdr.Type        `json:"operation_type"`
	Status       ktrdr.Status      `json:"status"`
	Results      json.RawMessage   `json:"results"`
	Artifacts    []Download        `json:"artifacts"`
	Compacted    bool              `json:"compacted,omitempty"` // its files are not kept; they are computed again on demand
	ErrorMessage string            `json:"error_message,omitempty"`
	Error        *ktrdr.Failure    `json:"error,omitempty"`

	Trades    []jobs.Trade          `json:"trades,omitempty"`
	Equity    []jobs.Point          `json:"equity,omitempty"` // of several symbols: the sum of their accounts
	Positions []jobs.Point          `json:"positions,omitempty"`
	Accounts  []jobs.AccountColumns `json:"accounts,omitempty"` // equity and positions of each symbol, where there are several
	Curve     *evidence.Curve       `json:"curve,omitempty"`
	Returns   []jobs.Point          `json:"returns,omitempty"` // net, of each day, as fractions

	Trial *ktrdr.Trial `json:"trial,omitempty"` // its row in the ledger, with the counts of its market now
	Looks []ktrdr.Look `json:"looks,omitempty"` // that it is, or that were made at the strategy of a research
}

// Download is a file that an operation made, and where its bytes are.
type Download struct {
	ktrdr.Artifact
	URL string `json:"url"`
}

// paramInclude is the columns that are asked for.
var paramInclude = param{
	name: "include", kind: kindString, doc: "what to send of a backtest too: " + strings.Join(jobs.ColumnNames, ", ") +
		"; a page of each, and what the whole curve shows", many: true,
}

const columnsPage = 100 // entries of each

func (s *Server) results(c *call, _ none) (Results, error) {
	op, err := s.operation(c, none{})
	if err != nil {
		return Results{}, err
	}
	q, wanted := c.columns()
	if c.query.err != nil {
		return Results{}, c.query.err
	}
	r := Results{
		Operation: op.ID, Type: op.Type, Status: op.Status, Results: op.Result, Artifacts: downloads(op), Compacted: op.Compacted,
		ErrorMessage: op.ErrorMessage, Error: op.Error,
	}
	if err := s.addLedger(c, op, &r); err != nil || !wanted {
		return r, err
	}
	columns, err := s.desk.Columns(c.Context(), op, q)
	if err != nil {
		return Results{}, err
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
func (s *Server) addLedger(c *call, op ktrdr.Operation, r *Results) error {
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
	if s.types[op.Type].Plan != nil { // looks at what its children made
		looks, err := s.engine.Looks(c.Context(), ktrdr.LookQuery{Research: op.ID})
		r.Looks = looks.Looks
		return err
	}
	look, err := s.engine.LookOf(c.Context(), op.ID)
	switch {
	case ktrdr.CodeOf(err) == ktrdr.CodeNotFound:
		return nil
	case err == nil:
		r.Looks = []ktrdr.Look{look}
	}
	return err
}

// columns reads which columns are wanted, and which page of them.
func (c *call) columns() (q jobs.Page, wanted bool) {
	names := c.query.several("include")
	for _, name := range names {
		switch name {
		case "trades":
			q.Trades = true
		case "equity":
			q.Equity = true
		case "positions":
			q.Positions = true
		case "curve":
			q.Curve = true
		case "returns":
			q.Returns = true
		default:
			unknown(&c.query, "include", name, jobs.ColumnNames)
		}
	}
	if q.Limit = c.query.count("limit", maxPage); q.Limit == 0 {
		q.Limit = columnsPage
	}
	if text := c.query.Get("cursor"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			c.query.fail("cursor", "is the next_cursor of the page before, not %.40q", text)
		}
		q.From = n
	}
	if len(names) == 0 && (c.query.Has("limit") || c.query.Has("cursor")) {
		c.query.fail("limit", "and cursor are for columns: say which with include")
	}
	return q, len(names) > 0
}

// downloads are the files that a result names as its artifacts. Those of a
// compacted operation are not in the blob store.
func downloads(op ktrdr.Operation) []Download {
	var r struct {
		Artifacts []ktrdr.Artifact `json:"artifacts"`
	}
	_ = json.Unmarshal(op.Result, &r) // a result without any names none
	list := []Download{}
	for _, a := range r.Artifacts {
		at := "/api/v1/blobs/" + a.SHA256.String()
		if op.Compacted {
			at = filePath(op.ID, a.Name)
		}
		list = append(list, Download{a, at})
	}
	return list
}
