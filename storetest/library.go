package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

// newBars is a series whose hash begins with the given byte.
func newBars(symbol, timeframe string, hash byte, replaces byte) ktrdr.NewBars {
	n := ktrdr.NewBars{StoredBars: ktrdr.StoredBars{
		Symbol: symbol, Timeframe: timeframe, Hash: ktrdr.Hash{hash}, Bars: int(hash),
		First: time.Unix(3600, 0).UTC(), Last: time.Unix(39600, 0).UTC(),
		File:   ktrdr.Artifact{Name: symbol + ".bars", SHA256: ktrdr.Hash{hash, 2}, Size: int64(hash)},
		Origin: ktrdr.BarsFromFile, Source: "a.csv",
	}}
	if replaces != 0 {
		n.Replaces = ktrdr.Hash{replaces}
	}
	return n
}

// barsSeen are series in short.
func (l *lab) barsSeen(old bool) []string {
	l.Helper()
	all, err := l.Bars(l.ctx(), old)
	l.must(err)
	list := []string{}
	for _, b := range all {
		list = append(list, fmt.Sprint(b.Symbol, " ", b.Timeframe, " ", b.Hash[0], " ", b.Current))
	}
	return list
}

// inMarket assigns bars to the markets that they are, or to a new one.
func inMarket(n ktrdr.NewBars, markets ...string) ktrdr.NewBars {
	n.Series = &ktrdr.NewSeries{
		MarketSeries: ktrdr.MarketSeries{Symbol: n.Symbol, Timeframe: n.Timeframe, Hash: n.Hash, Bars: n.Bars}, Same: markets,
	}
	return n
}

// marketsSeen are the series of each market in short.
func (l *lab) marketsSeen() []string {
	l.Helper()
	all, err := l.Markets(l.ctx())
	l.must(err)
	list := []string{}
	for _, m := range all {
		var series []any
		for _, s := range m.Series {
			series = append(series, s.Symbol, s.Hash[0])
		}
		list = append(list, strings.TrimSpace(fmt.Sprintln(series...)))
	}
	return list
}

func (l *lab) addBars(n ktrdr.NewBars) ktrdr.StoredBars {
	l.Helper()
	added, err := l.AddBars(l.ctx(), n)
	l.must(err)
	return added
}

// by is the claim of an import whose result names its bars and its epoch.
func by(t ktrdr.Task) ktrdr.BarsImport {
	result := func(added ktrdr.StoredBars, _ ktrdr.MarketSeries) (json.RawMessage, error) {
		return fmt.Appendf(nil, `{"bars": %d, "epoch": %d}`, added.Hash[0], t.Epoch), nil
	}
	return ktrdr.BarsImport{Operation: t.Operation, Epoch: t.Epoch, Result: result}
}

func (l *lab) importBars(t ktrdr.Task, n ktrdr.NewBars) string {
	l.Helper()
	result, err := l.ImportBars(l.ctx(), n, by(t))
	l.must(err)
	return string(result)
}

