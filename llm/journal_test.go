package llm_test

import (
	"context"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// memory is a journal in memory that keeps the contract: one research,
// one live epoch, one day.
type memory struct {
	t *testing.T

	mu       sync.Mutex
	epoch    ktrdr.Epoch
	calls    []ktrdr.Call
	mostEver ktrdr.MicroUSD // the highest sum that was ever charged

	beforeReserve func() error // asked before a call is reserved; nil means nothing
	beforeSettle  func() error // and before it is settled
}

const operation ktrdr.OperationID = "op_agent_design_20260301_120000_00000001"

func newMemory(t *testing.T) *memory { return &memory{t: t, epoch: 1} }

func (m *memory) charged() (sum ktrdr.MicroUSD) {
	for _, c := range m.calls {
		sum += c.Charged
	}
	return sum
}

func (m *memory) ReserveCall(ctx context.Context, n ktrdr.NewCall) (ktrdr.Call, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return ktrdr.Call{}, ctx.Err()
	}
	if m.beforeReserve != nil {
		if err := m.beforeReserve(); err != nil {
			return ktrdr.Call{}, err
		}
	}
	if n.Operation != operation || n.Epoch != m.epoch {
		return ktrdr.Call{}, ktrdr.Errorf(ktrdr.CodeStaleEpoch, "epoch %d is not the live one", n.Epoch)
	}
	if n.Key == (ktrdr.Hash{}) || n.Model == "" || n.Most < 0 {
		m.t.Errorf("reservation %+v has no key, no model or a negative price", n)
	}
	unsettled := 0
	for _, c := range m.calls {
		switch {
		case c.Key == n.Key && c.Status == ktrdr.CallAnswered:
			return c, nil
		case c.Key == n.Key && c.Status == ktrdr.CallReserved:
			unsettled++
		}
	}
	if unsettled >= 2 {
		return ktrdr.Call{}, ktrdr.Errorf(ktrdr.CodePoison, "two calls were lost already")
	}
	if sum := m.charged() + n.Most; n.Most > 0 && (sum > n.Daily || sum > n.Research) {
		return ktrdr.Call{}, ktrdr.Errorf(ktrdr.CodeBudget, "%d do not fit", n.Most)
	}
	c := ktrdr.Call{
		ID: int64(len(m.calls) + 1), Operation: n.Operation, Epoch: n.Epoch, Key: n.Key, Model: n.Model,
		Status: ktrdr.CallReserved, Charged: n.Most,
	}
	m.calls = append(m.calls, c)
	m.mostEver = max(m.mostEver, m.charged())
	return c, nil
}

func (m *memory) SettleCall(ctx context.Context, e ktrdr.CallEnd) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if m.beforeSettle != nil {
		if err := m.beforeSettle(); err != nil {
			return err
		}
	}
	c := &m.calls[e.ID-1]
	if c.Status != ktrdr.CallReserved {
		return ktrdr.Errorf(ktrdr.CodeConflict, "call %d is settled", e.ID)
	}
	if (e.Status == ktrdr.CallAnswered) != (len(e.Answer) > 0) || (e.Status == ktrdr.CallFailed) != (e.Error != "") ||
		len(e.Answer) > ktrdr.MaxAnswer {
		m.t.Errorf("end %+v is not one that a store takes", e)
	}
	c.Status, c.Charged, c.Input, c.Output, c.Answer, c.Error = e.Status, e.Cost, e.Input, e.Output, e.Answer, e.Error
	m.mostEver = max(m.mostEver, m.charged())
	return nil
}

// statuses are those of all calls, in order.
func (m *memory) statuses() (all []ktrdr.CallStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.calls {
		all = append(all, c.Status)
	}
	return all
}
