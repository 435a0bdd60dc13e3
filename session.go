package ktrdr

import (
	"context"
	"time"
)

// Sessions keeps browsers that are signed in, and links that sign one in. Both
// are kept by the sha256 of their secret and speak for a token: they end when it
// is revoked.
//
//	token ──> link, 10 minutes, once ──> session
type Sessions interface {
	// AddLink keeps a link to a token; CodeNotFound when there is no such token,
	// or it is revoked.
	AddLink(ctx context.Context, link Hash, token string, lasts time.Duration) error

	// SpendLink ends a link and begins a session for its token; CodeNotFound
	// when there is no such link, it was spent or has expired, or its token is
	// revoked. Of two calls with one link, one succeeds.
	SpendLink(ctx context.Context, link, session Hash, lasts time.Duration) (Token, error)

	// SessionToken returns the token that a session speaks for; CodeNotFound
	// when there is no such session, it ended or has expired, or its token is
	// revoked.
	SessionToken(ctx context.Context, session Hash) (Token, error)

	// EndSession signs a browser out; again it changes nothing.
	EndSession(ctx context.Context, session Hash) error
}
