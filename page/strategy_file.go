package page

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/chart"
)

// yamlFile is the strategy as its file has it.
type yamlFile struct {
	Note  string
	Text  string
	Lines []yamlLine
}

type yamlLine struct{ Indent, Key, Rest string }

func (f *facts) yaml() *yamlFile {
	text := cmp.Or(f.state.Strategy, f.note.yaml)
	if text == "" {
		return nil
	}
	y := &yamlFile{Text: plain(strings.TrimRight(text, "\n"))}
	for line := range strings.SplitSeq(y.Text, "\n") {
		rest := strings.TrimLeft(line, " ")
		l := yamlLine{Indent: line[:len(line)-len(rest)], Rest: rest}
		if key, after, found := strings.Cut(rest, ":"); found && key != "" && !strings.ContainsAny(key, " \"'{[#") {
			l.Key, l.Rest = key, ":"+after
		}
		y.Lines = append(y.Lines, l)
	}
	y.Note = plural(len(y.Lines), "line")
	if f.training != nil {
		y.Note = fmt.Sprintf("%s, %s, %s", plural(len(y.Lines), "line"), plain(f.training.Metrics.Model.Architecture),
			plural(f.training.Metrics.Model.ParametersCount, "weight"))
	}
	return y
}

// timeline is when each phase waited and worked, with its checkpoints.
type timeline struct {
	Note  string
	Chart template.HTML
	Rows  []timeRow
}

type timeRow struct {
	Name, Status, Worker, Waited, Worked string
	At                                   time.Time
	Attempts, Checkpoints                int
}

func (f *facts) timeline() *timeline {
	if len(f.children) == 0 {
		return nil
	}
	origin := f.children[0].CreatedAt
	end := f.op.CompletedAt
	for _, c := range f.children {
		for _, at := range []time.Time{c.CreatedAt, c.StartedAt, c.HeartbeatAt, c.CompletedAt} {
			if at.After(end) {
				end = at
			}
		}
	}
	t := &timeline{}
	var lanes chart.Lanes
	attempts, saved := 0, 0
	for _, c := range f.children {
		name, ok := phaseNames[c.Type]
		if !ok {
			name = strings.ReplaceAll(string(c.Type), "_", " ")
		}
		started, ended := c.StartedAt, c.CompletedAt
		if started.IsZero() {
			started = end
		}
		if ended.IsZero() {
			ended = end
		}
		lane := chart.Lane{
			Name: name, Waits: c.CreatedAt.Sub(origin).Seconds(), From: started.Sub(origin).Seconds(), To: ended.Sub(origin).Seconds(),
		}
		for _, k := range f.history[c.ID] {
			lane.Marks = append(lane.Marks, k.CreatedAt.Sub(origin).Seconds())
		}
		attempts, saved = max(attempts, c.Attempts), saved+len(f.history[c.ID])
		row := timeRow{
			Name: name, Status: strings.ToLower(string(c.Status)), Worker: string(c.Worker), Waited: short(started.Sub(c.CreatedAt)),
			Worked: short(ended.Sub(started)), At: c.CreatedAt, Attempts: c.Attempts, Checkpoints: len(f.history[c.ID]),
		}
		lane.Note = row.Worked + ", waited " + row.Waited
		lanes.Rows = append(lanes.Rows, lane)
		t.Rows = append(t.Rows, row)
	}
	t.Note = fmt.Sprintf("at most %s each, %s", plural(attempts, "attempt"), plural(saved, "checkpoint"))
	lanes.To, lanes.Label = end.Sub(origin).Seconds(), "Phases of the research: "+t.Note+"."
	t.Chart = lanes.HTML()
	return t
}

// short writes a duration, also one below a second.
func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", max(d, 0).Milliseconds())
	}
	return lasted(d)
}

// reproduce is what gives the same result again.
type reproduce struct {
	Rows    []field
	Command string
}

func (f *facts) reproduce() *reproduce {
	if f.result.ResultHash == (ktrdr.Hash{}) {
		return nil
	}
	r := &reproduce{Rows: []field{{"Result", f.result.ResultHash.String()}}}
	if f.result.Model != nil {
		r.Rows = append(r.Rows, field{"Model", f.result.Model.SHA256.String()})
	}
	for _, b := range f.spec.Bars {
		r.Rows = append(r.Rows, field{"Bars", hex.EncodeToString(b.Hash[:])})
	}
	r.Rows = append(r.Rows, field{"Seed", fmt.Sprint(f.spec.Seed)})
	r.Command = "ktrdr results " + f.op.ID.Tail()
	return r
}
