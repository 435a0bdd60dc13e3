package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
)

// designTools are what a model designs with. They read what the design was
// given and write one thing: the strategy that ends the conversation. All of their
// answers are functions of the spec and of memory within its horizon, so that a
// conversation that begins again says the same.
type designTools struct {
	spec  research.DesignSpec
	stats designer.Stats
	past  research.Past

	saved research.Design
}

// tool is a row of the table: a name, what it is for, and the schema of its
// input, which is held strictly.
type tool struct {
	name, doc, schema string
	use               func(t *designTools, input json.RawMessage) (string, error)
}

const noInput = `{"type":"object","properties":{},"additionalProperties":false}`

var designTable = []tool{
	{"list_data", "The bars there are: symbols, timeframes, and what their market is like.", noInput, (*designTools).listData},
	{"list_indicators", "The indicators there are, with their parameters and outputs.", noInput, (*designTools).listIndicators},
	{"show_example", "A whole valid strategy.", `{"type":"object","properties":{"name":{"type":"string","enum":[` + exampleNames() +
		`]}},"required":["name"],"additionalProperties":false}`, (*designTools).showExample},
	{
		"recall_experiments", "What was tried before, the newest first, with their results.",
		`{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":20}},"additionalProperties":false}`,
		(*designTools).recall,
	},
	{
		"list_hypotheses",
		"Hypotheses of earlier researches that are not tested yet, the newest first. Name one with save_strategy if the strategy tests it.",
		noInput, (*designTools).listHypotheses,
	},
	{
		"validate_strategy", "Whether a strategy is valid, and if not, what is wrong on which line.",
		`{"type":"object","properties":{"yaml":{"type":"string"}},"required":["yaml"],"additionalProperties":false}`, (*designTools).validate,
	},
	{
		saveTool, "Save the strategy. This ends the work.",
		`{"type":"object","properties":{"yaml":{"type":"string"},"hypothesis":{"type":"string","maxLength":500,"description":"what the ` +
			`strategy tests, in one ` +
			`sentence"},"notes":{"type":"string","maxLength":2000,"description":"why"},"tests":{"type":"string","description":"id of the listed ` +
			`hypothesis that it tests, if any"}},"required":["yaml","hypothesis"],"additionalProperties":false}`, (*designTools).save,
	},
}

const saveTool = "save_strategy"

func exampleNames() string {
	return strings.Join(text.Map(strategy.Examples(), func(e strategy.Example) string { return strconv.Quote(e.Name) }), ",")
}

func (t *designTools) list() []llm.Tool {
	return text.Map(designTable, func(row tool) llm.Tool {
		return llm.Tool{Name: row.name, Description: row.doc, Schema: json.RawMessage(row.schema)}
	})
}

func (t *designTools) use(c llm.ToolCall) (text string, done bool, err error) {
	i := slices.IndexFunc(designTable, func(row tool) bool { return row.name == c.Name })
	if i < 0 {
		return "", false, fmt.Errorf("there is no tool %.60q", c.Name)
	}
	text, err = designTable[i].use(t, c.Input)
	return text, c.Name == saveTool, err
}

// strictly reads a tool's input and takes nothing that is not in its schema.
func strictly(input json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the input does not fit the tool's schema: %w", err)
	}
	return nil
}

func (t *designTools) listData(json.RawMessage) (string, error) {
	type series struct {
		Symbol    string `json:"symbol"`
		Timeframe string `json:"timeframe"`
		Context   bool   `json:"context,omitempty"` // it may be read as a context symbol, and is not traded
	}
	all := text.Map(t.spec.Bars, func(b jobs.Bars) series { return series{b.Symbol, string(b.Timeframe), b.Context} })
	return told(struct {
		Series     []series          `json:"series"`
		Bars       int               `json:"bars"`       // at which decisions are made: the fewest of a symbol
		Volatility float64           `json:"volatility"` // of the returns from bar to bar; of several symbols the mean
		Readings   []designer.Column `json:"readings"`   // where the values of indicators lie
		Costs      instrument.Costs  `json:"least_costs"`
	}{all, t.stats.Bars, t.stats.Volatility, typical(t.stats.Columns), t.spec.Costs})
}

// typical leaves one period of each reading, the middle one: every word is paid
// for again with every turn.
func typical(all []designer.Column) (some []designer.Column) {
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n].Name == all[i].Name {
			n++
		}
		some = append(some, all[i+n/2])
		i += n
	}
	return some
}

func (t *designTools) listIndicators(json.RawMessage) (string, error) {
	var b strings.Builder
	for _, d := range indicator.Definitions() {
		params := text.Map(d.Params, func(p indicator.Param) string { return fmt.Sprintf("%s=%v", p.Name, p.Default) })
		fmt.Fprintf(&b, "%s(%s) -> %s: %s\n", d.Name, text.Join(params), strings.Join(d.Outputs, ", "), d.Doc)
	}
	return b.String(), nil
}

