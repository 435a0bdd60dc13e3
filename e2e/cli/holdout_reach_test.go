package cli

import (
	"bytes"
	bits "encoding/binary"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// The designer and the workers are other processes:
// a model of a provider, and a worker. This test reads all that they are ever
// told, on the wire and on the worker's disk, and looks for the bars that the
// assessor opened.
func TestHoldout_IsToldToNoModelAndNoWorker(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]func() []string{
		"SQLite":     func() []string { return nil },
		"PostgreSQL": func() []string { return []string{"KTRDR_DB=" + pgtest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) { holdoutStaysSealed(t, env()...) })
	}
}

func holdoutStaysSealed(t *testing.T, env ...string) {
	t.Helper()
	model := llmtest.New(t, func(_ int, r llmtest.Request) llmtest.Step { return curious(r) })
	l := newLab(t, append(env, "KTRDR_MODELS=test/m", "KTRDR_PROVIDERS=test="+model.OpenAI(), "KTRDR_MODEL_PRICES=test/m=1/5",
		"TEST_API_KEY=sk-test")...)
	backend, _ := l.serve("--workers", "0")
	bars := recognisable(l)
	line := tap(t, l.url)
	box := t.TempDir() // all the disk that the worker has
	secret := l.hire(line.URL, box)

	l.must("research", "mean reversion on EURUSD 1h, simple", "--count", "4", "--seed", "1", "--follow")
	l.must("research", "--symbol", "EURUSD", "--model", "test/m", "--bypass-gates", "--follow")
	spec, opened := l.researched()
	if opened == 0 {
		t.Error("no assessor opened the holdout: a test that reads nothing shows nothing")
	}
	cut := bars.Len() - int(0.2*float64(bars.Len()))
	sealed, seen := pricesOf(bars.Slice(cut, bars.Len())), pricesOf(bars.Slice(0, cut))
	hash := spec.Holdout[0].SHA256.String()

	for place, told := range map[string][]byte{
		"the worker's wire": line.heard(), "the worker's disk": contents(t, box),
		"what the model was asked": asked(model), "what the designs were given": l.designs(),
	} {
		if n := sealed.in(told); n > 0 {
			t.Errorf("%d prices of the holdout are in %s", n, place)
		}
		if bytes.Contains(told, []byte(hash)) {
			t.Errorf("the name of the holdout is in %s", place)
		}
	}
	// Who finds nothing must be one who finds.
	if n := seen.in(line.heard()); n < len(seen.bits) {
		t.Errorf("of the %d prices that the worker was given, %d are found on its wire", len(seen.bits), n)
	}
	if n := seen.in(contents(t, box)); n < len(seen.bits) {
		t.Errorf("of the %d prices that the worker was given, %d are found on its disk", len(seen.bits), n)
	}
	if n := sealed.in(contents(t, filepath.Join(l.data, "blobs"))); n < len(sealed.bits) {
		t.Errorf("of the %d prices of the holdout, %d are found where the backend keeps them", len(sealed.bits), n)
	}
	if info, err := os.Stat(l.data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the backend's folder has mode %v (%v): other users of the machine can look for the holdout", info.Mode(), err)
	}
	backend.End(syscall.SIGTERM)
	l.serve("--workers", "0", "--agents", "0") // a design waits, and there is no agent
	l.must("research", "--symbol", "EURUSD")
	l.burgle(secret, spec)
}

// hire starts a worker that knows nothing but the wire and its token, and has
// all its files in box.
func (l *lab) hire(wire, box string) ktrdr.Secret {
	l.t.Helper()
	token := decode[api.NewTokenReply](l.t, l.must("token", "create", "box", "--scope", "worker", "--json"))
	tmp := filepath.Join(box, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		l.t.Fatal(err)
	}
	away := &lab{t: l.t, url: wire, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + box, "TMPDIR=" + tmp, "KTRDR_TOKEN=" + token.Secret}}
	var said workerSaid
	away.begin(&said, "worker", "--data", filepath.Join(box, "data"), "--types", "training,backtesting")
	return ktrdr.Secret(token.Secret)
}

// burgle tries with a worker's token to read the holdout by its name, and to be
// the designer, the worker or the assessor.
func (l *lab) burgle(secret ktrdr.Secret, spec research.Spec) {
	l.t.Helper()
	thief, err := client.New(l.url, secret, client.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	defer thief.Close()
	if _, err := thief.OpenBlob(l.t.Context(), spec.Holdout[0].SHA256); ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
		l.t.Errorf("a worker asks for the holdout by its name: %v, want CodeForbidden", err)
	}
	waiting := l.ops("--type", "agent_design", "--status", "pending")
	if len(waiting) != 1 {
		l.t.Fatalf("%d designs wait, want one that could be stolen", len(waiting))
	}
	kinds := []ktrdr.Type{ktrdr.AgentDesign, ktrdr.AgentAssessment}
	for _, kind := range kinds {
		l.refused(exitUsage, "this build can run", "worker", "--types", string(kind))
	}
	me := ktrdr.Worker{ID: "thief", Types: kinds, Slots: 1}
	if _, err := thief.Register(l.t.Context(), ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: me}); err != nil {
		l.t.Fatal(err)
	}
	got, err := thief.Claim(l.t.Context(), ktrdr.ClaimRequest{Worker: me.ID, Key: "k", Types: kinds, Free: 1})
	if err != nil || got.Task != nil {
		l.t.Errorf("a worker that says it designs is given %+v, %v, want nothing", got.Task, err)
	}
}

