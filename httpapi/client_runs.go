package httpapi

import (
	"context"
	"net/url"

	"github.com/ktrdr/ktrdr"
)

// This file is the client's side of runs and looks.

func runPath(id string) string { return "runs/" + url.PathEscape(id) }

// Run returns one run; CodeNotFound.
func (cl *Client) Run(ctx context.Context, id string) (out ktrdr.Run, err error) {
	_, err = cl.get(ctx, runPath(id), nil, &out)
	return out, err
}

// Runs returns a page of runs, newest first.
func (cl *Client) Runs(ctx context.Context, q ktrdr.RunQuery) (page ktrdr.RunPage, err error) {
	query := url.Values{}
	for _, state := range q.State {
		query.Add("state", string(state))
	}
	setSort(query, q.Sort)
	setPage(query, q.Limit, q.Cursor)
	page.Next, err = cl.get(ctx, "runs", query, &page.Runs)
	return page, err
}

// CancelRun cancels a run: nothing of it starts afterwards. CodeConflict when it
// has ended.
func (cl *Client) CancelRun(ctx context.Context, id, reason string) (out ktrdr.Run, err error) {
	query := url.Values{}
	if reason != "" {
		query.Set("reason", reason)
	}
	err = cl.delete(ctx, runPath(id), query, &out)
	return out, err
}

// Looks returns a page of looks at holdouts, newest first.
func (cl *Client) Looks(ctx context.Context, q ktrdr.LookQuery) (page ktrdr.LookPage, err error) {
	query := runQuery(q.Run)
	if q.Market != "" {
		query.Set("market", q.Market)
	}
	if q.Research != "" {
		query.Set("research", string(q.Research))
	}
	if q.Claims {
		query.Set("claims", "true")
	}
	setPage(query, q.Limit, q.Cursor)
	page.Next, err = cl.get(ctx, "looks", query, &page.Looks)
	return page, err
}
