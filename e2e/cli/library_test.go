package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
	"github.com/ktrdr/ktrdr/strategy"
)

// barsFile is the file of a current series in the blob folder of a lab.
func (l *lab) barsFile(symbol, timeframe string) string {
	l.t.Helper()
	st, err := backend.OpenStorage(l.t.Context(), backend.Config{Data: l.data})
	if err != nil {
		l.t.Fatal(err)
	}
	defer st.Close()
	b, err := st.Store.BarsOf(l.t.Context(), symbol, timeframe)
	if err != nil {
		l.t.Fatal(err)
	}
	name := b.File.SHA256.String()
	return filepath.Join(l.data, "blobs", name[:2], name[2:4], name)
}

// earlier puts bars into the data folder as earlier versions kept them.
func (l *lab) earlier(b *market.Bars) {
	l.t.Helper()
	var file strings.Builder
	if err := market.Encode(&file, b); err != nil {
		l.t.Fatal(err)
	}
	folder, name := fmt.Sprintf("data/%s_%s/", b.Symbol, b.Timeframe), fmt.Sprintf("%x", b.Hash())
	l.put(folder+name+market.Suffix, file.String())
	l.put(folder+"current", name+"\n")
	if err := os.Chmod(l.data, 0o700); err != nil { //nolint:gosec // a folder
		l.t.Fatal(err)
	}
}

// put writes a file into the data folder.
func (l *lab) put(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.data, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// mine is a strategy that does not come with the program.
func mine(t *testing.T, name string) string {
	t.Helper()
	for _, e := range strategy.Examples() {
		if e.Name == "rsi_mean_reversion" {
			return strings.Replace(string(e.Source), "name: rsi_mean_reversion", "name: "+name, 1)
		}
	}
	t.Fatal("there is no example")
	return ""
}

// resultOf is the result of one research of a strategy.
func (l *lab) resultOf(name string) research.Result {
	l.t.Helper()
	l.must("research", "--strategy", name, "--seed", "3", "--bypass-gates", "--follow")
	ops := l.ops("--type", "agent_research")
	if len(ops) != 1 {
		l.t.Fatalf("%d researches, want one", len(ops))
	}
	var r research.Result
	if err := json.Unmarshal(l.op(string(ops[0].ID)).Result, &r); err != nil || r.ResultHash == (ktrdr.Hash{}) {
		l.t.Fatalf("result %s: %v", ops[0].Result, err)
	}
	return r
}

// healthy asks the doctor, which may find nothing.
func (l *lab) healthy(args ...string) string {
	l.t.Helper()
	out := l.must(append([]string{"doctor"}, args...)...)
	if strings.Contains(out, "✗") {
		l.t.Errorf("doctor:\n%s", out)
	}
	return out
}

// A backup holds bars, strategies and instruments, so that a lab that was restored
// into an empty folder, on the other database too, researches as the old one does.
func TestBackup_RestoredLabResearchesAndGetsTheSameHash(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 7, Edge: 0.4})
	l.imports(bars)
	p, _ := l.serve("--workers", "2")
	l.put("strategies/mine.yaml", mine(t, "mine")) // after the start: the backup itself must see to them
	l.put("instruments.yaml", "instruments:\n  EURUSD:\n    costs: {commission: 3, slippage: 2, spread: 8}\n")
	saved := filepath.Join(t.TempDir(), "lab.tar")
	l.must("backup", saved)
	want := l.resultOf("mine")
	p.End(syscall.SIGTERM)
	if len(want.Costs) != 1 || want.Costs[0].Spread != 8e-4 {
		t.Fatalf("costs %+v, want those of the file", want.Costs)
	}

	for name, env := range map[string][]string{"SQLite": nil, "PostgreSQL": {"KTRDR_DB=" + pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			other := newLab(t, env...)
			other.must("restore", saved)
			if out := other.must("strategies"); !strings.Contains(out, "mine") {
				t.Errorf("strategies after restore:\n%s", out)
			}
			other.serve("--workers", "2")
			other.healthy("--deep")
			got := other.resultOf("mine")
			if got.ResultHash != want.ResultHash {
				t.Errorf("the research has hash %s, want %s as before the backup", got.ResultHash, want.ResultHash)
			}
			if len(got.Costs) != 1 || got.Costs[0].Costs != want.Costs[0].Costs || got.Costs[0].Source != want.Costs[0].Source {
				t.Errorf("costs %+v, want %+v", got.Costs, want.Costs)
			}
		})
	}
}

