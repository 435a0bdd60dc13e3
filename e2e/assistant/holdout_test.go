package assistant

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// seeds are the markets. The strategies on one of them reach no look.
var seeds = map[string]uint64{"EURUSD": 1, "GBPUSD": 2, unopened: 3}

const unopened = "USDCAD"

// prices are bars whose last fifth, the holdout, rises to seven times the price: no
// earlier price is like one of them.
func prices(symbol string) *market.Bars {
	seed, edge := seeds[symbol], 0.6
	if symbol == unopened {
		edge = 0
	}
	b := market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: 3000, Seed: seed, Edge: edge})
	cut := b.Len() - b.Len()/5
	for i := cut; i < b.Len(); i++ {
		rise := math.Pow(7, float64(i-cut)/float64(b.Len()-cut))
		for _, column := range [][]float64{b.Open, b.High, b.Low, b.Close} {
			column[i] *= rise
		}
	}
	return b
}

// sealed is what must be in no answer, and what may be.
type sealed struct {
	secret map[string]string // where it is from, by the beginning of a number
	short  map[string]string // figures of looks, as tools write numbers
}

var aNumber = regexp.MustCompile(`\d+\.\d+(?:e-?\d+)?`)

// beginning is how much of a number tells it from others; empty for a number that is too
// short. Thousands of balances lie between 100,000 and 101,000: with fewer digits, two of
// them would be the same by chance.
func beginning(n string) string {
	digits := 9
	if strings.Index(n, ".") > 3 {
		digits = 12
	}
	if len(n) < digits {
		return ""
	}
	return n[:digits]
}

func (s *sealed) hide(where, text string) {
	for _, n := range aNumber.FindAllString(text, -1) {
		if key := beginning(n); key != "" {
			s.secret[key] = where
		}
	}
}

func (s *sealed) allow(text string) {
	for _, n := range aNumber.FindAllString(text, -1) {
		delete(s.secret, beginning(n))
	}
}

// check reports numbers of a holdout in an answer.
func (s *sealed) check(t *testing.T, where, text string) {
	t.Helper()
	for _, n := range aNumber.FindAllString(text, -1) {
		if from := s.secret[beginning(n)]; from != "" {
			t.Errorf("%s shows %s, which is of %s", where, n, from)
			return
		}
	}
}

// An assistant reads everything it can, in a lab with holdouts that were opened and one
// that was not. No answer has a price or a figure of a holdout.
func TestAssistant_SeesNoHoldout(t *testing.T) {
	t.Parallel()
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	l.ServeWith(2)
	a := overStdio(t, l)
	var markets int
	for _, symbol := range slices.Sorted(maps.Keys(seeds)) { // in one order: a run learns from those before it
		l.Import(prices(symbol))
		_, handles := a.use("research", map[string]any{
			"goal": "mean reversion on " + symbol + " 1h", "symbols": []string{symbol}, "count": 4, "seed": 3,
		})
		a.waitFor(handles[0])
		said, _ := a.use("results", map[string]any{"handle": handles[0]})
		read := leaders(said)
		if len(read) < 2 {
			t.Fatalf("an assistant reads %d judged rows of %s", len(read), said)
		}
		if looked(read) {
			markets++
		}
	}
	if markets != len(seeds)-1 {
		t.Errorf("an assistant reads the adjusted p-value on %d markets, want %d", markets, len(seeds)-1)
	}
	id := l.Train(jobs.TrainingRequest{StrategyYAML: strategytest.Small(), Symbol: "EURUSD"})
	l.Ends(id, ktrdr.Completed)
	l.Ends(l.Backtest(jobs.BacktestRequest{Model: string(id), OpenHoldout: true}), ktrdr.Completed)

	s := &sealed{secret: map[string]string{}, short: map[string]string{}}
	opened := s.read(t, l)
	if len(opened) < 2 || len(s.secret) < 500 || len(s.short) < 20 {
		t.Fatalf("%d operations opened a holdout, and %d and %d numbers are secret: a test that hides nothing shows nothing",
			len(opened), len(s.secret), len(s.short))
	}
	if said, _ := a.use("look", map[string]any{"at": "data"}); !regexp.MustCompile(unopened + `.* 4 \| 0 \| `).MatchString(said) {
		t.Fatalf("the holdout of %s was opened: %s", unopened, said)
	}
	s.crawlAPI(t, l)
	s.crawlTools(t, l, a)
}

