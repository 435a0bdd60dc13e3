package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/ktrdr/ktrdr"
)

// NewChild makes a server for one child process of a backend: the routes of
// workers and of blobs, and nothing else, for the holder of the token.
func NewChild(w Work, b Blobs, token ktrdr.Token, log *slog.Logger) *Server {
	s := &Server{
		engine: childEngine{Work: w, Blobs: b}, log: log, auth: true, hosts: map[string]bool{},
		limiter: newLimiter(childConns, log), grace: time.Second, keys: keyring{tokens: oneToken{token: token}},
		mux: http.NewServeMux(), metrics: newMetrics(),
	}
	s.bind(append(workRows(), blobRows()...))
	return s
}

// childConns is more than the calls that one worker makes at once.
const childConns = 64

// childEngine is an engine of which only Work and Blobs are there. No other
// part is reached: their routes are not served.
type childEngine struct {
	Work
	Blobs
	unreached
}

type unreached struct{ Engine }

// oneToken knows one token.
type oneToken struct {
	unreached
	token ktrdr.Token
}

// TokenByHash implements Tokens.
func (o oneToken) TokenByHash(_ context.Context, h ktrdr.Hash) (ktrdr.Token, error) {
	if h != o.token.Hash {
		return ktrdr.Token{}, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no token with the hash %s", h)
	}
	return o.token, nil
}