// Of two backends of one lab, one imports and the other researches.
func TestLibrary_WhatOneBackendImportsAnotherResearches(t *testing.T) {
	t.Parallel()
	db := "KTRDR_DB=" + pgtest.URL(t)
	l := newLab(t, db)
	l.serve("--workers", "1", "--agents", "0")
	other := newLab(t, db, "CHECKPOINT_DIR="+filepath.Join(l.data, "blobs"))
	other.serve("--workers", "1")
	l.put("eur.csv", csv(market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 7})))
	var started api.Started
	load := map[string]any{"path": "eur.csv", "symbol": "EURUSD", "timeframe": "1h"}
	if err := json.Unmarshal(l.post("/api/v1/data/load", 202, load), &started); err != nil {
		t.Fatal(err)
	}
	if op := l.until(string(started.Operation), "the import ends", func(op ktrdr.Operation) bool {
		return op.Status.Terminal()
	}); op.Status != ktrdr.Completed {
		t.Fatalf("import ended %s: %s", op.Status, op.ErrorMessage)
	}
	var added jobs.Strategy
	if err := json.Unmarshal(l.post("/api/v1/strategies", 201, map[string]any{"strategy_yaml": mine(t, "ours")}), &added); err != nil ||
		added.Name != "ours" || added.From != "lab" {
		t.Fatalf("added %+v, %v", added, err)
	}
	l.post("/api/v1/strategies", 409, map[string]any{"strategy_yaml": mine(t, "ours") + "# edited\n"})

	if other.resultOf("ours").ResultHash == (ktrdr.Hash{}) {
		t.Error("the other backend did not research")
	}
}

// Bars, strategies and instruments of an earlier version's folder become the
// lab's: with those that were replaced, and without the folder afterwards.
func TestTakeOver_AnOldFolderBecomesTheLabs(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		first := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 300, Seed: 1})
		second := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 400, Seed: 1})
		l.earlier(first)
		l.earlier(second)
		damaged := market.Synth(market.SynthConfig{Symbol: "BAD", Timeframe: market.H1, Bars: 50, Seed: 2})
		l.earlier(damaged)
		broken, err := filepath.Glob(filepath.Join(l.data, "data", "BAD_1h", "*.bars"))
		if err != nil || len(broken) != 1 {
			t.Fatal(broken, err)
		}
		if err := os.Truncate(broken[0], 100); err != nil {
			t.Fatal(err)
		}
		l.put("strategies/mine.yaml", mine(t, "mine"))
		p, _ := l.serve("--workers", "0", "--agents", "0")

		list := decode[[]stored](t, l.must("data", "list", "--all", "--json"))
		if len(list) != 2 || list[0].Bars != 400 || !list[0].Current || list[1].Bars != 300 || list[1].Current ||
			list[0].Origin != ktrdr.BarsFromOldStore {
			t.Fatalf("taken over: %+v", list)
		}
		l.sameMarks("taken over", map[string]string{"EURUSD 1h": "null"}) // an old folder does not tell
		l.marked("EURUSD", "unknown", "data", "list")
		if _, err := os.Stat(filepath.Join(l.data, "data", "EURUSD_1h")); !os.IsNotExist(err) {
			t.Errorf("the old folder is still there: %v", err)
		}
		if _, err := os.Stat(broken[0]); err != nil {
			t.Errorf("a damaged file was removed: %v", err)
		}
		l.refused(exitFailed, "holds bars of an earlier version", "doctor")
		p.End(syscall.SIGTERM)
		if !strings.Contains(p.Err(), "not taken over from the data folder") || !strings.Contains(p.Err(), "strategy mine") {
			t.Errorf("the log does not report it:\n%s", p.Err())
		}
		if err := os.RemoveAll(filepath.Join(l.data, "data")); err != nil {
			t.Fatal(err)
		}

		// A backend on another folder has the copy; the one on this folder says
		// that it uses the file.
		if out := l.must("strategies"); !strings.Contains(out, filepath.Join(l.data, "strategies", "mine.yaml")) {
			t.Errorf("strategies here:\n%s", out)
		}
		if err := os.Rename(filepath.Join(l.data, "strategies"), filepath.Join(t.TempDir(), "away")); err != nil {
			t.Fatal(err)
		}
		if out := decode[[]listedStrategy](t, l.must("strategies", "--json")); !slices.ContainsFunc(out,
			func(s listedStrategy) bool { return s.Name == "mine" && s.From == "lab" }) {
			t.Errorf("strategies elsewhere: %+v", out)
		}
	})
}