// read fills in what is secret: prices of the holdouts and the results of operations
// that opened one. What results of others show is not.
func (s *sealed) read(t *testing.T, l *labtest.Lab) (opened []ktrdr.OperationID) {
	t.Helper()
	var others []string
	for _, op := range operationsOf(t, l) {
		text := get(t, l, "/api/v1/operations/"+string(op)+"/results", "")
		if strings.Contains(text, `"holdout_opened"`) || strings.Contains(string(op), "confirmation") {
			opened = append(opened, op)
			s.hide(string(op), text)
			s.hideFigures(t, op, text)
		} else if !strings.Contains(text, `"looks"`) {
			others = append(others, text)
		}
	}
	for _, text := range others {
		s.allow(text)
	}
	var looks struct {
		Data []ktrdr.Look `json:"data"`
	}
	if err := json.Unmarshal([]byte(get(t, l, "/api/v1/looks", "")), &looks); err != nil {
		t.Fatal(err)
	}
	for _, look := range looks.Data {
		if look.Adjusted != nil {
			text, _ := json.Marshal(*look.Adjusted) // a number
			s.allow(string(text))
		}
		if look.P != nil {
			text, _ := json.Marshal(*look.P)
			s.hide("p of "+look.Key, string(text))
		}
	}
	for symbol := range seeds {
		b := prices(symbol)
		for i := b.Len() - b.Len()/5 + 1; i < b.Len(); i++ {
			text, _ := json.Marshal([]float64{b.Open[i], b.High[i], b.Low[i], b.Close[i]})
			s.hide("prices of "+symbol, string(text))
		}
	}
	return opened
}

