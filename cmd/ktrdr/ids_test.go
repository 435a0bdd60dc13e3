package main

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestChoose_ATailOfOneTreeMeansItsTop(t *testing.T) {
	op := func(id, root ktrdr.OperationID) ktrdr.Operation {
		kind := strings.TrimPrefix(string(id), "op_")
		return ktrdr.Operation{ID: id, Root: root, Type: ktrdr.Type(kind[:strings.Index(kind, "_2026")])}
	}
	const (
		research = "op_agent_research_20261115_080000_685ec14d"
		training = "op_training_20261115_080001_685ec14d"
		again    = "op_training_20261115_080007_0badcafe" // after the first was given up
		backtest = "op_backtesting_20261115_080002_685ec14d"
		other    = "op_agent_research_20261115_090000_685e0000"
	)
	tree := []ktrdr.Operation{op(backtest, research), op(training, research), op(research, research)}
	two := append([]ktrdr.Operation{op(other, other)}, tree...)
	trainings := []ktrdr.Operation{op(again, research), op(training, research)}
	for name, c := range map[string]struct {
		text  string
		found []ktrdr.Operation
		want  ktrdr.Type
		id    ktrdr.OperationID
		says  string
	}{
		"what a table shows":               {"685ec14d", tree, "", research, ""},
		"enough of it":                     {"685ec", tree, "", research, ""},
		"the training in it":               {"685ec14d", tree, ktrdr.Training, training, ""},
		"the only one":                     {"0bad", trainings[:1], "", again, ""},
		"another type than what there is":  {"0bad", trainings[:1], ktrdr.Backtesting, again, ""},
		"two trees":                        {"685e", two, "", "", "means 4 operations"},
		"a beginning that several share":   {"op_training_2026", trainings, "", "", "means 2 operations"},
		"a training among those of a type": {"op_training_2026", trainings, ktrdr.Training, "", "means 2 operations"},
		"nothing":                          {"ffff", nil, "", "", "no operation begins"},
	} {
		id, err := choose(c.text, c.found, c.want)
		if id != c.id || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v; want %q %s", name, id, err, c.id, c.says)
		}
	}
}
