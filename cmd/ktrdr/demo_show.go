package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
)

// look reads the whole tree, children after their parents.
func (d *demo) look(ctx context.Context) error {
	ops, err := d.read(ctx)
	if ktrdr.CodeOf(err) == ktrdr.CodeUnavailable {
		return nil // just killed
	}
	if err != nil {
		return err
	}
	d.ops = ops
	if d.screen != nil {
		d.screen.Draw(d.table())
	}
	return nil
}

// read reads the tree. Rows of a list have no checkpoints, so that what runs is
// read one by one.
func (d *demo) read(ctx context.Context) ([]ktrdr.Operation, error) {
	page, err := d.client.List(ctx, ktrdr.OperationQuery{Limit: 100})
	if err != nil {
		return nil, err
	}
	ops := slices.DeleteFunc(page.Operations, func(op ktrdr.Operation) bool { return op.Root != d.root })
	for i := range ops {
		if ops[i].Status != ktrdr.Running || ops[i].HasPlan {
			continue
		}
		if ops[i], err = d.client.Operation(ctx, ops[i].ID); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

func (d *demo) find(id ktrdr.OperationID) *ktrdr.Operation {
	i := slices.IndexFunc(d.ops, func(op ktrdr.Operation) bool { return op.ID == id })
	if i < 0 {
		return nil
	}
	return &d.ops[i]
}

func (d *demo) table() []string {
	p := d.a.palette()
	lines := []string{""}
	var branch func(id ktrdr.OperationID, indent string)
	branch = func(id ktrdr.OperationID, indent string) {
		op := d.find(id)
		if op == nil {
			return
		}
		lines = append(lines, fmt.Sprintf("%-20s %s %3.0f%% epoch %d %s", indent+view.Short(*op), term.Bar(view.Percent(*op)/100, 20),
			view.Percent(*op), op.Epoch, p.Status(op.Status)))
		for _, child := range slices.Backward(d.ops) {
			if child.Parent == id {
				branch(child.ID, indent+"  ")
			}
		}
	}
	branch(d.root, "")
	return lines
}

// tell prints the events that matter here; there are too many checkpoints.
func (d *demo) tell(e ktrdr.Event) (bool, error) {
	var why struct {
		Code ktrdr.Code `json:"code"`
	}
	if e.Kind == ktrdr.EventFailed && json.Unmarshal(e.Data, &why) == nil && why.Code == ktrdr.CodeOrphaned {
		d.orphaned++
	}
	switch e.Kind {
	case ktrdr.EventClaimed, ktrdr.EventFailed, ktrdr.EventResumed, ktrdr.EventReconciling, ktrdr.EventReported, ktrdr.EventCompleted,
		ktrdr.EventWriteRefused:
		d.print(view.Stamped(e))
	}
	return false, nil
}

func (d *demo) say(format string, args ...any) {
	d.print(time.Now().Format(time.TimeOnly) + "  " + fmt.Sprintf(format, args...))
}

func (d *demo) print(line string) {
	out := d.a.out
	if d.a.json {
		out = d.a.err // standard output is for the verdict
	}
	if d.screen == nil {
		fmt.Fprintln(out, line)
		return
	}
	d.screen.Above(line)
	d.screen.Draw(d.table())
}

type demoVerdict struct {
	Operations int        `json:"operations"`
	Completed  int        `json:"completed"`
	Orphaned   int        `json:"orphaned"`
	Hash       ktrdr.Hash `json:"hash"`
	Expected   string     `json:"expected_hash"`
}

// verdict compares the result with the one that nothing disturbed.
func (d *demo) verdict(root ktrdr.Operation, tree dummy.Spec) error {
	v := demoVerdict{Operations: len(d.ops), Orphaned: d.orphaned, Expected: dummy.Expected(tree)}
	for _, op := range d.ops {
		if op.Status == ktrdr.Completed {
			v.Completed++
		}
	}
	var result dummy.Result
	if root.Status == ktrdr.Completed {
		if err := json.Unmarshal(root.Result, &result); err != nil {
			return fmt.Errorf("result of %s: %w", root.ID, err)
		}
	}
	v.Hash = result.Hash
	if d.screen != nil {
		d.screen.Draw(d.table())
	}
	err := d.a.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "\nresult  %s\nwithout any disturbance it is\n        %s\n", v.Hash, v.Expected)
	})
	switch {
	case err != nil:
		return err
	case v.Completed < v.Operations:
		return fmt.Errorf("%d of %d operations completed: %s", v.Completed, v.Operations, view.Note(root))
	case v.Hash.String() != v.Expected:
		return errors.New("the result differs from the undisturbed one")
	case v.Orphaned == 0 || d.act < 3:
		return errors.New("nothing was disturbed, so nothing is shown")
	}
	d.screen = nil // what follows stays
	d.print(d.a.palette().Good(fmt.Sprintf("all %d operations completed, %d of them taken from a dead worker; "+
		"result hash equals the undisturbed one ✔", v.Operations, v.Orphaned)))
	return nil
}
