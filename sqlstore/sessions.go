package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	insertSession query = `INSERT INTO sessions (hash, token_id, link, created_at, expires_at)
		SELECT $1, id, $3, {now}, {now} + $4 FROM tokens WHERE id = $2 AND revoked_at IS NULL`
	deleteSession query = `DELETE FROM sessions WHERE hash = $1 AND link = $2`
	deleteExpired query = `DELETE FROM sessions WHERE expires_at <= {now}`
	selectSigned  query = `SELECT t.id, t.name, t.scope, t.hash, t.created_at, COALESCE(t.revoked_at, 0)
		FROM sessions AS s JOIN tokens AS t ON t.id = s.token_id
		WHERE s.hash = $1 AND s.link = $2 AND s.expires_at > {now} AND t.revoked_at IS NULL`
)

// AddLink implements ktrdr.Sessions. What has expired is deleted then.
func (s *Store) AddLink(ctx context.Context, link ktrdr.Hash, token string, lasts time.Duration) error {
	missing := ktrdr.Errorf(ktrdr.CodeNotFound, "there is no token %q, or it was revoked", clip(token))
	if !storable(token, 255) {
		return missing
	}
	return s.write(ctx, normal, func(t *tx) error {
		if _, err := t.exec(ctx, deleteExpired); err != nil {
			return err
		}
		n, err := t.exec(ctx, insertSession, link.String(), token, bit(true), lasts.Microseconds())
		if err == nil && n == 0 {
			return missing
		}
		return err
	})
}

// SpendLink implements ktrdr.Sessions. The row of the link is deleted in the
// transaction that makes the session, so that it is spent once.
func (s *Store) SpendLink(ctx context.Context, link, session ktrdr.Hash, lasts time.Duration) (k ktrdr.Token, err error) {
	err = s.write(ctx, normal, func(t *tx) error {
		k, err = scanToken(t.row(ctx, selectSigned, link.String(), bit(true)))
		if errors.Is(err, sql.ErrNoRows) {
			return errNoLink
		}
		if err != nil {
			return err
		}
		if n, err := t.exec(ctx, deleteSession, link.String(), bit(true)); err != nil || n == 0 {
			return errors.Join(err, errNoLink)
		}
		_, err = t.exec(ctx, insertSession, session.String(), k.ID, bit(false), lasts.Microseconds())
		return err
	})
	return k, err
}

var errNoLink = ktrdr.Errorf(ktrdr.CodeNotFound,
	"this link was used before, has expired, or its token was revoked; make a new one with `ktrdr token link`")

// SessionToken implements ktrdr.Sessions.
func (s *Store) SessionToken(ctx context.Context, session ktrdr.Hash) (ktrdr.Token, error) {
	k, err := readRow(ctx, s, scanToken, selectSigned, session.String(), bit(false))
	if errors.Is(err, sql.ErrNoRows) {
		err = ktrdr.Errorf(ktrdr.CodeNotFound, "the session has ended")
	}
	return k, err
}

// EndSession implements ktrdr.Sessions.
func (s *Store) EndSession(ctx context.Context, session ktrdr.Hash) error {
	return s.write(ctx, normal, func(t *tx) error {
		_, err := t.exec(ctx, deleteSession, session.String(), bit(false))
		return err
	})
}