// An import never replaces silently: it says what to do, or does what it was told
// and shows what differs.
func TestDataImport_NeverReplacesSilently(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		all := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 600, Seed: 1})
		part := func(from, to int) string { return file(t, "EURUSD_1h.csv", csv(all.Slice(from, to))) }
		now := func() stored {
			t.Helper()
			list := decode[[]stored](t, l.must("data", "list", "--json"))
			if len(list) != 1 {
				t.Fatalf("series %+v, want one", list)
			}
			return list[0]
		}
		l.must("data", "import", part(0, 100), part(80, 200)) // several files of one series
		first := now()
		if first.Bars != 200 || first.Source != "EURUSD_1h.csv, EURUSD_1h.csv" {
			t.Fatalf("two files made %+v, want 200 bars", first)
		}
		l.must("data", "import", part(0, 200)) // the same again
		l.refused(exitUsage, "EURUSD_1h.csv: the lab has EURUSD 1h, 200 bars", "data",
			"import", part(100, 300))
		l.refused(exitUsage, "contradict each other", "data", "import", "--append", "--replace", part(100, 300))
		if now().Hash != first.Hash {
			t.Error("a refused import changed the series")
		}

		edited := all.Slice(0, 300)
		closes := slices.Clone(edited.Close)
		closes[150] = (edited.High[150] + edited.Low[150]) / 2
		edited.Close = closes
		out := l.must("data", "import", "--append", file(t, "EURUSD_1h.csv", csv(edited.Slice(100, 300))))
		for _, want := range []string{
			"100 new bars, 99 as they were, 1 changed", term.Minute(all.Time[150]) + ": open", "takes the place of 200 bars",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("append does not say %q:\n%s", want, out)
			}
		}
		second := now()
		if second.Bars != 300 || second.Market == "" || second.Market != first.Market || second.Reason != "more bars of the same series" {
			t.Errorf("after an append: %+v, want 300 bars of market %s", second, first.Market)
		}
		if b := edited; second.Hash != ktrdr.Hash(b.Hash()).String() {
			t.Error("the changed bar is not that of the new file")
		}
		l.must("data", "import", "--replace", part(0, 50))
		history := decode[[]stored](t, l.must("data", "list", "--all", "--json"))
		if len(history) != 3 || history[0].Bars != 50 || history[1].Hash != second.Hash || history[2].Hash != first.Hash {
			t.Errorf("history %+v, want all three", history)
		}
		// One bad file of a series keeps the others of it out.
		l.refused(exitFailed, "nothing of EURUSD 1h was imported", "data", "import", "--append", part(0, 600), file(t, "EURUSD_1h.csv", broken))
		if now().Bars != 50 {
			t.Error("half of an import was stored")
		}
		l.healthy0(t)
	})
}

// healthy0 asks the doctor of a lab without a backend.
func (l *lab) healthy0(t *testing.T) {
	t.Helper()
	for _, f := range decode[[]finding](t, l.run("doctor", "--deep", "--json").out) {
		if !f.OK && f.Check != "server" {
			t.Errorf("doctor: %+v", f)
		}
	}
}

