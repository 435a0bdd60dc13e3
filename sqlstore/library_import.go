package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/ktrdr/ktrdr"
)

const (
	selectImported query = `SELECT imported FROM operations WHERE id = $1`
	lockImported   query = `SELECT imported FROM operations WHERE ` + held + ` {lock}`
	saveImported   query = `UPDATE operations SET imported = $2 WHERE id = $1`
)

// ImportBars implements ktrdr.Library.
func (s *Store) ImportBars(ctx context.Context, n ktrdr.NewBars, by ktrdr.BarsImport) (result json.RawMessage, err error) {
	if err := checkBars(n); err != nil {
		return nil, err
	}
	if !by.Operation.Valid() {
		return nil, notFound(by.Operation)
	}
	err = s.fenced(ctx, func(t *tx) error {
		s.lockMeta(ctx, t, metaLibrary)
		was, err := scanValue[document](t.row(ctx, lockImported, by.Operation, by.Epoch))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return refusal(ctx, t, by.Operation, ktrdr.Act{Input: ktrdr.Save, Epoch: by.Epoch})
		case err != nil || was != nil:
			result = json.RawMessage(was)
			return err
		}
		added, placed, err := s.addPlaced(ctx, t, n)
		if err != nil {
			return err
		}
		result, err = by.Result(added, placed)
		t.later(ctx, saveImported, by.Operation, string(result))
		t.wake()
		return err
	})
	return result, err
}

// ImportResult implements ktrdr.Library.
func (s *Store) ImportResult(ctx context.Context, id ktrdr.OperationID) (json.RawMessage, error) {
	if !id.Valid() {
		return nil, notFound(id)
	}
	result, err := readRow(ctx, s, scanValue[document], selectImported, id)
	return json.RawMessage(result), ifNoRow(err, notFound(id))
}
