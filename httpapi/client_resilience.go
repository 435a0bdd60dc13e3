package httpapi

import (
	"context"
	"net/url"

	"github.com/ktrdr/ktrdr/resilience"

	"github.com/ktrdr/ktrdr"
)

// This file is the client's side of circuit breakers, degradation and models.

// Breakers returns every breaker.
func (cl *Client) Breakers(ctx context.Context) (out []resilience.Status, err error) {
	_, err = cl.get(ctx, "breakers", nil, &out)
	return out, err
}

// BreakerHistory returns changes, newest first; of all breakers for no name.
func (cl *Client) BreakerHistory(ctx context.Context, name string, limit int) (out []ktrdr.BreakerChange, err error) {
	query := url.Values{}
	if name != "" {
		query.Set("name", name)
	}
	setPage(query, limit, "")
	_, err = cl.get(ctx, "breakers/history", query, &out)
	return out, err
}

// ResetBreaker closes a breaker.
func (cl *Client) ResetBreaker(ctx context.Context, name string, d resilience.HumanDecision) (out resilience.Decided, err error) {
	return cl.decide(ctx, name, "reset", d)
}

// ForceBreaker holds a breaker in a state, or sets it back to automatic.
func (cl *Client) ForceBreaker(ctx context.Context, name string, d resilience.HumanDecision) (out resilience.Decided, err error) {
	return cl.decide(ctx, name, "force", d)
}

func (cl *Client) decide(ctx context.Context, name, what string, d resilience.HumanDecision) (out resilience.Decided, err error) {
	err = cl.post(ctx, "breakers/"+url.PathEscape(name)+"/"+what, d, &out)
	return out, err
}

// Degradation returns how much of its service the system gives.
func (cl *Client) Degradation(ctx context.Context) (out resilience.DegradationStatus, err error) {
	_, err = cl.get(ctx, "degradation", nil, &out)
	return out, err
}
