package bundle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/bundle"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
)

// claim is a claim that the binary exported: 8 researches on the market of planted.
func claim(t testing.TB) *bundle.Bundle {
	t.Helper()
	data, err := os.ReadFile("testdata/claim.zip")
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// planted makes the bars of the claim again.
func planted(_ context.Context, _ jobs.Bars, span research.Span) ([]byte, error) {
	b := market.Synth(market.SynthConfig{
		Symbol: "SYNTH", Timeframe: "1h", Bars: 20_000, Seed: 101, Edge: 0.3, Start: time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC),
	})
	first, _ := slices.BinarySearch(b.Time, span.From.Unix())
	last, _ := slices.BinarySearch(b.Time, span.To.Unix())
	if last < b.Len() && b.Timeframe.End(b.Time[last]) <= span.To.Unix() {
		last++
	}
	var file bytes.Buffer
	err := market.Encode(&file, b.Slice(first, last))
	return file.Bytes(), err
}

func runners() bundle.Runners {
	kernel := neural.Best()
	return bundle.Runners{
		ktrdr.Training: compute.TrainingRunner(kernel), ktrdr.Backtesting: compute.BacktestRunner(kernel),
		ktrdr.AgentAssessment: agent.AssessmentRunner(agent.ModelAccess{}), ktrdr.AgentConfirm: agent.ConfirmationRunner(),
	}
}