// researched is what the last research was given, and how many looks there were.
func (l *lab) researched() (spec research.Spec, opened int) {
	l.t.Helper()
	for _, op := range l.ops("--type", "agent_research") {
		full := l.op(string(op.ID))
		if full.Status != ktrdr.Completed {
			l.t.Fatalf("%s is %s: %s", op.ID, full.Status, full.ErrorMessage)
		}
		var err error
		if spec, err = ktrdr.ParseSpec[research.Spec](full.Spec); err != nil {
			l.t.Fatal(err)
		}
	}
	page, err := l.client().Looks(l.t.Context(), ktrdr.LookQuery{})
	if err != nil {
		l.t.Fatal(err)
	}
	return spec, len(page.Looks)
}

// designs is what all designs are made from and what they came to.
func (l *lab) designs() (all []byte) {
	l.t.Helper()
	for _, op := range l.ops("--type", "agent_design") {
		full := l.op(string(op.ID))
		all = slices.Concat(all, full.Spec, full.Result)
	}
	return all
}

// curious is a model that uses every tool there is before it saves a strategy.
func curious(r llmtest.Request) llmtest.Step {
	call := func(name, input string) llmtest.Step {
		return llmtest.Step{Tools: []llmtest.ToolCall{{ID: "c", Name: name, Input: input}}, Usage: &llmtest.Usage{Input: 100, Output: 20}}
	}
	if bytes.Contains(r.Body, []byte("give_opinion")) {
		return call("give_opinion", `{"strengths":["a"],"weaknesses":[],"suggestions":[],"hypotheses":[]}`)
	}
	tools := [][2]string{{"list_data", `{}`}, {"recall_experiments", `{"limit":20}`}, {"list_hypotheses", `{}`}, {"list_indicators", `{}`}}
	if turn := bytes.Count(r.Body, []byte(`"assistant"`)); turn < len(tools) {
		return call(tools[turn][0], tools[turn][1])
	}
	return call("save_strategy", `{"yaml":`+strconv.Quote(strategytest.Small())+`,"hypothesis":"Small is enough."}`)
}

func asked(model *llmtest.Server) (all []byte) {
	for _, r := range model.Requests() {
		all = append(all, r.Body...)
	}
	return all
}

// recognisable puts a market with an edge into a library. Its prices have all
// their digits, and no bar has those of another.
func recognisable(l *lab) *market.Bars {
	l.t.Helper()
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 7, Edge: 0.6})
	for _, column := range [][]float64{b.Open, b.High, b.Low, b.Close} {
		for i := range column {
			column[i] *= math.Pi / 3 * (1 + 1e-9*float64(i))
		}
	}
	l.imports(b)
	return b
}

// imports puts bars into the lab, as a user does.
func (l *lab) imports(b *market.Bars, flags ...string) {
	l.t.Helper()
	l.must(append([]string{"data", "import", file(l.t, b.Symbol+"_"+string(b.Timeframe)+".csv", csv(b))}, flags...)...)
}

// prices are looked for as the product writes them: eight bytes in files of
// bars, and digits in JSON.
type prices struct{ bits map[uint64]bool }

func pricesOf(b *market.Bars) prices {
	p := prices{map[uint64]bool{}}
	for _, column := range [][]float64{b.Open, b.High, b.Low, b.Close} {
		for _, v := range column {
			p.bits[math.Float64bits(v)] = true
		}
	}
	return p
}

var digits = regexp.MustCompile(`[0-9]+\.[0-9]{6,}`)

// in counts those that are in data.
func (p prices) in(data []byte) int {
	found := map[uint64]bool{}
	for i := 0; i+8 <= len(data); i++ {
		if v := bits.LittleEndian.Uint64(data[i:]); p.bits[v] {
			found[v] = true
		}
	}
	for _, text := range digits.FindAll(data, -1) {
		if v, err := strconv.ParseFloat(string(text), 64); err == nil && p.bits[math.Float64bits(v)] {
			found[math.Float64bits(v)] = true
		}
	}
	return len(found)
}

// contents is all that the files of a folder hold.
func contents(t *testing.T, dir string) (all []byte) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := root.ReadFile(path)
		all = append(all, text...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
