package storetest

import "github.com/ktrdr/ktrdr"

// entry is one way in which an input reaches a store.
type entry struct {
	title   string
	input   ktrdr.Input
	outcome ktrdr.Status
	step    int64
	// give gives the input to one operation. An entry without it is given to
	// all at once by giveAll, at the epoch the store itself knows.
	give    func(m *matrix, c *situation) error
	giveAll func(m *matrix)
	// inside says that the operations run inside a backend.
	inside bool
}

var inputs = []entry{
	{title: "Claim", input: ktrdr.Claim, giveAll: (*matrix).claimAll},
	{title: "ReportOfAnOldStep", input: ktrdr.Report, give: (*matrix).giveReport},
	{title: "ReportOfANewStep", input: ktrdr.Report, step: 1, give: (*matrix).giveReport},
	{title: "RegistrationWithANewStep", input: ktrdr.Report, step: 1, give: (*matrix).giveRegistration},
	{title: "SaveProgressOfAnOldStep", input: ktrdr.Save, give: (*matrix).giveProgress},
	{title: "SaveProgressOfANewStep", input: ktrdr.Save, step: 1, give: (*matrix).giveProgress},
	{title: "SaveCheckpointOfANewStep", input: ktrdr.Save, step: 1, give: (*matrix).giveCheckpoint},
	{title: "FinishCompleted", input: ktrdr.Finish, outcome: ktrdr.Completed, give: (*matrix).giveFinish},
	{title: "FinishFailed", input: ktrdr.Finish, outcome: ktrdr.Failed, give: (*matrix).giveFinish},
	{title: "FinishCancelled", input: ktrdr.Finish, outcome: ktrdr.Cancelled, give: (*matrix).giveFinish},
	{title: "FinishWithoutAnEnd", input: ktrdr.Finish, outcome: ktrdr.Running, give: (*matrix).giveFinish},
	{title: "Release", input: ktrdr.Release, give: (*matrix).giveRelease},
	{title: "Requeue", input: ktrdr.Requeue, inside: true, giveAll: func(m *matrix) { m.restart(keep) }},
	{title: "LoseWorker", input: ktrdr.LoseWorker, giveAll: (*matrix).loseAll},
	{title: "LoseHolder", input: ktrdr.LoseHolder, inside: true, giveAll: func(m *matrix) { m.restart(failing()) }},
	{title: "LoseChild", input: ktrdr.LoseChild, inside: true, give: func(m *matrix, c *situation) error {
		return m.Release(m.ctx(), ktrdr.Released{Operation: c.op.ID, Epoch: c.epoch(), ChildDied: true, Reason: "signal: killed"})
	}},
	{title: "Restart", input: ktrdr.Restart, giveAll: func(m *matrix) { m.restart(keep) }},
	{title: "Cancel", input: ktrdr.Cancel, give: func(m *matrix, c *situation) error {
		_, _, err := m.Cancel(m.ctx(), c.op.ID, "matrix")
		return err
	}},
	{title: "Resume", input: ktrdr.Resume, give: func(m *matrix, c *situation) error {
		_, err := m.Resume(m.ctx(), c.op.ID)
		return err
	}},
}

func (c *situation) epoch() ktrdr.Epoch { return c.op.Epoch + c.match }

func (c *situation) task() ktrdr.Task { return ktrdr.Task{Operation: c.op.ID, Epoch: c.epoch()} }

// A lost claim is how a report is refused.
func reported(orders ktrdr.Orders, err error) error {
	if err == nil && len(orders.Lost) > 0 {
		return &ktrdr.Error{Code: ktrdr.CodeStaleEpoch, Message: "lost"}
	}
	return err
}

func (m *matrix) giveReport(c *situation) error {
	return reported(m.Report(m.ctx(), ktrdr.Heartbeat{Worker: "w", Running: []ktrdr.Claimed{held(c.task(), m.step)}}))
}

func (m *matrix) giveRegistration(c *situation) error {
	return reported(m.RegisterWorker(m.ctx(), ktrdr.Registration{
		Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: "w", Types: []ktrdr.Type{ktrdr.Dummy}},
		Running: []ktrdr.Claimed{held(c.task(), m.step)},
	}))
}

func (m *matrix) giveProgress(c *situation) error {
	return m.SaveProgress(m.ctx(), ktrdr.ProgressReport{
		Operation: c.op.ID, Epoch: c.epoch(),
		Progress: ktrdr.Progress{StepsCompleted: m.step},
	})
}

func (m *matrix) giveCheckpoint(c *situation) error {
	_, err := m.SaveCheckpoint(m.ctx(), checkpoint(c.task(), 7, m.step), nil)
	return err
}

func (m *matrix) giveFinish(c *situation) error {
	_, err := m.Finish(m.ctx(), ending(c.task(), m.outcome))
	return err
}

func (m *matrix) giveRelease(c *situation) error {
	return m.Release(m.ctx(), ktrdr.Released{Operation: c.op.ID, Epoch: c.epoch()})
}

func (m *matrix) claimAll() {
	for m.try("w") != nil {
	}
}

func (m *matrix) restart(p ktrdr.RecoveryPolicy) { m.start("b", "i2", p) }

func (m *matrix) loseAll() {
	m.eventually("no worker is left", func() bool {
		r, err := m.Sweep(m.ctx(), me, forced, true)
		m.must(err)
		return r.NextOrphan == 0 && len(r.Orphaned) == 0
	})
}