func verify(t testing.TB, b *bundle.Bundle, o bundle.Options) bundle.Verification {
	t.Helper()
	v, err := bundle.Verify(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// written is a bundle after it was written and read.
func written(t testing.TB, b *bundle.Bundle) *bundle.Bundle {
	t.Helper()
	var file bytes.Buffer
	if err := bundle.Write(&file, b); err != nil {
		t.Fatal(err)
	}
	again, err := bundle.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// entries are the entries of the only ledger of a bundle.
func entries(t testing.TB, b *bundle.Bundle) (all []ktrdr.ChainEntry) {
	t.Helper()
	for _, l := range b.Ledgers[b.Heads()[0].Market] {
		e, err := ktrdr.ParseEntry([]byte(l.Entry))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// chain makes the ledger of a bundle again: every hash fits.
func chain(t testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry) {
	t.Helper()
	id := b.Heads()[0].Market
	b.Ledgers[id] = hashed(t, id, all...)
}

// hashed makes the ledger of a market: every hash fits.
func hashed(t testing.TB, market string, all ...ktrdr.ChainEntry) (links []ktrdr.ChainLink) {
	t.Helper()
	var before ktrdr.Hash
	for i, e := range all {
		e.Market, e.Position = market, i+1
		text, err := ktrdr.EncodeEntry(e)
		if err != nil {
			t.Fatal(err)
		}
		before = ktrdr.LinkHash(before, text)
		links = append(links, ktrdr.ChainLink{Market: market, Position: i + 1, Hash: before, Entry: string(text)})
	}
	return links
}

// byHand is a trial by hand.
func byHand(i int) ktrdr.ChainEntry {
	id := ktrdr.OperationID(fmt.Sprintf("op_training_20261118_200000_%08x", i))
	return ktrdr.ChainEntry{Kind: ktrdr.ChainTrial, Trial: &ktrdr.TrialEntry{
		Key: string(id), Operation: id, Type: ktrdr.Training, Symbols: "SYNTH", Timeframes: "1h", Status: ktrdr.Completed,
		TrialFacts: ktrdr.TrialFacts{Seed: new(uint64(i))},
	}}
}

// laterLook is a look by hand that came after the claim, and paid for its look.
func laterLook(i int) ktrdr.ChainEntry {
	id := ktrdr.OperationID(fmt.Sprintf("op_backtesting_20261118_210000_%08x", i))
	return ktrdr.ChainEntry{Kind: ktrdr.ChainLook, Look: &ktrdr.LookEntry{
		Key: string(id), Operation: id, Kind: ktrdr.LookByHand, Number: 2, Before: 1,
	}}
}

// varied is an untouched claim on a market on which trials by hand, and a look after the claim,
// were made too.
func varied(t testing.TB, dice *rand.Rand) *bundle.Bundle {
	t.Helper()
	b := claim(t)
	all := entries(t, b)
	for i := range 1 + dice.IntN(5) {
		at := dice.IntN(len(all) + 1)
		all = slices.Insert(all, at, byHand(i))
	}
	all = append(all, laterLook(0))
	chain(t, b, all)
	return written(t, b)
}

func published(b *bundle.Bundle) []bundle.Head {
	return []bundle.Head{{ChainHead: b.Heads()[0], From: "a report"}}
}

func codes(v bundle.Verification) (all []bundle.Flaw) {
	for _, r := range v.Refused {
		all = append(all, r.Code)
	}
	return all
}

func TestVerify_AnUntouchedClaimIsComputedAgainBitForBit(t *testing.T) {
	t.Parallel()
	b := claim(t)
	v := verify(t, b, bundle.Options{Bars: planted, Runners: runners(), Heads: published(b)})
	if !v.Verified || len(v.Warnings) > 0 || len(v.Passed) != 6 {
		t.Errorf("not verified: %+v", v)
	}
	v = verify(t, b, bundle.Options{Runners: runners()})
	if v.Verified || !slices.Contains(codes(v), bundle.NoBars) || len(v.Warnings) != 1 {
		t.Errorf("without bars and heads: %+v", v)
	}
}

// Each ledger is checked. One in twenty is computed again too; the soak computes all again.
func TestVerify_AHundredUntouchedBundlesAreVerified(t *testing.T) {
	t.Parallel()
	again := 20
	if os.Getenv("KTRDR_SOAK") == "1" {
		again = 1
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		b := varied(t, dice)
		o := bundle.Options{Heads: published(b)}
		if i%again == 0 {
			o.Bars, o.Runners = planted, runners()
		}
		if v := verify(t, b, o); !v.Verified || len(v.Warnings) > 0 {
			t.Fatalf("bundle %d: %+v", i, v)
		}
	}
}

// editSpec changes the text of the research's spec.
func editSpec(t testing.TB, b *bundle.Bundle, was, is string) {
	t.Helper()
	text := strings.Replace(string(b.Spec), was, is, 1)
	if text == string(b.Spec) {
		t.Fatalf("the spec has no %s", was)
	}
	b.Spec = []byte(text)
}

// tampering changes a bundle in a way that must be refused with one of the codes.
type tampering struct {
	name    string
	want    []bundle.Flaw
	rehash  bool // and make the chain again
	tamper  func(t testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry
	byKnown bundle.Flaw // what a lab that has the chain names; "": not only by that
}

func trialIn(all []ktrdr.ChainEntry, op ktrdr.OperationID) *ktrdr.TrialEntry {
	for _, e := range all {
		if e.Trial != nil && e.Trial.Operation == op {
			return e.Trial
		}
	}
	return nil
}

func researches(all []ktrdr.ChainEntry) (at []int) {
	for i, e := range all {
		if e.Trial != nil && e.Trial.Run != "" {
			at = append(at, i)
		}
	}
	return at
}

type anyOf = []bundle.Flaw

// inSpec edits the spec and, in a chain that is made again, what the ledger says of it.
func inSpec(was, is func(*rand.Rand) string, fix func(*ktrdr.TrialEntry)) func(
	testing.TB, *bundle.Bundle, []ktrdr.ChainEntry, *rand.Rand) []ktrdr.ChainEntry {
	return func(t testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry {
		t.Helper()
		editSpec(t, b, was(dice), is(dice))
		if fix != nil {
			e := trialIn(all, b.Manifest.Research)
			e.Spec = sha256.Sum256(b.Spec)
			e.TrialFacts = research.MadeFrom(b.Spec, string(b.Strategy))
		}
		return all
	}
}

func always(s string) func(*rand.Rand) string { return func(*rand.Rand) string { return s } }

func newCost(dice *rand.Rand) string {
	return fmt.Sprintf(`"source":"run","commission":0.0000%d1`, dice.IntN(5))
}
func newSeed(dice *rand.Rand) string { return fmt.Sprintf(`"seed":%d`, dice.IntN(1<<50)) }

func newBars(dice *rand.Rand) string { return fmt.Sprintf(`"bars_hash":"%08x`, dice.Uint32()) }

const theBars = `"bars_hash":"eb6988a5`

const theCost, theSeed = `"source":"run","commission":0.00005`, `"seed":3503194475365206`

func keep(*ktrdr.TrialEntry) {}

var tamperings = []tampering{
	{name: "cost in the spec", want: anyOf{bundle.WrongCosts}, tamper: inSpec(always(theCost), newCost, nil)},
	{name: "seed in the spec", want: anyOf{bundle.WrongSeed}, tamper: inSpec(always(theSeed), newSeed, nil)},
	{name: "gates in the spec", want: anyOf{bundle.WrongSpec}, tamper: inSpec(always(`"min_trades":5`), always(`"min_trades":4`), nil)},
	{name: "strategy", want: anyOf{bundle.WrongText}, tamper: func(_ testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand,
	) []ktrdr.ChainEntry {
		b.Strategy = append(b.Strategy, fmt.Sprintf("\n# %d", dice.Int())...)
		return all
	}},
	{name: "holdout", want: anyOf{bundle.WrongHoldout}, tamper: swapHoldout(false)},
	{name: "bars of the research", want: anyOf{bundle.WrongBars}, tamper: inSpec(always(theBars), newBars, nil)},
	{name: "bars everywhere", want: anyOf{bundle.WrongHead}, rehash: true, byKnown: bundle.WrongBars, tamper: inSpec(always(theBars),
		newBars, keep)},
	{name: "p of the verdict", want: anyOf{bundle.WrongLook}, tamper: editP(false)},
	{name: "result hash of the verdict", want: anyOf{bundle.WrongResult}, tamper: func(_ testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry,
		dice *rand.Rand,
	) []ktrdr.ChainEntry {
		b.Verdict.ResultHash[dice.IntN(32)] ^= 1
		return all
	}},
	{name: "cost everywhere", want: anyOf{bundle.WrongHead}, rehash: true, byKnown: bundle.WrongCosts, tamper: inSpec(always(theCost),
		newCost, keep)},
	{name: "seed everywhere", want: anyOf{bundle.WrongHead}, rehash: true, byKnown: bundle.WrongSeed, tamper: inSpec(always(theSeed),
		newSeed, keep)},
	{
		name: "dropped trial of the run", want: anyOf{bundle.DroppedTrial}, rehash: true, byKnown: bundle.DroppedTrial,
		tamper: func(_ testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry {
			at := researches(all)
			at = slices.DeleteFunc(at, func(i int) bool { return all[i].Trial.Operation == b.Manifest.Research })
			i := at[dice.IntN(len(at))]
			return slices.Delete(all, i, i+1)
		},
	},
	{
		name: "dropped trial by hand", want: anyOf{bundle.WrongHead}, rehash: true,
		tamper: func(_ testing.TB, _ *bundle.Bundle, all []ktrdr.ChainEntry, _ *rand.Rand) []ktrdr.ChainEntry {
			i := slices.IndexFunc(all, func(e ktrdr.ChainEntry) bool { return e.Trial != nil && e.Trial.Run == "" })
			return slices.Delete(all, i, i+1)
		},
	},
	{
		name: "dropped look after the claim", want: anyOf{bundle.WrongHead}, rehash: true,
		tamper: func(_ testing.TB, _ *bundle.Bundle, all []ktrdr.ChainEntry, _ *rand.Rand) []ktrdr.ChainEntry {
			i := slices.IndexFunc(all, func(e ktrdr.ChainEntry) bool { return e.Look != nil && e.Look.Number == 2 })
			return slices.Delete(all, i, i+1)
		},
	},
	{
		name: "a look pays for none", want: anyOf{bundle.WrongLooks}, rehash: true,
		tamper: func(_ testing.TB, _ *bundle.Bundle, all []ktrdr.ChainEntry, _ *rand.Rand) []ktrdr.ChainEntry {
			i := slices.IndexFunc(all, func(e ktrdr.ChainEntry) bool { return e.Look != nil && e.Look.Number == 2 })
			all[i].Look.Before = 0
			return all
		},
	},
	{
		name: "trials moved", want: anyOf{bundle.WrongOrder}, rehash: true,
		tamper: func(_ testing.TB, _ *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry {
			at := researches(all)
			i := dice.IntN(len(at) - 1)
			all[at[i]], all[at[i+1]] = all[at[i+1]], all[at[i]]
			return all
		},
	},
	{
		name: "figures of another trial", want: anyOf{bundle.WrongHead}, rehash: true, byKnown: bundle.WrongResult,
		tamper: func(_ testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry {
			at := researches(all)
			at = slices.DeleteFunc(at, func(i int) bool { return all[i].Trial.Operation == b.Manifest.Research })
			all[at[dice.IntN(len(at))]].Trial.Sharpe = new(dice.Float64())
			return all
		},
	},
	{name: "p everywhere", want: anyOf{bundle.WrongHead}, rehash: true, tamper: editP(true)},
	{name: "holdout everywhere", want: anyOf{bundle.WrongHead}, rehash: true, tamper: swapHoldout(true)},
	{
		name: "a look was hidden", want: anyOf{bundle.WrongLooks}, rehash: true,
		tamper: func(_ testing.TB, _ *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry {
			for i := range all {
				if l := all[i].Look; l != nil {
					l.Number += 1 + dice.IntN(3)
				}
			}
			return all
		},
	},
	{
		name: "the claim was taken from another", want: anyOf{bundle.DroppedTrial, bundle.WrongLooks}, rehash: true,
		tamper: func(_ testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry {
			if dice.IntN(2) == 0 {
				b.Manifest.Claim += "0"
			} else {
				b.Manifest.Research += "0"
			}
			return all
		},
	},
}

func editP(everywhere bool) func(testing.TB, *bundle.Bundle, []ktrdr.ChainEntry, *rand.Rand) []ktrdr.ChainEntry {
	return func(_ testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry {
		b.Verdict.Look.P = new(dice.Float64() / 1e6)
		for _, e := range all {
			if e.Result != nil && everywhere {
				e.Result.P = b.Verdict.Look.P
			}
		}
		return all
	}
}

func swapHoldout(everywhere bool) func(testing.TB, *bundle.Bundle, []ktrdr.ChainEntry, *rand.Rand) []ktrdr.ChainEntry {
	return func(t testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand) []ktrdr.ChainEntry {
		t.Helper()
		spec, err := ktrdr.ParseSpec[research.ConfirmSpec](b.Confirm)
		if err != nil {
			t.Fatal(err)
		}
		was, is := spec.Holdout[0].Hash, spec.Holdout[0].Hash
		is[dice.IntN(32)] ^= 1
		b.Confirm = bytes.ReplaceAll(b.Confirm, []byte(was.String()), []byte(is.String()))
		for _, e := range all {
			if e.Look != nil && everywhere {
				e.Look.Spec = sha256.Sum256(b.Confirm)
				e.Look.Spans = json.RawMessage(strings.ReplaceAll(string(e.Look.Spans), was.String(), is.String()))
			}
		}
		return all
	}
}

func TestVerify_AThousandTamperedBundlesAreRefusedAndNamed(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(3, 4))
	for i := range 1000 {
		b := varied(t, dice)
		heads, known := published(b), b.Ledgers[b.Heads()[0].Market]
		one := tamperings[i%len(tamperings)]
		all := one.tamper(t, b, entries(t, b), dice)
		if one.rehash {
			chain(t, b, all)
		}
		b = written(t, b)
		v := verify(t, b, bundle.Options{Heads: heads})
		if v.Verified || !slices.ContainsFunc(codes(v), func(c bundle.Flaw) bool { return slices.Contains(one.want, c) }) {
			t.Fatalf("%d, %s: %+v, want one of %v", i, one.name, v, one.want)
		}
		if one.byKnown == "" {
			continue
		}
		heads[0].Known = known
		if v := verify(t, b, bundle.Options{Heads: heads}); !slices.Contains(codes(v), one.byKnown) {
			t.Fatalf("%d, %s, by a lab that knows the ledger: %+v, want %v", i, one.name, v, one.byKnown)
		}
	}
}

// Nothing that is broken at random is ever accepted: a bit, the end, something behind it.
func TestRead_BrokenFilesAreRefused(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/claim.zip")
	if err != nil {
		t.Fatal(err)
	}
	heads := published(claim(t))
	dice := rand.New(rand.NewPCG(5, 6))
	for i := range 1000 {
		broken := bytes.Clone(data)
		switch i % 3 {
		case 0:
			broken[dice.IntN(len(broken))] ^= 1 << dice.IntN(8)
		case 1:
			broken = broken[:dice.IntN(len(broken))]
		case 2:
			broken = append(broken, byte(dice.IntN(256)))
		}
		b, err := bundle.Read(broken)
		if err != nil {
			continue
		}
		if v := verify(t, b, bundle.Options{Heads: heads}); v.Verified {
			t.Fatalf("broken file %d is verified", i)
		}
	}
}

// Without a head a chain that was made again is caught where it does not follow from the
// bars.
func TestVerify_ForgeriesAreCaughtByComputingAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		want   bundle.Flaw
		tamper func(testing.TB, *bundle.Bundle, []ktrdr.ChainEntry, *rand.Rand) []ktrdr.ChainEntry
	}{
		{"cost", bundle.WrongResult, inSpec(always(theCost), always(`"source":"run","commission":0.00001`), keep)},
		{"seed", bundle.WrongResult, inSpec(always(theSeed), always(`"seed":3503194475365207`), keep)},
		{"number of trials", bundle.WrongResult, func(_ testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, _ *rand.Rand,
		) []ktrdr.ChainEntry {
			trialIn(all, b.Manifest.Research).Counted = 1
			return all
		}},
		{"p-value", bundle.WrongLook, editP(true)},
		{"holdout of the look", bundle.WrongSpec, swapHoldout(true)},
		{"holdout of research and look", bundle.WrongLook, func(t testing.TB, b *bundle.Bundle, all []ktrdr.ChainEntry, dice *rand.Rand,
		) []ktrdr.ChainEntry {
			t.Helper()
			was := b.Confirm
			all = swapHoldout(true)(t, b, all, dice)
			for i := range was { // the hash in the spec of the look is the only text that changed
				if was[i] != b.Confirm[i] {
					hash := bytes.LastIndexByte(was[:i], '"') + 1
					b.Spec = bytes.ReplaceAll(b.Spec, was[hash:hash+64], b.Confirm[hash:hash+64])
					break
				}
			}
			e := trialIn(all, b.Manifest.Research)
			e.TrialFacts = research.MadeFrom(b.Spec, string(b.Strategy))
			return all
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := claim(t)
			chain(t, b, c.tamper(t, b, entries(t, b), rand.New(rand.NewPCG(7, 8))))
			v := verify(t, written(t, b), bundle.Options{Bars: planted, Runners: runners()})
			if v.Verified || !slices.Contains(codes(v), c.want) {
				t.Errorf("%+v, want %s", v, c.want)
			}
		})
	}
}

func TestHeadsIn_FindsHeadsInAReport(t *testing.T) {
	h := claim(t).Heads()[0]
	found := bundle.HeadsIn([]byte("<p>Ledger head: "+h.String()+"</p> and again "+h.String()), "a report")
	if len(found) != 1 || found[0].ChainHead != h {
		t.Errorf("found %v, want %v", found, h)
	}
	if found := bundle.HeadsIn([]byte("mkt_1/2/3"), "x"); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/claim.zip")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := bundle.Read(data)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := bundle.Write(&again, b); err != nil || !bytes.Equal(again.Bytes(), data) {
			t.Errorf("what was read is not what is written: %v", err)
		}
		if _, err := bundle.Verify(t.Context(), b, bundle.Options{}); err != nil {
			t.Error(err)
		}
	})
}
