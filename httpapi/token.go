package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
)

const (
	tokenPrefix = "ktrdr_"
	tokenBytes  = 32
	tokenMemory = 5 * time.Second // how long a looked-up token is believed; a revocation shows within it
	tokensKept  = 1024
)

// NewToken makes a token: the secret to show once, and what to keep of it.
func NewToken(name string, scope ktrdr.Scope) (ktrdr.Secret, ktrdr.Token) {
	var raw [tokenBytes]byte
	var id [8]byte
	_, _ = rand.Read(raw[:]) // never fails since Go 1.24
	_, _ = rand.Read(id[:])
	secret := tokenPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	return ktrdr.Secret(secret), ktrdr.Token{
		ID: "tok_" + hex.EncodeToString(id[:]), Name: name, Scope: scope,
		Hash: HashToken(ktrdr.Secret(secret)), CreatedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// HashToken is what is stored of a token. A fast hash is enough: 256 random
// bits cannot be guessed, however fast one tries.
func HashToken(secret ktrdr.Secret) ktrdr.Hash { return sha256.Sum256([]byte(secret.Reveal())) }

// keyring remembers for a moment whose token is whose, so that a heartbeat
// does not cost a query. It looks tokens up by hash: how long a comparison
// takes tells nothing about a token.
type keyring struct {
	tokens Tokens

	mu    sync.Mutex
	known map[ktrdr.Hash]knownToken
}

type knownToken struct {
	token ktrdr.Token
	until time.Time
}

// find returns the token with this hash: CodeUnauthorized when the hash is unknown
// or it was revoked.
func (k *keyring) find(ctx context.Context, h ktrdr.Hash) (ktrdr.Token, error) {
	k.mu.Lock()
	known, ok := k.known[h]
	k.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.token, nil
	}
	until := time.Now().Add(tokenMemory) // from before the lookup: its answer may be that old
	token, err := k.tokens.TokenByHash(ctx, h)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound || err == nil && !token.RevokedAt.IsZero() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.known, h)
		return ktrdr.Token{}, errNoToken
	}
	if err != nil {
		return ktrdr.Token{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= tokensKept {
		k.known = make(map[ktrdr.Hash]knownToken)
	}
	k.known[h] = knownToken{token, until}
	return token, nil
}

// forget drops everything: a token was revoked.
func (k *keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.known)
}

// errNoToken is one sentence for a missing, a wrong and a revoked token: the
// client does not learn which of them it was.
var errNoToken = ktrdr.Errorf(ktrdr.CodeUnauthorized,
	"a valid token is needed: send the header Authorization: Bearer …; it is in the file `token` of the data folder, "+
		"and `ktrdr token create` makes more")

// authenticate returns whose request it is.
func (s *Server) authenticate(r *http.Request) (ktrdr.Token, error) {
	if !s.auth {
		return ktrdr.Token{ID: "none", Scope: ktrdr.ScopeAdmin}, nil
	}
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return ktrdr.Token{}, errNoToken
	}
	scheme, secret, ok := strings.Cut(given[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || !wellFormed(secret) {
		return ktrdr.Token{}, errNoToken
	}
	return s.keys.find(r.Context(), HashToken(ktrdr.Secret(secret)))
}

// wellFormed keeps guesses that cannot be tokens away from the store.
func wellFormed(secret string) bool {
	tail, ok := strings.CutPrefix(secret, tokenPrefix)
	return ok && len(tail) == base64.RawURLEncoding.EncodedLen(tokenBytes)
}

func (s *Server) createToken(c *call, in api.NewTokenRequest) (api.NewTokenReply, error) {
	switch {
	case in.Name == "" || len(in.Name) > 128:
		return api.NewTokenReply{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a token's name has 1 to 128 characters, so that you know later whose it is")
	case !slices.Contains(ktrdr.Scopes, in.Scope):
		return api.NewTokenReply{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a token has no scope %.40q; %s", string(in.Scope),
			text.Choices(string(in.Scope), ktrdr.Scopes))
	}
	secret, token := NewToken(in.Name, in.Scope)
	if err := s.engine.AddToken(c.Context(), token); err != nil {
		return api.NewTokenReply{}, err
	}
	s.log.InfoContext(c.Context(), "token created", "token", token.ID, "scope", token.Scope, "by", c.token.ID)
	return api.NewTokenReply{Token: token, Secret: secret.Reveal()}, nil
}

func (s *Server) revokeToken(c *call, in api.ByKey) (api.None, error) {
	id := in.ID
	if len(id) > 64 || !strings.HasPrefix(id, "tok_") {
		return api.None{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no such token; `ktrdr token list` shows them")
	}
	if err := s.engine.RevokeToken(c.Context(), id); err != nil {
		return api.None{}, err
	}
	s.keys.forget()
	s.log.InfoContext(c.Context(), "token revoked", "token", id, "by", c.token.ID)
	return api.None{}, nil
}
