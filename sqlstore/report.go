package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// claimKey is what makes a claim that claim.
type claimKey struct {
	operation ktrdr.OperationID
	epoch     ktrdr.Epoch
}

// heard maps the live claims among those asked about to whether they are to be
// cancelled.
type heard map[claimKey]bool

// orders sorts the given claims by what was heard of them.
func (h heard) orders(given []ktrdr.Claimed) ktrdr.Orders {
	var o ktrdr.Orders
	for _, c := range given {
		switch cancel, live := h[claimKey{c.Operation, c.Epoch}]; {
		case !live:
			o.Lost = append(o.Lost, c)
		case cancel:
			o.Cancel = append(o.Cancel, c)
		}
	}
	return o
}

// Report implements ktrdr.Operations.
func (s *Store) Report(ctx context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error) {
	if !storable(string(h.Worker), 255) {
		return ktrdr.Orders{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a worker id is at most 255 bytes of text")
	}
	return s.hear(ctx, h.Running, func(t *tx) error { return seen(ctx, t, h.Worker, h.HeldBy) })
}

// hear refreshes the claims, and first does what also comes with a report. On
// PostgreSQL a row that another transaction has locked is passed over at
// first, so that reports neither wait nor deadlock, and is refreshed on its
// own afterwards, outside the lane that others' heartbeats need.
func (s *Store) hear(ctx context.Context, given []ktrdr.Claimed, first func(t *tx) error) (ktrdr.Orders, error) {
	all := heard{}
	claims := known(given)
	chunks := slices.Collect(slices.Chunk(claims, batch))
	locked := refreshAll
	if s.isPostgres() {
		locked = refreshFree
	}
	for i := range max(1, len(chunks)) {
		var part heard
		err := s.write(ctx, urgent, func(t *tx) (err error) {
			if i == 0 {
				if err := first(t); err != nil {
					return err
				}
			}
			if len(chunks) > 0 {
				part, err = refresh(ctx, t, chunks[i], locked)
			}
			return err
		})
		if err != nil {
			return ktrdr.Orders{}, err
		}
		maps.Copy(all, part)
	}
	if s.isPostgres() {
		if err := s.hearLocked(ctx, claims, all); err != nil {
			return ktrdr.Orders{}, err
		}
	}
	return all.orders(given), nil
}

// hearLocked refreshes the live claims that all lacks and adds them to it.
func (s *Store) hearLocked(ctx context.Context, claims []ktrdr.Claimed, all heard) error {
	missing := slices.DeleteFunc(slices.Clone(claims), func(c ktrdr.Claimed) bool {
		_, ok := all[claimKey{c.Operation, c.Epoch}]
		return ok
	})
	live, err := s.liveClaims(ctx, missing)
	if err != nil {
		return err
	}
	for _, c := range missing {
		if _, ok := live[claimKey{c.Operation, c.Epoch}]; !ok {
			continue
		}
		var part heard
		err := s.write(ctx, normal, func(t *tx) (err error) {
			// The lock comes first, in a statement of its own: a heartbeat's time is
			// that of its statement's start, and must not be from before the wait.
			if _, err := t.exec(ctx, lockClaim, c.Operation); err != nil {
				return err
			}
			part, err = refresh(ctx, t, []ktrdr.Claimed{c}, refreshAll)
			return err
		})
		if err != nil {
			return err
		}
		maps.Copy(all, part)
	}
	return nil
}

// known returns the claims that can exist, each once, with its furthest step.
func known(given []ktrdr.Claimed) []ktrdr.Claimed {
	at := map[claimKey]int{}
	var all []ktrdr.Claimed
	for _, c := range given {
		if !c.Operation.Valid() {
			continue
		}
		key := claimKey{c.Operation, c.Epoch}
		if i, ok := at[key]; ok {
			all[i].Step = max(all[i].Step, c.Step)
			continue
		}
		at[key] = len(all)
		all = append(all, c)
	}
	return all
}

// The two ways to refresh differ in what they do about locked rows.
const (
	refreshFree = ` AND operations.id IN (SELECT id FROM operations WHERE (id, epoch) IN ({epochs}) {skip})`
	refreshAll  = ``

	refreshClaims = `UPDATE operations SET status = 'RUNNING', heartbeat_at = {now},
			losses = CASE WHEN claim.column3 > max_step THEN 0 ELSE losses END,
			max_step = CASE WHEN claim.column3 > max_step THEN claim.column3 ELSE max_step END,
			moved_at = CASE WHEN claim.column3 <> last_step THEN {now} ELSE moved_at END,
			last_step = claim.column3
		FROM ({claims}) AS claim
		WHERE operations.id = claim.column1 AND operations.epoch = claim.column2 AND has_plan = 0 AND ` + isLive
	returningClaims = ` RETURNING id, epoch, cancel_requested`

	lockClaim query = `SELECT 1 FROM operations WHERE id = $1 {lock}`

	// selectClaims may find an operation at another epoch than was asked for.
	selectClaims = `SELECT id, epoch, cancel_requested FROM operations WHERE has_plan = 0 AND ` + isLive + ` AND id IN (%s)`
)

// refresh makes Step's Report transition for every claim that is live.
func refresh(ctx context.Context, t *tx, all []ktrdr.Claimed, locked string) (heard, error) {
	values, args := claims(1, all)
	text := strings.Replace(refreshClaims, "{claims}", values, 1)
	if locked != "" {
		pairs, more := epochs(len(args)+1, all)
		text += strings.Replace(locked, "{epochs}", pairs, 1)
		args = append(args, more...)
	}
	return scanHeard(ctx, t, query(text+returningClaims), args)
}

// Orders implements ktrdr.Operations.
func (s *Store) Orders(ctx context.Context, running []ktrdr.Claimed) (ktrdr.Orders, error) {
	all, err := s.liveClaims(ctx, known(running))
	if err != nil {
		return ktrdr.Orders{}, err
	}
	return all.orders(running), nil
}

// liveClaims looks at the claims without refreshing them.
func (s *Store) liveClaims(ctx context.Context, given []ktrdr.Claimed) (heard, error) {
	all := heard{}
	for chunk := range slices.Chunk(given, batch) {
		list, args := padded(1, chunk, func(c ktrdr.Claimed) any { return c.Operation })
		err := s.peek(ctx, func(r queryer) error {
			part, err := scanHeard(ctx, r, query(fmt.Sprintf(selectClaims, list)), args)
			maps.Copy(all, part)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func scanHeard(ctx context.Context, q queryer, text query, args []any) (heard, error) {
	all := heard{}
	err := eachRow(ctx, q, func(row scanner) error {
		var c claimKey
		var cancel bool
		err := row.Scan(&c.operation, &c.epoch, (*boolean)(&cancel))
		all[c] = cancel
		return err
	}, text, args...)
	return all, err
}
