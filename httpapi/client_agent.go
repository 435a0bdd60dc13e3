package httpapi

import (
	"context"
	"net/url"

	"github.com/ktrdr/ktrdr/research"

	"github.com/ktrdr/ktrdr"
)

// This file is the client's side of researches.

// Trigger starts researches. A key makes the call repeatable; it may be empty.
func (cl *Client) Trigger(ctx context.Context, r research.Request, key string) (out research.Triggered, err error) {
	_, err = cl.call(ctx, creating("agent/trigger", key), r, &out)
	return out, err
}

// ResearchStatus returns how research stands, with the first of those that wait.
func (cl *Client) ResearchStatus(ctx context.Context) (out research.Status, err error) {
	_, err = cl.get(ctx, "agent/status", nil, &out)
	return out, err
}

// CancelResearch cancels one research and its children.
func (cl *Client) CancelResearch(ctx context.Context, id ktrdr.OperationID, reason string) (out CancelReply, err error) {
	query := url.Values{}
	if reason != "" {
		query.Set("reason", reason)
	}
	err = cl.delete(ctx, "agent/cancel/"+url.PathEscape(string(id)), query, &out)
	return out, err
}

// Budget returns what may be spent on models today.
func (cl *Client) Budget(ctx context.Context) (out research.BudgetStatus, err error) {
	_, err = cl.get(ctx, "agent/budget", nil, &out)
	return out, err
}

// Memory returns a page of what researches left, and where the next begins.
func (cl *Client) Memory(ctx context.Context, q research.MemoryQuery) (out research.MemoryPage, next string, err error) {
	query := runQuery(q.Run)
	if q.Kind != "" {
		query.Set("kind", q.Kind)
	}
	setPage(query, q.Limit, q.Cursor)
	next, err = cl.get(ctx, "memory", query, &out)
	return out, next, err
}

func runQuery(run string) url.Values {
	query := url.Values{}
	if run != "" {
		query.Set("run", run)
	}
	return query
}