func (t *designTools) showExample(input json.RawMessage) (string, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := strictly(input, &in); err != nil {
		return "", err
	}
	for _, e := range strategy.Examples() {
		if e.Name == in.Name {
			return string(e.Source), nil
		}
	}
	return "", fmt.Errorf("there is no example %.60q; there are %s", in.Name, exampleNames())
}

// recall tells what the built-in designer would be told, and no more: nothing
// of any holdout.
func (t *designTools) recall(input json.RawMessage) (string, error) {
	in := struct {
		Limit int `json:"limit"`
	}{5}
	if err := strictly(input, &in); err != nil {
		return "", err
	}
	if in.Limit < 1 || in.Limit > 20 {
		return "", fmt.Errorf("limit is %d; it must be 1 to 20", in.Limit)
	}
	type experiment struct {
		Strategy string           `json:"strategy_yaml"`
		Outcome  designer.Outcome `json:"outcome"`
	}
	all := []experiment{}
	room := maxToolText - 1024
	past := t.past.Experiments
	for i := len(past) - 1; i >= 0 && len(all) < in.Limit; i-- {
		e := experiment{past[i].Strategy, past[i].Outcome.Brief()}
		text, err := json.Marshal(e)
		if err != nil {
			return "", err
		}
		if room -= len(text); room < 0 {
			break
		}
		all = append(all, e)
	}
	return told(struct {
		Known       int          `json:"known"`
		Experiments []experiment `json:"experiments"`
	}{len(past), all})
}

// mostHypotheses is how many a model is shown at once.
const mostHypotheses = 20

func (t *designTools) listHypotheses(json.RawMessage) (string, error) {
	type hypothesis struct {
		ID        string `json:"id"`
		Text      string `json:"text"`
		Rationale string `json:"rationale,omitempty"`
	}
	all := []hypothesis{}
	open := t.past.Hypotheses
	for i := len(open) - 1; i >= 0 && len(all) < mostHypotheses; i-- {
		all = append(all, hypothesis{open[i].ID, open[i].Text, open[i].Rationale})
	}
	return told(struct {
		Untested   int          `json:"untested"`
		Hypotheses []hypothesis `json:"hypotheses"`
	}{len(open), all})
}

func (t *designTools) validate(input json.RawMessage) (string, error) {
	var in struct {
		YAML string `json:"yaml"`
	}
	if err := strictly(input, &in); err != nil {
		return "", err
	}
	s, warnings, err := research.CheckDesign(in.YAML, t.spec.Bars)
	if err != nil {
		return "", err
	}
	said := append([]string{s.Name + " is valid."}, text.Map(warnings, strategy.Warning.String)...)
	if overruled := research.Overruled(s, t.spec.Costs); overruled != "" {
		said = append(said, overruled)
	}
	return strings.Join(said, "\n"), nil
}

func (t *designTools) save(input json.RawMessage) (string, error) {
	var in struct {
		YAML       string `json:"yaml"`
		Hypothesis string `json:"hypothesis"`
		Notes      string `json:"notes"`
		Tests      string `json:"tests"`
	}
	if err := strictly(input, &in); err != nil {
		return "", err
	}
	tests := slices.IndexFunc(t.past.Hypotheses, func(h research.HypothesisNote) bool { return h.ID == in.Tests })
	if tests < 0 && in.Tests != "" {
		return "", fmt.Errorf("there is no untested hypothesis %.60q: list them, or leave out tests", in.Tests)
	}
	if strings.TrimSpace(in.Hypothesis) == "" {
		return "", errors.New("a strategy is saved with the hypothesis that it tests: say it in one sentence")
	}
	if err := errors.Join(bounded("hypothesis", in.Hypothesis, maxSentence), bounded("notes", in.Notes, maxNotes)); err != nil {
		return "", err
	}
	s, _, err := research.CheckDesign(in.YAML, t.spec.Bars)
	if err != nil {
		return "", err
	}
	t.saved = research.Design{Name: s.Name, Strategy: in.YAML, Hypothesis: in.Hypothesis, Notes: in.Notes}
	if tests >= 0 {
		t.saved.Tests = &t.past.Hypotheses[tests]
	}
	return "Saved.", nil
}

// The bounds of a model's own words, in bytes. They are kept, shown to people and
// told to the models that design next.
const (
	maxSentence = 500 // a hypothesis, or one item of a list
	maxNotes    = 2000
)

// bounded says what to do about words that are too many.
func bounded(what, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s has %d bytes: say it in at most %d", what, len(text), most)
	}
	return nil
}

func told(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
