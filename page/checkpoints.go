package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// checkpointRow is a row of the history of checkpoints.
type checkpointRow struct {
	ID, Short, Kind, Step, Size, Age string
	Attempt                          int
	From, To                         bool // chosen for the comparison
	Resume                           *action
}

// checkpointDiff is what changed between the states of two checkpoints.
type checkpointDiff struct {
	From, To string
	Lines    []diffLine
	More     int // lines that are not shown
}

type diffLine struct {
	Sign, Class, Text string
}

const (
	checkpointsShown = 30
	mostDiffLines    = 200
	mostDiffText     = 120
	mostListed       = 16 // elements of a list that are compared one by one
)

func (p *Pages) readCheckpoints(ctx context.Context, op *ktrdr.Operation, from, to string, v *operation) error {
	all, err := p.lab.History(ctx, op.ID)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return nil
	}
	if len(all) > checkpointsShown {
		v.CheckpointsShown = fmt.Sprintf("The newest %d of %s.", checkpointsShown, count(len(all)))
	}
	v.Steps = stepsFigure(all)
	here := "/operations/" + string(op.ID)
	mayResume := may(ctx) && !op.HasPlan && op.Type != ktrdr.AgentConfirm && (op.Status == ktrdr.Failed || op.Status == ktrdr.Cancelled)
	for i, c := range all[:min(len(all), checkpointsShown)] {
		v.Checkpoints = append(v.Checkpoints, checkpointRow{
			ID: c.ID, Short: fmt.Sprintf("%d.%d", c.Epoch, c.Seq), Kind: string(c.Type), Step: count(int(c.Step)), Size: size(c.Size),
			Age:     lasted(max(0, p.now().Sub(c.CreatedAt))) + " ago",
			Attempt: int(c.Epoch), From: c.ID == from || from == "" && i == 1, To: c.ID == to || to == "" && i == 0,
		})
		if mayResume && op.Checkpoint != nil && c.ID <= op.Checkpoint.ID {
			v.Checkpoints[i].Resume = &action{
				Name: "Resume from here", Path: here + "/resume", Fields: []field{{"checkpoint", c.ID}},
				Command: "ktrdr resume " + string(op.ID) + " --checkpoint " + c.ID,
				Ask:     fmt.Sprintf("Resume from step %s? Newer checkpoints are left out.", count(int(c.Step))),
			}
		}
	}
	if from == "" || to == "" {
		return nil
	}
	a, err := p.lab.CheckpointAt(ctx, op.ID, from)
	if err != nil {
		return err
	}
	b, err := p.lab.CheckpointAt(ctx, op.ID, to)
	if err != nil {
		return err
	}
	v.Diff = diffStates(a, b)
	return nil
}

// diffStates compares two states value by value.
func diffStates(a, b ktrdr.Checkpoint) *checkpointDiff {
	d := &checkpointDiff{From: fmt.Sprintf("step %s", count(int(a.Step))), To: fmt.Sprintf("step %s", count(int(b.Step)))}
	before, after := flatValues(a), flatValues(b)
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, byPath)
	for _, name := range names {
		was, had := before[name]
		is, has := after[name]
		if had && has && was == is {
			continue
		}
		if len(d.Lines) >= mostDiffLines {
			d.More++
			continue
		}
		if had {
			d.Lines = append(d.Lines, diffLine{"−", "del", name + ": " + cutState(was, mostDiffText)})
		}
		if has {
			d.Lines = append(d.Lines, diffLine{"+", "ins", name + ": " + cutState(is, mostDiffText)})
		}
	}
	return d
}

// flatValues maps the path of each value of a state, and the name of each artifact,
// to a text.
func flatValues(c ktrdr.Checkpoint) map[string]string {
	out := map[string]string{}
	dec := json.NewDecoder(bytes.NewReader(c.State))
	dec.UseNumber()
	var state any
	if dec.Decode(&state) == nil {
		flatten(out, "", state)
	}
	for _, a := range c.Artifacts {
		out["file "+a.Name] = fmt.Sprintf("%s, %s", size(a.Size), a.SHA256.String()[:12])
	}
	return out
}

func flatten(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			flatten(out, strings.TrimPrefix(path+"."+name, "."), one)
		}
	case []any:
		if len(v) > mostListed {
			text, _ := json.Marshal(v) // it came from JSON
			out[path] = fmt.Sprintf("%s values %s", count(len(v)), text)
			return
		}
		for i, one := range v {
			flatten(out, path+"["+strconv.Itoa(i)+"]", one)
		}
	case string:
		out[path] = strconv.Quote(v)
	default:
		out[path] = fmt.Sprint(v)
	}
}

// byPath orders paths; the elements of a list come in their order.
func byPath(a, b string) int {
	if x, y := len(a), len(b); x != y && strings.HasSuffix(a, "]") && strings.HasSuffix(b, "]") {
		i, j := strings.LastIndexByte(a, '['), strings.LastIndexByte(b, '[')
		if a[:i] == b[:j] {
			return x - y
		}
	}
	return strings.Compare(a, b)
}

// cutState shortens a text; what is left out is told by its length.
func cutState(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%s characters)", string(runes[:most]), count(len(runes)))
}
