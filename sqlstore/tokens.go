package sqlstore

import (
	"context"
	"slices"

	"github.com/ktrdr/ktrdr"
)

const (
	insertToken query = `INSERT INTO tokens (id, name, scope, hash, created_at)
		VALUES ($1, $2, $3, $4, {now}) ON CONFLICT DO NOTHING`
	revokeOne         query = `UPDATE tokens SET revoked_at = COALESCE(revoked_at, {now}) WHERE id = $1`
	accessColumns           = `SELECT id, name, scope, hash, created_at, COALESCE(revoked_at, 0) FROM tokens `
	selectTokens      query = accessColumns + `ORDER BY created_at, id`
	selectTokenByHash query = accessColumns + `WHERE hash = $1 AND revoked_at IS NULL`
)

// AddToken implements ktrdr.Store. CodeConflict when the id or the hash is
// there already.
func (s *Store) AddToken(ctx context.Context, k ktrdr.Token) error {
	if !slices.Contains(ktrdr.Scopes, k.Scope) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a scope; the scopes are admin, worker, read and assistant", clip(string(k.Scope)))
	}
	if k.ID == "" || !storable(k.ID, 255) || !storable(k.Name, 255) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a token needs an id, and neither it nor the name may be over 255 bytes of text")
	}
	n, err := s.exec(ctx, insertToken, k.ID, k.Name, k.Scope, k.Hash.String())
	if err == nil && n == 0 {
		err = ktrdr.Errorf(ktrdr.CodeConflict, "token %s exists already", k.ID)
	}
	return err
}

// Tokens implements ktrdr.Store; the revoked ones are among them.
func (s *Store) Tokens(ctx context.Context) ([]ktrdr.Token, error) {
	return readAll(ctx, s, scanToken, selectTokens)
}

// RevokeToken implements ktrdr.Store. CodeNotFound; a second time changes
// nothing.
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	missing := ktrdr.Errorf(ktrdr.CodeNotFound, "there is no token %q", clip(id))
	if !storable(id, 255) {
		return missing
	}
	n, err := s.exec(ctx, revokeOne, id)
	if err == nil && n == 0 {
		return missing
	}
	return err
}

// TokenByHash implements ktrdr.Store. CodeNotFound when the hash is unknown, or it
// is revoked.
func (s *Store) TokenByHash(ctx context.Context, h ktrdr.Hash) (ktrdr.Token, error) {
	k, err := readRow(ctx, s, scanToken, selectTokenByHash, h.String())
	return k, ifNoRow(err, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no such token, or it was revoked"))
}

var scanToken = fields(func(k *ktrdr.Token) []any {
	return []any{&k.ID, &k.Name, &k.Scope, (*digest)(&k.Hash), (*moment)(&k.CreatedAt), (*moment)(&k.RevokedAt)}
})
