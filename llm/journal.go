package llm

import (
	"context"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// storeTime is how long an unavailable store is retried.
const storeTime = 10 * time.Second

var storeRetries = backoff.Policy{First: 100 * time.Millisecond}

// book reserves, and waits a little for a store that is away. A reservation that
// may have been made is made again: the first, if there is one, stays charged.
func (p *purchase) book(ctx context.Context) (ktrdr.Call, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	for try := 0; ; try++ {
		call, err := p.chain.cfg.Journal.ReserveCall(ctx, ktrdr.NewCall{
			Operation: p.ask.Operation, Epoch: p.ask.Epoch, Key: p.trace.Key, Model: p.model.full(),
			Most: p.most, Daily: p.chain.cfg.Daily, Research: p.ask.Research,
		})
		if !away(err) || !storeRetries.Wait(ctx, try) {
			return call, err
		}
	}
}

// away says whether an error is that of a store that may soon be there again.
func away(err error) bool {
	code := ktrdr.CodeOf(err)
	return code == ktrdr.CodeUnavailable || code == ktrdr.CodeUnknownResult
}

// settle ends the call that is held. What cannot be settled is fatal, and stays
// reserved.
func (p *purchase) settle(ctx context.Context, end ktrdr.CallEnd) {
	if err := p.tell(ctx, end); err != nil {
		p.fatal = p.unsettled(err)
		return
	}
	p.held = nil
}

func (p *purchase) unsettled(err error) error {
	return fmt.Errorf("call %d to %s could not be settled: %w", p.held.ID, p.model.full(), err)
}

// tell has the journal end the call that is held, also when the caller is gone:
// what was paid was paid. The same end may be told twice.
func (p *purchase) tell(ctx context.Context, end ktrdr.CallEnd) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	end.ID = p.held.ID
	for try := 0; ; try++ {
		err := p.chain.cfg.Journal.SettleCall(ctx, end)
		if err == nil || !ktrdr.CodeOf(err).Retryable() || !storeRetries.Wait(ctx, try) {
			return err
		}
	}
}
