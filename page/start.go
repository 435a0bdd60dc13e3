package page

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/research"
)

func (p *Pages) routeStart() {
	p.mux.HandleFunc("GET /new", p.view("New research", "start", func(ctx context.Context, r *http.Request) (any, error) {
		return p.readStart(ctx, readStartForm(r.URL.Query()))
	}))
	p.mux.HandleFunc("POST /new", p.startResearch)
}

// startForm is what is typed into the form, and its query.
type startForm struct {
	Goal, Symbols, Timeframe  string
	Strategy, YAML            string // its name, or its text
	From                      string // the research whose strategy is forked
	Count, Until, Seed, Model string
	Costs                     string
	Force, Ignore, Bypass     bool
	Key                       string // makes one run of a form that is sent twice
}

func readStartForm(v url.Values) startForm {
	text := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	f := startForm{
		Goal: text("goal"), Symbols: text("symbols"), Timeframe: text("timeframe"), Strategy: text("strategy"),
		YAML: strings.ReplaceAll(v.Get("yaml"), "\r\n", "\n"), From: text("from"), Count: text("count"), Until: text("until"), Seed: text("seed"),
		Model: text("model"), Costs: text("costs"), Force: v.Get("force") != "", Ignore: v.Get("ignore") != "", Bypass: v.Get("bypass") != "",
		Key: text("key"),
	}
	if strings.TrimSpace(f.YAML) == "" {
		f.YAML = ""
	}
	if len(f.Key) != len(rand.Text()) {
		f.Key = rand.Text()
	}
	return f
}

// request is what the form asks for.
func (f *startForm) request(now time.Time) (r research.Request, err error) {
	r = research.Request{
		Brief: f.Goal, Symbols: listed(f.Symbols), Timeframes: listed(f.Timeframe), Strategy: f.Strategy, StrategyYAML: f.YAML,
		Model: f.Model, Costs: f.Costs, Force: f.Force, RefuseUnknown: !f.Ignore, BypassGates: f.Bypass,
	}
	if f.Count != "" {
		if r.Count, err = strconv.Atoi(f.Count); err != nil || r.Count < 1 {
			return r, ktrdr.Errorf(ktrdr.CodeInvalid, "the number of researches is a number from 1, not %.40q", f.Count)
		}
	}
	if f.Seed != "" {
		seed, err := strconv.ParseUint(f.Seed, 10, 64)
		if err != nil {
			return r, ktrdr.Errorf(ktrdr.CodeInvalid, "the seed is a number from 0, not %.40q", f.Seed)
		}
		r.Seed = &seed
	}
	if f.Until != "" {
		if r.Until, err = nextClock(f.Until, now); err != nil {
			return r, err
		}
	}
	return r, nil
}

// listed are the parts of a list with commas or blanks.
func listed(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
}

// nextClock is the next time that the clock of the server shows text.
func nextClock(text string, now time.Time) (time.Time, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return t, ktrdr.Errorf(ktrdr.CodeInvalid, "the end is a time of day such as 07:00, not %.40q", text)
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}

// command does the same as the form.
func (f *startForm) command() string {
	var b strings.Builder
	b.WriteString("ktrdr research")
	dashed := strings.HasPrefix(f.Goal, "-") // as a shell would read it
	if f.Goal != "" && !dashed {
		b.WriteString(" " + shellWord(f.Goal, true))
	}
	add := func(flag, value string) {
		if value != "" {
			b.WriteString(" --" + flag + " " + shellWord(value, false))
		}
	}
	add("symbol", strings.Join(listed(f.Symbols), ","))
	add("timeframe", strings.Join(listed(f.Timeframe), ","))
	add("strategy", f.Strategy)
	if f.YAML != "" {
		add("strategy", f.file())
	}
	add("count", f.Count)
	add("until", f.Until)
	add("seed", f.Seed)
	add("model", f.Model)
	add("costs", f.Costs)
	for _, flag := range []struct {
		name string
		on   bool
	}{{"ignore-unknown", f.Ignore}, {"bypass-gates", f.Bypass}, {"force", f.Force}} {
		if flag.on {
			b.WriteString(" --" + flag.name)
		}
	}
	if dashed {
		b.WriteString(" -- " + shellWord(f.Goal, true))
	}
	return b.String()
}

// file is a name for the text of the strategy.
func (f *startForm) file() string {
	for line := range strings.Lines(f.YAML) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "name:")
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		plain := func(r rune) bool {
			return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		}
		if ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
			return "./" + name + ".yaml"
		}
	}
	return "./strategy.yaml"
}