var libraryBars = map[string]func(*lab){
	"BarsAreAddedReplacedAndKept": func(l *lab) {
		same(l, "bars of an empty library", l.barsSeen(true), []string{})
		_, err := l.BarsOf(l.ctx(), "B", "1h")
		l.refused(err, ktrdr.CodeNotFound)

		first := l.addBars(newBars("B", "1h", 1, 0))
		if first.AddedAt.IsZero() || !first.Current || first.Source != "a.csv" || first.File.Size != 1 {
			l.Errorf("added %+v", first)
		}
		same(l, "the same again", l.addBars(newBars("B", "1h", 1, 0)), first)
		_, err = l.AddBars(l.ctx(), newBars("B", "1h", 2, 0))
		l.refused(err, ktrdr.CodeConflict)
		_, err = l.AddBars(l.ctx(), newBars("B", "1h", 2, 3))
		l.refused(err, ktrdr.CodeConflict)

		l.addBars(newBars("B", "1h", 2, 1))
		l.addBars(newBars("B", "4h", 5, 0))
		l.addBars(newBars("A", "1h", 6, 0))
		same(l, "current", l.barsSeen(false), []string{"A 1h 6 true", "B 1h 2 true", "B 4h 5 true"})
		same(l, "all", l.barsSeen(true), []string{"A 1h 6 true", "B 1h 2 true", "B 1h 1 false", "B 4h 5 true"})
		found, err := l.BarsOf(l.ctx(), "B", "1h")
		l.must(err)
		same(l, "the hash of the current bars", found.Hash, ktrdr.Hash{2})

		l.addBars(newBars("B", "1h", 1, 2)) // back again
		same(l, "after going back", l.barsSeen(true), []string{"A 1h 6 true", "B 1h 1 true", "B 1h 2 false", "B 4h 5 true"})
	},

	"OldBarsStandBesideTheCurrentOnes": func(l *lab) {
		l.addBars(newBars("A", "1h", 1, 0))
		old := newBars("A", "1h", 2, 0)
		old.Old = true
		l.addBars(old)
		l.addBars(old)
		same(l, "bars", l.barsSeen(true), []string{"A 1h 1 true", "A 1h 2 false"})
	},

	"InvalidBarsAreRefused": func(l *lab) {
		for _, spoil := range []func(*ktrdr.NewBars){
			func(n *ktrdr.NewBars) { n.Symbol = "" },
			func(n *ktrdr.NewBars) { n.Timeframe = "a\x00" },
			func(n *ktrdr.NewBars) { n.Bars = -1 },
			func(n *ktrdr.NewBars) { n.File = ktrdr.Artifact{} },
		} {
			n := newBars("A", "1h", 1, 0)
			spoil(&n)
			_, err := l.AddBars(l.ctx(), n)
			l.refused(err, ktrdr.CodeInvalid)
			l.refused(l.RenameBars(l.ctx(), "B", []ktrdr.NewBars{n}), ktrdr.CodeInvalid)
		}
		l.addBars(newBars("EurUsd", "1h", 1, 0))
		_, err := l.AddBars(l.ctx(), newBars("EURUSD", "4h", 1, 0))
		l.refused(err, ktrdr.CodeConflict)
		same(l, "bars", l.barsSeen(true), []string{"EurUsd 1h 1 true"})
	},

	"OfBarsThatAreAddedAtOnceOneIsAdded": func(l *lab) {
		const n = 6
		var added atomic.Int64
		each(n, n, func(i int) {
			_, err := l.AddBars(l.ctx(), newBars("A", "1h", byte(i+1), 0))
			if err == nil {
				added.Add(1)
			} else {
				l.refused(err, ktrdr.CodeConflict)
			}
		})
		same(l, "series that were added", added.Load(), 1)
		same(l, "rows", len(l.barsSeen(true)), 1)
	},

	"AnImportThatIsRunAgainUndoesNothing": func(l *lab) {
		l.addBars(newBars("A", "1h", 1, 0))
		for what, correct := range map[string]func(){
			"replaced": func() { l.addBars(newBars("A", "1h", 3, 2)) },
			"replaced and back again": func() {
				l.addBars(newBars("A", "1h", 3, 2))
				l.addBars(newBars("A", "1h", 2, 3))
				l.addBars(newBars("A", "1h", 3, 2))
			},
			"deleted": func() {
				_, err := l.DeleteBars(l.ctx(), "A", "1h")
				l.must(err)
				l.addBars(newBars("A", "1h", 3, 0))
			},
			"renamed": func() {
				l.must(l.RenameBars(l.ctx(), "A", []ktrdr.NewBars{newBars("B", "1h", 12, 2)}))
				l.addBars(newBars("A", "1h", 3, 0))
				_, err := l.DeleteBars(l.ctx(), "B", "1h")
				l.must(err)
			},
		} {
			op := l.create(ktrdr.NewOperation{})
			task := l.claim("w")
			is, err := l.BarsOf(l.ctx(), "A", "1h")
			l.must(err)
			none, err := l.ImportResult(l.ctx(), op.ID)
			l.must(err)
			same(l, what+": result before", string(none), "")
			first := l.importBars(task, newBars("A", "1h", 2, is.Hash[0]))
			same(l, what+": result", first, `{"bars": 2, "epoch": 1}`)
			correct()
			want := l.barsSeen(true)

			l.must(l.Release(l.ctx(), ktrdr.Released{Operation: op.ID, Epoch: task.Epoch, Reason: "killed"}))
			_, err = l.ImportBars(l.ctx(), newBars("A", "1h", 2, 3), by(task))
			l.refused(err, ktrdr.CodeStaleEpoch)
			again := l.claim("w")
			same(l, what+": result again", l.importBars(again, newBars("A", "1h", 2, 3)), first)
			stored, err := l.ImportResult(l.ctx(), op.ID)
			l.must(err)
			same(l, what+": stored result", string(stored), first)
			same(l, what+": bars", l.barsSeen(true), want)
			l.finish(again, ktrdr.Completed)
		}
	},

	"AnImportThatIsRefusedStoresNoResult": func(l *lab) {
		l.addBars(newBars("A", "1h", 1, 0))
		op := l.create(ktrdr.NewOperation{})
		task := l.claim("w")
		_, err := l.ImportBars(l.ctx(), newBars("A", "1h", 2, 9), by(task))
		l.refused(err, ktrdr.CodeConflict)
		bad := by(task)
		bad.Result = func(ktrdr.StoredBars, ktrdr.MarketSeries) (json.RawMessage, error) {
			return nil, ktrdr.Errorf(ktrdr.CodeInternal, "no result")
		}
		_, err = l.ImportBars(l.ctx(), newBars("A", "1h", 2, 1), bad)
		l.refused(err, ktrdr.CodeInternal)
		none, err := l.ImportResult(l.ctx(), op.ID)
		l.must(err)
		same(l, "result", string(none), "")
		same(l, "bars", l.barsSeen(true), []string{"A 1h 1 true"})

		stranger := by(task)
		stranger.Operation = "op_data_load_20240101_000000_00000000"
		_, err = l.ImportBars(l.ctx(), newBars("A", "1h", 2, 1), stranger)
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.ImportResult(l.ctx(), stranger.Operation)
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.ImportBars(l.ctx(), newBars("", "1h", 2, 1), by(task))
		l.refused(err, ktrdr.CodeInvalid)
	},

	"BarsAndTheirMarketAreStoredTogether": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		task := l.claim("w")
		n := inMarket(newBars("A", "1h", 1, 0))
		claim := by(task)
		claim.Result = func(added ktrdr.StoredBars, placed ktrdr.MarketSeries) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"symbol": %q, "market": %q}`, added.Symbol, placed.Market), nil
		}
		result, err := l.ImportBars(l.ctx(), n, claim)
		l.must(err)
		series, err := l.SeriesOf(l.ctx(), "A", "1h", n.Hash)
		l.must(err)
		same(l, "result", string(result), fmt.Sprintf(`{"symbol": "A", "market": %q}`, series.Market))

		l.addBars(inMarket(newBars("B", "1h", 2, 0), series.Market))
		r := inMarket(newBars("C", "1h", 2, 2), series.Market)
		l.must(l.RenameBars(l.ctx(), "B", []ktrdr.NewBars{r}))
		same(l, "series", l.marketsSeen(), []string{"A 1 B 2 C 2"})
	},

	"BarsThatAreRefusedChangeNoMarket": func(l *lab) {
		first, err := l.AddSeries(l.ctx(), *inMarket(newBars("A", "1h", 1, 0)).Series)
		l.must(err)
		second, err := l.AddSeries(l.ctx(), *inMarket(newBars("B", "1h", 2, 0)).Series)
		l.must(err)
		l.addBars(newBars("A", "1h", 1, 0))
		l.addBars(newBars("B", "1h", 2, 0))
		l.create(ktrdr.NewOperation{})
		over := l.claim("w")
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: over.Operation, Epoch: over.Epoch, Reason: "killed"}))
		task := l.claim("w")
		bad := by(task)
		bad.Result = func(ktrdr.StoredBars, ktrdr.MarketSeries) (json.RawMessage, error) {
			return nil, ktrdr.Errorf(ktrdr.CodeInternal, "no result")
		}
		both := []string{first.Market, second.Market}
		want := l.marketsSeen()
		refused := func(what string, code ktrdr.Code, err error) {
			l.Helper()
			l.refused(err, code)
			same(l, "markets after "+what, l.marketsSeen(), want)
		}
		add := func(n ktrdr.NewBars) error { _, err := l.AddBars(l.ctx(), n); return err }
		load := func(n ktrdr.NewBars, by ktrdr.BarsImport) error { _, err := l.ImportBars(l.ctx(), n, by); return err }

		refused("another spelling", ktrdr.CodeConflict, add(inMarket(newBars("a", "1h", 3, 0), both...)))
		refused("other bars than were replaced", ktrdr.CodeConflict, add(inMarket(newBars("A", "1h", 3, 9), both...)))
		refused("the spelling of an import", ktrdr.CodeConflict, load(inMarket(newBars("a", "1h", 3, 0), both...), by(task)))
		refused("an import whose claim is over", ktrdr.CodeStaleEpoch, load(inMarket(newBars("A", "1h", 3, 1), both...), by(over)))
		refused("an import without a result", ktrdr.CodeInternal, load(inMarket(newBars("A", "1h", 3, 1), both...), bad))
		refused("a rename to what exists", ktrdr.CodeConflict,
			l.RenameBars(l.ctx(), "A", []ktrdr.NewBars{inMarket(newBars("B", "1h", 1, 1), both...)}))

		old := inMarket(newBars("A", "1h", 3, 1), both...)
		old.Series.Seen = new(1)
		refused("a comparison with fewer series", ktrdr.CodeConflict, add(old))
		if err := add(old); !errors.Is(err, ktrdr.ErrMoreSeries) {
			l.Errorf("after a comparison with fewer series: %v, want %v", err, ktrdr.ErrMoreSeries)
		}
		same(l, "bars", l.barsSeen(true), []string{"A 1h 1 true", "B 1h 2 true"})

		other := newBars("A", "1h", 3, 1)
		other.Series = inMarket(newBars("B", "1h", 3, 1)).Series
		refused("the series of other bars", ktrdr.CodeInvalid, add(other))
	},

	"DeletedBarsAreGoneAndTheirMarketStays": func(l *lab) {
		l.addBars(newBars("A", "1h", 1, 0))
		l.addBars(newBars("A", "1h", 2, 1))
		l.addBars(newBars("A", "4h", 3, 0))
		series, err := l.AddSeries(l.ctx(), newSeries("A", 0))
		l.must(err)
		deleted, err := l.DeleteBars(l.ctx(), "A", "1h")
		l.must(err)
		same(l, "how many were deleted", len(deleted), 2)
		same(l, "bars", l.barsSeen(true), []string{"A 4h 3 true"})
		_, err = l.DeleteBars(l.ctx(), "A", "1h")
		l.refused(err, ktrdr.CodeNotFound)
		still, err := l.SeriesOf(l.ctx(), "A", "1h", series.Hash)
		l.must(err)
		same(l, "the series of the market", still, series)
	},

	"BarsAreRenamedAllOrNone": func(l *lab) {
		l.addBars(newBars("A", "1h", 1, 0))
		l.addBars(newBars("A", "4h", 2, 0))
		l.addBars(newBars("B", "4h", 3, 0))
		both := func(to string) []ktrdr.NewBars {
			return []ktrdr.NewBars{newBars(to, "1h", 11, 1), newBars(to, "4h", 12, 2)}
		}
		l.refused(l.RenameBars(l.ctx(), "A", both("B")), ktrdr.CodeConflict)
		l.refused(l.RenameBars(l.ctx(), "A", []ktrdr.NewBars{newBars("C", "1h", 11, 9)}), ktrdr.CodeConflict)
		l.refused(l.RenameBars(l.ctx(), "A", append(both("C"), newBars("C", "1d", 13, 3))), ktrdr.CodeConflict)
		l.refused(l.RenameBars(l.ctx(), "A", both("C")[:1]), ktrdr.CodeConflict) // and leave the other behind
		same(l, "after refusals", l.barsSeen(true), []string{"A 1h 1 true", "A 4h 2 true", "B 4h 3 true"})
		l.must(l.RenameBars(l.ctx(), "A", both("a"))) // by capitals only
		same(l, "after a rename", l.barsSeen(false), []string{"B 4h 3 true", "a 1h 11 true", "a 4h 12 true"})
		same(l, "the old ones are kept", l.barsSeen(true)[:2], []string{"A 1h 1 false", "A 4h 2 false"})
	},

	"BlobRefsNameTheFilesOfBars": func(l *lab) {
		l.addBars(newBars("A", "1h", 1, 0))
		l.addBars(newBars("A", "1h", 2, 1))
		var got []string
		for ref, err := range l.BlobRefs(l.ctx()) {
			l.must(err)
			got = append(got, fmt.Sprint(ref.Series, " ", ref.Bars, " ", ref.SHA256[0], " ", ref.Size))
		}
		sameSet(l, "references", got, "A 1h true 1 1", "A 1h true 2 2")
		for range l.BlobRefs(l.ctx()) {
			break // a reader may stop early
		}
	},

	"MadeUpBarsStayMarked": func(l *lab) {
		marked := func(hash, replaces byte, madeUp *bool) ktrdr.NewBars {
			n := newBars("A", "1h", hash, replaces)
			n.MadeUp = madeUp
			return n
		}
		for _, step := range []struct {
			add  ktrdr.NewBars
			want *bool
		}{
			{marked(1, 0, nil), nil},               // not known
			{marked(1, 0, new(false)), nil},        // a file says nothing about bars that are there
			{marked(1, 0, new(true)), new(true)},   // now it is known
			{marked(1, 0, new(false)), new(true)},  // and stays known
			{marked(2, 1, new(false)), new(false)}, // other bars
			{marked(1, 2, new(false)), new(true)},  // the first again
			{marked(3, 1, new(true)), new(true)},   //
			{marked(2, 3, new(false)), new(false)}, //
		} {
			same(l, fmt.Sprint("bars ", step.add.Hash[0]), l.addBars(step.add).MadeUp, step.want)
			is, err := l.BarsOf(l.ctx(), "A", "1h")
			l.must(err)
			same(l, fmt.Sprint("stored bars ", step.add.Hash[0]), is.MadeUp, step.want)
		}
	},

	"FindingsOfBarsAreKeptAndAccepted": func(l *lab) {
		record := ktrdr.BarsRecord{Zone: "Europe/Athens", Unit: "units", Adjustment: "as written"}
		n := newBars("A", "1h", 1, 0)
		n.Record, n.Findings = record, json.RawMessage(`[{"rule": "spike"}]`)
		is := l.addBars(n)
		same(l, "record", is.Record, record)
		same(l, "findings", string(is.Findings), `[{"rule": "spike"}]`)
		l.must(l.JudgeBars(l.ctx(), "A", "1h", n.Hash, json.RawMessage(`[]`))) // it was judged

		_, err := l.AcceptFindings(l.ctx(), "B", "1h", n.Hash, []string{"spike"}, "ann")
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.AcceptFindings(l.ctx(), "A", "1h", ktrdr.Hash{9}, []string{"spike"}, "ann")
		l.refused(err, ktrdr.CodeConflict)
		for _, by := range []string{"ann", "bob"} { // the first stays
			is, err = l.AcceptFindings(l.ctx(), "A", "1h", n.Hash, []string{"spike"}, by)
			l.must(err)
			if len(is.Accepted) != 1 || is.Accepted[0].Finding != "spike" || is.Accepted[0].By != "ann" || is.Accepted[0].At.IsZero() {
				l.Errorf("accepted %+v, want spike by ann", is.Accepted)
			}
		}
		stored, err := l.BarsOf(l.ctx(), "A", "1h")
		l.must(err)
		same(l, "stored", stored, is)

		later := l.addBars(newBars("A", "1h", 2, 1)) // another vintage is not judged by the first
		same(l, "findings of other bars", []any{later.Findings == nil, len(later.Accepted)}, []any{true, 0})
		l.must(l.JudgeBars(l.ctx(), "A", "1h", later.Hash, json.RawMessage(`[]`)))
		later, err = l.BarsOf(l.ctx(), "A", "1h")
		l.must(err)
		same(l, "findings", string(later.Findings), `[]`)

		n.Replaces = ktrdr.Hash{2}
		again := l.addBars(n) // the first again
		same(l, "accepted of the first", again.Accepted, is.Accepted)
		same(l, "findings of the first", string(again.Findings), string(is.Findings))
	},

	"TrialsAndRunsSayThatPricesAreMadeUp": func(l *lab) {
		a := l.market("A").Market
		for i, madeUp := range []*bool{nil, new(false), new(true)} {
			name := fmt.Sprint("r", i)
			n := inRun(name, 0, 0, treeSpec{Children: 1})
			n.Trial, n.NewRun = on(1, a), &ktrdr.NewRun{Size: 1, Planned: 1, MadeUp: madeUp}
			n.Trial.MadeUp = madeUp
			l.create(n)
			run, err := l.Store.Run(l.ctx(), name)
			l.must(err)
			same(l, "run "+name, run.MadeUp, madeUp)
			page, err := l.Trials(l.ctx(), ktrdr.TrialQuery{Run: name})
			l.must(err)
			same(l, "trials of "+name, len(page.Trials), 1)
			same(l, "trial of "+name, page.Trials[0].MadeUp, madeUp)
		}
		hand := l.create(ktrdr.NewOperation{Type: ktrdr.Training, Trial: &ktrdr.NewTrial{
			Own: 1, MadeUp: new(true), Markets: []ktrdr.TrialMarket{{Market: a, Symbols: "A", Timeframes: "1h"}},
		}})
		again := l.create(ktrdr.NewOperation{Type: ktrdr.Training, RetryOf: hand.ID})
		page, err := l.Trials(l.ctx(), ktrdr.TrialQuery{Of: []ktrdr.OperationID{again.ID}})
		l.must(err)
		same(l, "trials of a retry", len(page.Trials), 1)
		same(l, "trial of a retry", page.Trials[0].MadeUp, new(true))
	},
}

var libraryDocuments = map[string]func(*lab){
	"DocumentsAreSavedReplacedAndDeleted": func(l *lab) {
		follow := ktrdr.Document{Kind: ktrdr.FollowDocument, Name: "EURUSD 1h", Content: "{}", Origin: ktrdr.DocumentFromUser}
		l.must(l.SaveDocument(l.ctx(), follow, true))
		follows, err := l.Documents(l.ctx(), ktrdr.FollowDocument)
		l.must(err)
		same(l, "series that are kept current", len(follows), 1)
		l.must(l.DeleteDocument(l.ctx(), ktrdr.FollowDocument, follow.Name))

		d := ktrdr.Document{
			Kind: ktrdr.StrategyDocument, Name: "mine", Content: "name: mine\n", Origin: ktrdr.DocumentFromUser, Source: "mine.yaml",
		}
		_, err = l.Document(l.ctx(), d.Kind, d.Name)
		l.refused(err, ktrdr.CodeNotFound)
		l.must(l.SaveDocument(l.ctx(), d, false))
		l.must(l.SaveDocument(l.ctx(), d, false))
		got, err := l.Document(l.ctx(), d.Kind, d.Name)
		l.must(err)
		if got.SavedAt.IsZero() {
			l.Error("it was saved at no time")
		}
		got.SavedAt = time.Time{}
		same(l, "document", got, d)

		other := d
		other.Content, other.Origin, other.Owner = "name: mine # edited\n", ktrdr.DocumentFromFolder, "backend-1"
		l.refused(l.SaveDocument(l.ctx(), other, false), ktrdr.CodeConflict)
		l.must(l.SaveDocument(l.ctx(), other, true))
		l.must(l.SaveDocument(l.ctx(), ktrdr.Document{
			Kind: ktrdr.InstrumentsDocument, Name: "instruments.yaml", Content: "{}", Origin: ktrdr.DocumentFromUser,
		}, false))
		all, err := l.Documents(l.ctx(), ktrdr.StrategyDocument)
		l.must(err)
		if len(all) != 1 || all[0].Content != other.Content || all[0].Owner != "backend-1" {
			l.Errorf("documents %+v", all)
		}
		l.must(l.DeleteDocument(l.ctx(), d.Kind, d.Name))
		l.refused(l.DeleteDocument(l.ctx(), d.Kind, d.Name), ktrdr.CodeNotFound)
		all, err = l.Documents(l.ctx(), ktrdr.InstrumentsDocument)
		l.must(err)
		same(l, "how many are left", len(all), 1)
	},

	"InvalidDocumentsAreRefused": func(l *lab) {
		for _, d := range []ktrdr.Document{
			{Kind: "poem", Name: "a"},
			{Kind: ktrdr.StrategyDocument, Name: ""},
			{Kind: ktrdr.StrategyDocument, Name: "a/b"},
			{Kind: ktrdr.StrategyDocument, Name: "a", Content: "\x00"},
			{Kind: ktrdr.StrategyDocument, Name: "a", Content: strings.Repeat("x", ktrdr.MaxDocument+1)},
		} {
			l.refused(l.SaveDocument(l.ctx(), d, true), ktrdr.CodeInvalid)
		}
	},
}
