package labtest

import (
	"context"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

// Simulate is one simulated worker, the n-th: it registers, takes an operation,
// sends heartbeats until ctx ends, and completes its operation. It calls claimed
// when it has the operation, and beat after each heartbeat. An operation that it
// loses is an error.
func Simulate(ctx context.Context, c *client.Client, n int, claimed func(), beat func(took time.Duration, err error)) error {
	id := ktrdr.WorkerID(fmt.Sprintf("simulated-%d", n))
	types := []ktrdr.Type{ktrdr.Dummy}
	life := context.WithoutCancel(ctx)
	r, err := c.Register(life, ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: id, Types: types, Slots: 1}})
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	var task *ktrdr.Task
	for try := 0; task == nil; try++ {
		if ctx.Err() != nil {
			return fmt.Errorf("%s got no operation", id)
		}
		reply, err := c.Claim(life, ktrdr.ClaimRequest{Worker: id, Key: fmt.Sprintf("%s-%d", id, try), Types: types, Free: 1, Wait: 5})
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		task = reply.Task
	}
	claimed()
	running := ktrdr.Claimed{Operation: task.Operation, Epoch: task.Epoch}
	tick := time.NewTicker(time.Duration(r.HeartbeatSeconds * float64(time.Second)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return c.Finish(life, ktrdr.Finished{Operation: running.Operation, Epoch: running.Epoch, Outcome: ktrdr.Completed})
		case <-tick.C:
		}
		running.Step++
		begun := time.Now()
		orders, err := c.Heartbeat(life, ktrdr.Heartbeat{Worker: id, Running: []ktrdr.Claimed{running}})
		if len(orders.Lost) > 0 {
			return fmt.Errorf("%s lost %s", id, running.Operation)
		}
		beat(time.Since(begun), err)
	}
}
