package api

import (
	"context"

	"github.com/ktrdr/ktrdr"
)

type callerKey struct{}

// As returns a context whose requests are made by a token that was checked before. It
// works inside the process only: a context does not cross the network.
func As(ctx context.Context, t ktrdr.Token) context.Context {
	return context.WithValue(ctx, callerKey{}, t)
}

// Caller is the token of a context that As made.
func Caller(ctx context.Context) (ktrdr.Token, bool) {
	t, ok := ctx.Value(callerKey{}).(ktrdr.Token)
	return t, ok
}