// hideFigures adds the figures of a look, with as few digits as tools write. The seeds
// are fixed, so that none of them is another number by chance.
func (s *sealed) hideFigures(t *testing.T, op ktrdr.OperationID, results string) {
	t.Helper()
	var answer struct {
		Data struct {
			Results research.Confirmation `json:"results"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(results), &answer); err != nil {
		t.Fatal(err)
	}
	c := &answer.Data.Results
	h := &c.Look.Holdout
	for name, v := range map[string]*float64{
		"p": c.Look.P, "low": c.Look.Low, "high": c.Look.High, "shrunk": c.Look.Shrunk, "Sharpe": h.Sharpe.Ratio(), "Sharpe z": h.Sharpe.Z,
		"alpha": h.Alpha, "alpha z": h.AlphaZ, "buy and hold": h.HoldSharpe.Ratio(), "return": &h.Return, "return of hold": &h.HoldReturn,
	} {
		if v == nil || *v == 0 { // the result of a backtest has no such figures
			continue
		}
		for _, shown := range []string{fmt.Sprintf("%.3g", *v), fmt.Sprintf("%.1f%%", *v*100)} {
			if strings.Contains(shown, ".") && len(strings.Trim(shown, "-0.%")) > 3 { // two digits are often another figure's
				s.short[shown] = name + " of " + string(op)
			}
		}
	}
}

var shownNumber = regexp.MustCompile(`-?\d+\.\d+(?:e-?\d+)?%?`)

// checkShort reports figures of looks in what a tool answers.
func (s *sealed) checkShort(t *testing.T, where, text string) {
	t.Helper()
	for _, n := range shownNumber.FindAllString(text, -1) {
		if from := s.short[n]; from != "" {
			t.Errorf("%s shows %s, which is the %s:\n%s", where, n, from, text)
			return
		}
	}
}

// operationsOf lists every operation of the lab.
func operationsOf(t *testing.T, l *labtest.Lab) (ids []ktrdr.OperationID) {
	t.Helper()
	for _, root := range l.Roots() {
		ids = append(ids, root.ID)
		for _, child := range l.Children(root.ID) {
			ids = append(ids, child.ID)
		}
	}
	return ids
}

// get asks the API, as an assistant or as a person.
func get(t *testing.T, l *labtest.Lab, path, assistant string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.Client().URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if assistant != "" {
		r.Header.Set(api.HeaderAssistant, assistant)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if assistant != "" && res.StatusCode == http.StatusInternalServerError {
		t.Errorf("%s: %s", path, text)
	}
	return string(text)
}

// crawlAPI reads every route that assistants may call, of everything.
func (s *sealed) crawlAPI(t *testing.T, l *labtest.Lab) {
	t.Helper()
	ids, runs := operationsOf(t, l), map[string]bool{}
	for _, root := range l.Roots() {
		runs[root.Run] = true
	}
	asked := 0
	for _, sp := range api.Table() {
		if !sp.AdmitsAssistants() || sp.Method != http.MethodGet {
			continue
		}
		var paths []string
		switch {
		case strings.HasPrefix(sp.Path, api.Base+"/runs/{id}"):
			for run := range runs {
				paths = append(paths, strings.ReplaceAll(sp.Path, "{id}", run))
			}
		case strings.Contains(sp.Path, "{symbol}"):
			for symbol := range seeds {
				paths = append(paths, strings.NewReplacer("{symbol}", symbol, "{timeframe}", "1h").Replace(sp.Path))
			}
		case strings.Contains(sp.Path, "{id}"):
			for _, id := range ids {
				paths = append(paths, strings.ReplaceAll(sp.Path, "{id}", string(id)))
			}
		default:
			paths = []string{sp.Path}
		}
		for _, path := range paths {
			for _, query := range queries(sp, ids) {
				s.check(t, path+query, get(t, l, path+query, "sealed"))
				asked++
			}
		}
	}
	if asked < 200 {
		t.Errorf("only %d requests were made", asked)
	}
}

// queries are the questions to a route.
func queries(sp *api.Spec, ids []ktrdr.OperationID) []string {
	switch sp.Pattern() {
	case api.GetResults.Pattern():
		return []string{"", "?include=trades,equity,positions,curve,returns&limit=1000", "?include=equity&points=1000"}
	case api.Memory.Pattern():
		return []string{"?limit=1000", "?kind=trials&limit=1000", "?kind=hypotheses", "?kind=suggestions"}
	case api.SeriesBars.Pattern():
		return []string{"", "?points=1000"}
	case api.Report.Pattern():
		return []string{"?since=12h", "?since=12h&panels=true"}
	case api.Search.Pattern():
		return []string{"?since=12h"}
	case api.Panel.Pattern():
		var questions []string
		for _, id := range ids {
			if strings.HasPrefix(string(id), "op_agent_research") {
				questions = append(questions, "?research="+string(id))
			}
		}
		return questions
	case api.Compare.Pattern():
		var researches []string
		for _, id := range ids {
			if strings.HasPrefix(string(id), "op_agent_research") {
				researches = append(researches, string(id))
			}
		}
		var questions []string
		for some := range slices.Chunk(researches, 4) {
			questions = append(questions, "?ids="+strings.Join(some, ","))
		}
		return questions
	}
	return []string{""}
}

// priceOfHoldout is a price of a holdout as reports write prices.
var priceOfHoldout = regexp.MustCompile(`(?:^|[^\d.])[2-7]\.\d{5}(?:\D|$)`)

// crawlTools uses every tool and reads every resource and prompt.
func (s *sealed) crawlTools(t *testing.T, l *labtest.Lab, a *assistant) {
	t.Helper()
	check := func(where, text string) {
		s.check(t, where, text)
		if m := priceOfHoldout.FindString(text); m != "" {
			t.Errorf("%s shows the price %s", where, m)
		}
	}
	uses := map[string][]map[string]any{
		"look": {
			{"at": "data"},
			{"at": "indicators"},
			{"at": "grammar"},
			{"at": "example"},
			{"at": "strategies"},
			{"at": "models"},
			{"at": "leaderboard"},
			{"at": "status"},
		},
		"memory":   {{}, {"kind": "trials"}, {"kind": "hypotheses"}, {"kind": "suggestions"}},
		"design":   {{}},
		"validate": {{"strategy": strategytest.Small()}},
		"research": {{"goal": "EURUSD 1h", "dry_run": true}},
	}
	var researches []string
	for _, root := range l.Roots() {
		handle := string(root.ID)
		uses["results"] = append(uses["results"], map[string]any{"handle": handle}, map[string]any{"handle": root.Run})
		uses["wait"] = append(uses["wait"], map[string]any{"handles": []string{handle}})
		if root.Type == ktrdr.AgentResearch {
			researches = append(researches, handle)
			uses["explain"] = append(uses["explain"], map[string]any{"research": handle})
		}
		for _, file := range []string{"report.html", "curve.svg", "strategy.yaml"} {
			r, err := a.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "ktrdr://operations/" + handle + "/" + file})
			if err == nil {
				check(handle+" "+file, r.Contents[0].Text)
			}
		}
		if root.Run != "" {
			check(root.Run, a.read("ktrdr://runs/"+root.Run+"/report.html"))
		}
	}
	uses["compare"] = []map[string]any{{"researches": researches[:4]}}
	for tool, calls := range uses {
		for _, args := range calls {
			said, _, _ := a.try(tool, args)
			check(fmt.Sprintf("%s %v", tool, args), said)
			s.checkShort(t, fmt.Sprintf("%s %v", tool, args), said)
		}
	}
	for _, name := range []string{"research_overnight", "explain_this_morning"} {
		r, err := a.session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name, Arguments: map[string]string{"goal": "x"}})
		if err != nil {
			t.Fatal(err)
		}
		check(name, r.Messages[0].Content.(*sdk.TextContent).Text)
	}
}

// A person allows an assistant to read a holdout. It sees the figures, and each reading
// is a look that later claims pay for.
func TestAssistant_ThatMayOpenAHoldoutPaysForIt(t *testing.T) {
	t.Parallel()
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	l.ServeWith(2)
	l.Market("EURUSD", 3000, 1)
	a := overStdio(t, l, "--open-holdout")
	_, handles := a.use("research", map[string]any{"goal": "mean reversion on EURUSD 1h", "count": 4, "seed": 3})
	a.waitFor(handles[0])
	read := func() []ktrdr.Look {
		var looks struct {
			Data []ktrdr.Look `json:"data"`
		}
		if err := json.Unmarshal([]byte(get(t, l, "/api/v1/looks", "")), &looks); err != nil {
			t.Fatal(err)
		}
		return looks.Data
	}
	looks := read()
	if len(looks) != 1 {
		t.Fatalf("%d looks, want the one of the run", len(looks))
	}
	finalist := string(looks[0].Research)
	const figures = "holdout, net of costs: Sharpe | "
	for range 2 { // the second time it is the same look
		if said, _ := a.use("results", map[string]any{"handle": finalist}); !strings.Contains(said, figures) {
			t.Errorf("it is counted as a look and shows nothing of the holdout: %s", said)
		}
	}
	if said, _ := overStdio(t, l).use("results", map[string]any{"handle": finalist}); strings.Contains(said, figures) {
		t.Errorf("another assistant, which may not, reads %s", said)
	}
	if n := len(read()); n != 2 {
		t.Errorf("%d looks after it read the holdout, want 2", n)
	}
	if said := get(t, l, "/api/v1/operations/"+finalist+"/results", "open-holdout"); !strings.Contains(said, `"holdout"`) {
		t.Errorf("it may see the figures, and gets %s", said)
	}
}