// A series that is deleted or renamed keeps what its market counted, and work that
// was pinned to it keeps its bars.
func TestData_DeleteAndRenameKeepTheLedgerAndWhatIsPinned(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 7})
		l.imports(bars)
		l.serve("--workers", "2")
		model := l.finished("train", "rsi_mean_reversion")
		was := l.ledgers()["EURUSD 1h"]
		if was.Trials != 1 {
			t.Fatalf("%d trials, want 1", was.Trials)
		}

		l.must("data", "rename", "EURUSD", "EU")
		is := l.ledgers()
		if len(is) != 1 || is["EU 1h"].Market != was.Market || is["EU 1h"].Trials != 1 || is["EU 1h"].Reason != "renamed from EURUSD" {
			t.Errorf("renamed: %+v, want market %s", is, was.Market)
		}
		l.refused(exitUsage, "there are no bars of EURUSD", "data", "rename", "EURUSD", "X")
		l.refused(exitUsage, "EU has that name already", "data", "rename", "EU", "EU")
		var renamed []jobs.LibrarySeries
		if err := json.Unmarshal(l.post("/api/v1/data/rename", 200, map[string]any{"symbol": "EU", "new_symbol": "EURUSD"}),
			&renamed); err != nil || len(renamed) != 1 || renamed[0].Market != was.Market {
			t.Errorf("renamed back: %+v, %v", renamed, err)
		}

		if out := l.must("data", "delete", "EURUSD", "1h"); !strings.Contains(out, "market "+was.Market+" keeps its 1 trial and 0 looks") {
			t.Errorf("delete said:\n%s", out)
		}
		l.refused(exitUsage, "there are no bars of EURUSD 1h", "data", "delete", "EURUSD", "1h")
		l.refused(exitUsage, "no 1h bars of EURUSD", "train", "rsi_mean_reversion", "--seed", "2")
		again := l.must("retry", string(model.ID), "--json") // what was pinned is still there
		id := decode[api.Started](t, again).Operation
		if op := l.until(string(id), "it ends", func(op ktrdr.Operation) bool { return op.Status.Terminal() }); op.Status != ktrdr.Completed {
			t.Errorf("a training of deleted bars ended %s: %s", op.Status, op.ErrorMessage)
		}
		copied := *bars
		copied.Symbol = "OTHER"
		l.imports(&copied) // under another name: the market is known by its prices
		if back := l.ledgers()["OTHER 1h"]; back.Market != was.Market || back.Trials < 1 {
			t.Errorf("imported again: %+v, want market %s and its trials", back, was.Market)
		}
		var gone jobs.DeletedSeries
		if err := json.Unmarshal(l.send(http.MethodDelete, "/api/v1/data/OTHER/1h", 200, nil), &gone); err != nil || gone.Series != 1 {
			t.Errorf("deleted by a request: %+v, %v", gone, err)
		}
		l.send(http.MethodDelete, "/api/v1/data/OTHER/1h", 404, nil)
		l.send(http.MethodDelete, "/api/v1/data/OTHER/7h", 422, nil)
		l.healthy("--deep")
	})
}

// A file that the list names and the blob store lacks is told by the doctor, and
// so is one that was changed.
func TestDoctor_ComparesTheListOfBarsWithTheirFiles(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "500")
	path := l.barsFile("EURUSD", "1h")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l.healthy0(t)
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, "EURUSD 1h: the bars of EURUSD 1h cannot be read", "doctor", "--deep")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, "EURUSD 1h: its file is missing from the blob store", "doctor")
	l.refused(exitFailed, "named by the bars of EURUSD 1h", "doctor")
}

// Strategies are added and deleted by name; instruments are set and deleted.
func TestStrategies_AreGivenToTheLab(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	text := mine(t, "ours")
	edited := strings.Replace(text, "description: ", "description: Edited. ", 1)
	l.must("strategies", "add", file(t, "ours.yaml", text))
	l.must("strategies", "add", file(t, "ours.yaml", text))
	l.refused(exitFailed, "the lab has another strategy ours already: replace it with --replace", "strategies", "add",
		file(t, "ours.yaml", edited))
	if out := l.must("strategies", "show", "ours", "--yaml"); strings.Contains(out, "Edited.") {
		t.Errorf("show after a refusal, want the first text:\n%s", out)
	}
	l.must("strategies", "add", "--replace", file(t, "ours.yaml", edited))
	l.refused(exitUsage, "bogus", "strategies", "add", file(t, "bad.yaml", text+"bogus: 1\n"))
	if out := l.must("strategies", "show", "ours", "--yaml"); !strings.Contains(out, "Edited.") {
		t.Errorf("show, want the text that replaced the first:\n%s", out)
	}
	l.must("strategies", "delete", "ours")
	l.refused(exitUsage, `there is no strategy "ours"`, "strategies", "show", "ours")
	l.refused(exitUsage, `the lab has no strategy "ours"`, "strategies", "delete", "ours")

	l.refused(exitFailed, "there is no file of instruments", "instruments", "show")
	l.must("instruments", "set", file(t, "i.yaml", "instruments:\n  TSLA:\n    class: stock\n"))
	if out := l.must("instruments", "show"); !strings.HasPrefix(out, "# from the lab\ninstruments:") {
		t.Errorf("instruments:\n%s", out)
	}
	l.refused(exitFailed, "class", "instruments", "set", file(t, "i.yaml", "instruments:\n  TSLA:\n    class: spoon\n"))
	if out := l.must("instruments", "show"); !strings.Contains(out, "class: stock") {
		t.Errorf("instruments after a refusal, want the first:\n%s", out)
	}
	l.must("instruments", "delete")
	l.refused(exitFailed, "there is no file of instruments", "instruments", "show")
	l.refused(exitFailed, "the lab has no file of instruments", "instruments", "delete")
}