// shellWord writes a text as one word of a shell. What a terminal would not show
// is left out.
func shellWord(text string, quote bool) string {
	text = ktrdr.ToPrintable(text)
	safe := func(r rune) bool {
		return strings.ContainsRune("_-./:=,*@%+", r) && r != '*' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	switch {
	case !quote && text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !safe(r) }):
		return text
	case !strings.ContainsAny(text, "\"$`\\!"):
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// start is the view of the form.
type start struct {
	startForm
	May, First bool // may start researches; there are no prices yet
	Zone       string
	Known      []string // symbols
	Strategies []string
	Models     []option
	Fork       string // what is forked

	Wrong    string
	Problems []string // of the strategy
	Preview  *preview
	Command  string
	Save     string // the file that the command needs
	Go       string // what the button says
	Luck     template.HTML
}

// preview is the answer of a dry run in words.
type preview struct {
	Understood []string
	Unknown    []string
	Warnings   []string
	Series     []string
	Luck, Time string
}

// readStart reads what the form offers, and tries it.
func (p *Pages) readStart(ctx context.Context, f startForm) (start, error) {
	v := start{startForm: f, May: may(ctx), Zone: p.now().Local().Format("MST")}
	series, err := client.Call(ctx, p.lab, api.Series, api.None{})
	if err != nil {
		return v, err
	}
	for i := range series {
		if s := series[i].Symbol; !slices.Contains(v.Known, s) {
			v.Known = append(v.Known, s)
		}
	}
	if v.First = len(series) == 0; v.First {
		v.Luck = luckFigure(1, 0, 0)
	}
	if v.First || !v.May {
		return v, nil
	}
	if err := p.startChoices(ctx, &v); err != nil {
		return v, err
	}
	p.try(ctx, &v)
	return v, nil
}

// startChoices reads what the form offers.
func (p *Pages) startChoices(ctx context.Context, v *start) error {
	list, err := client.Call(ctx, p.lab, api.Strategies, api.None{})
	if err != nil {
		return err
	}
	for _, s := range list {
		v.Strategies = append(v.Strategies, s.Name)
	}
	models, err := client.Call(ctx, p.lab, api.LanguageModels, api.None{})
	if err != nil {
		return err
	}
	v.Models = []option{{Name: "default"}, {Value: research.Builtin, Name: "built-in, free"}}
	for _, m := range models {
		if m.Model != research.Builtin {
			v.Models = append(v.Models, option{Value: m.Model, Name: m.Model})
		}
	}
	for i := range v.Models {
		v.Models[i].Chosen = v.Models[i].Value == v.Model
	}
	if v.From == "" || v.YAML != "" {
		return nil
	}
	from, err := p.findResearch(ctx, v.From)
	if err != nil {
		return err
	}
	e, err := p.lab.Experiment(ctx, from)
	if err != nil {
		return err
	}
	var note research.Experiment
	if err := json.Unmarshal(e.Note, &note); err != nil {
		return fmt.Errorf("experiment %s: %w", v.From, err)
	}
	v.YAML, v.Fork = note.Strategy, strategyName(note.Name)+" "+e.Operation.Tail()
	return nil
}

// try makes a dry run of the form.
func (p *Pages) try(ctx context.Context, v *start) {
	v.Command, v.Go = v.command(), "Start"
	if v.YAML != "" {
		v.Save = v.file()
		checked, err := client.Call(ctx, p.lab, api.ValidateStrategy, api.ValidateRequest{Strategy: v.YAML})
		if err != nil {
			v.Wrong = err.Error()
			return
		}
		for _, problem := range checked.Problems {
			v.Problems = append(v.Problems, ktrdr.ToPrintable(problem.String()))
		}
		if !checked.Valid {
			v.Wrong = cmp.Or(checked.Error, "The strategy is not valid.")
			return
		}
	}
	r, err := v.request(p.now())
	if err == nil {
		r.DryRun = true
		var told research.Triggered
		if told, err = p.lab.Trigger(ctx, r, ""); err == nil {
			v.Preview = previewOf(told, v.Until)
			v.Luck = luckOf(told.Preview)
			if v.Go = "Start " + plural(told.Preview.Count, "research"); v.Until != "" {
				v.Go = "Start, until " + v.Until
			}
			return
		}
	}
	v.Wrong = ktrdr.ToPrintable(err.Error())
}

func previewOf(told research.Triggered, until string) *preview {
	p := told.Preview
	v := &preview{}
	for _, text := range told.Understood {
		v.Understood = append(v.Understood, ktrdr.ToPrintable(text))
	}
	for _, word := range told.NotUnderstood {
		text := ktrdr.ToPrintable(word)
		if near := p.Nearest[word]; near != "" {
			text += " (did you mean " + near + "?)"
		}
		v.Unknown = append(v.Unknown, text)
	}
	for _, text := range told.Warnings {
		v.Warnings = append(v.Warnings, ktrdr.ToPrintable(text))
	}
	for _, s := range p.Series {
		text := fmt.Sprintf("%s %s: %s bars to search, %s in the holdout.", s.Symbol, s.Timeframe, count(s.Searched), count(s.Sealed))
		if s.Costs != nil {
			text += " Costs: " + ktrdr.ToPrintable(s.Costs.Charged()) + "."
		}
		if s.MadeUp != nil && *s.MadeUp {
			text += " Made-up prices."
		}
		v.Series = append(v.Series, text)
	}
	v.Luck, v.Time = luckText(p), timeText(p, until)
	return v
}

func luckText(p *research.Preview) string {
	unit, before, after := "standard errors", p.LuckBeforeZ, p.LuckAfterZ
	if p.LuckBefore != nil && p.LuckAfter != nil {
		unit, before, after = "Sharpe", *p.LuckBefore, *p.LuckAfter
	}
	text := fmt.Sprintf("%s what luck alone reaches from %s to %s %s.", raiseText(p), chart.Number(before, 2),
		chart.Number(after, 2), unit)
	switch p.Looks {
	case 0:
		text += " The holdout was never opened."
	case 1:
		text += " The holdout was opened once."
	default:
		text += fmt.Sprintf(" The holdout was opened %s times.", count(p.Looks))
	}
	return text + fmt.Sprintf(" The next look claims an edge with p ≤ %s.", strconv.FormatFloat(p.NeededP, 'g', 2, 64))
}

// raiseText says which trials raise the bar. A run that lasts until a time has no
// known size, so that its generations count as more trials than they have.
func raiseText(p *research.Preview) string {
	counted := p.TrialsAfter - p.Trials
	switch {
	case counted != p.Count:
		return fmt.Sprintf("The first generation of %s counts as %s trials, because the run has no known size. They raise",
			plural(p.Count, "research"), count(counted))
	case counted == 1:
		return "1 more trial raises"
	}
	return count(counted) + " more trials raise"
}

func timeText(p *research.Preview, until string) string {
	text := "Nothing has been researched yet, so the time is not known."
	if p.Seconds != nil {
		took := lasted(time.Duration(*p.Seconds * float64(time.Second)))
		text = fmt.Sprintf("About %s, %d at a time.", took, p.Limit)
		if until != "" {
			text = fmt.Sprintf("Keeps starting generations for %s, until %s.", took, until)
		}
	}
	if p.Active+p.Waiting == 0 {
		return text + " Starts now."
	}
	return text + fmt.Sprintf(" %s running, %d waiting.", have(p.Active, "research", "is", "are"), p.Waiting)
}

// startResearch checks or starts what a form asks for.
func (p *Pages) startResearch(w http.ResponseWriter, r *http.Request) {
	if _, ok := api.Caller(r.Context()); !ok {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	if err := r.ParseForm(); err != nil {
		p.fail(w, r, ktrdr.Errorf(ktrdr.CodeInvalid, "the form cannot be read: %w", err))
		return
	}
	f := readStartForm(r.PostForm)
	if r.PostForm.Get("do") == "check" {
		v, err := p.readStart(r.Context(), f)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		p.render(w, r, http.StatusOK, "New research", "start", v)
		return
	}
	run, err := p.trigger(r.Context(), &f)
	if err == nil {
		http.Redirect(w, r, "/night?run="+url.QueryEscape(run), http.StatusSeeOther)
		return
	}
	v, readErr := p.readStart(r.Context(), f)
	if readErr != nil || !v.May {
		p.fail(w, r, err)
		return
	}
	v.Wrong = ktrdr.ToPrintable(err.Error())
	p.render(w, r, http.StatusUnprocessableEntity, "New research", "start", v)
}

// trigger starts the run of a form.
func (p *Pages) trigger(ctx context.Context, f *startForm) (run string, err error) {
	r, err := f.request(p.now())
	if err != nil {
		return "", err
	}
	made, err := p.lab.Trigger(ctx, r, sentOnce(f.Key, r))
	return made.Run, err
}