// The collector keeps the file of every series that is listed, also of one that
// was replaced, and takes those of a deleted series.
func TestCollect_KeepsTheFilesOfListedBars(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		l.must("data", "synth", "--symbol", "EURUSD", "--bars", "300", "--seed", "1")
		l.must("data", "synth", "--symbol", "EURUSD", "--bars", "300", "--seed", "2", "--replace")
		cfg := backend.Config{Data: l.data}
		for _, e := range l.env {
			if db, ok := strings.CutPrefix(e, "KTRDR_DB="); ok {
				cfg.DB = db
			}
		}
		st, err := backend.MakeStorage(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		rows, err := st.Store.Bars(t.Context(), true)
		if err != nil || len(rows) != 2 {
			t.Fatalf("rows %+v, %v", rows, err)
		}
		const blobGrace = 24 * time.Hour
		collected := func() (kept int) {
			t.Helper()
			for _, days := range []time.Duration{2, 4} { // put aside, then deleted
				if _, err := blob.Collect(t.Context(), st.Blobs, st.Store.BlobRefs(t.Context()), blobGrace,
					time.Now().Add(days*blobGrace)); err != nil {
					t.Fatal(err)
				}
			}
			for info, err := range st.Blobs.List(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if info.Hash == rows[0].File.SHA256 || info.Hash == rows[1].File.SHA256 {
					kept++
				}
			}
			return kept
		}
		if kept := collected(); kept != 2 {
			t.Errorf("%d of 2 files of listed bars are left", kept)
		}
		l.must("data", "delete", "EURUSD")
		if kept := collected(); kept != 0 {
			t.Errorf("%d files of deleted bars are left", kept)
		}
	})
}

// A database of another lab takes nothing over from this folder: its own blobs
// are elsewhere, and the bars would be lost to both.
func TestTakeOver_IntoAnotherLabIsRefused(t *testing.T) {
	t.Parallel()
	other, l := newLab(t), newLab(t)
	other.must("data", "synth", "--symbol", "GBPUSD", "--timeframe", "1h", "--bars", "200")
	l.must("data", "synth", "--symbol", "USDJPY", "--timeframe", "1h", "--bars", "200")
	l.earlier(market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 300, Seed: 1}))
	files := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(l.data, "data", "EURUSD_1h", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	before := files()
	db := filepath.Join(other.data, "ktrdr.db")
	for _, command := range [][]string{{"data", "list"}, {"data", "delete", "GBPUSD", "1h"}, {"backup", filepath.Join(t.TempDir(), "b")}} {
		l.refused(exitFailed, "belongs to the blob root", append(command, "--db", db)...)
	}
	if after := files(); len(before) == 0 || !slices.Equal(before, after) {
		t.Errorf("files %v became %v", before, after)
	}
	if list := decode[[]stored](t, other.must("data", "list", "--json")); len(list) != 1 || list[0].Symbol != "GBPUSD" {
		t.Errorf("the other lab has %+v", list)
	}
	if list := decode[[]stored](t, l.must("data", "list", "--json")); len(list) != 2 {
		t.Errorf("taken over into its own lab: %+v, want two series", list)
	}
}
