package factory_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
)

// searches are the digests of one search by each version of the factory. A digest is added and never
// changed: calibrations of the version were measured with that search.
var searches = map[string]string{
	"2": "109fbef70a21d8ee3ded64c30daa2397",
	"3": "a2a53cc9e89ca3891ef05270fae17a51",
}

// A calibration of another search is stale, and only the version tells. It is raised by hand, and this test
// goes red where that was forgotten.
func TestFactoryVersion_IsRaisedWhenTheSearchChanges(t *testing.T) {
	bars := synth("SYNTH", 4000, 1, 0.6)
	kernel, err := neural.KernelFor(neural.ClassFMA) // the same bits on every machine
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.New()
	out := search(t, split(t, bars), factory.Settings{Researches: 10, Seed: 7, Costs: cheap, Kernel: kernel})
	judged, looks := 0, out.Looks()
	for _, r := range out.Researches {
		fmt.Fprintln(digest, r.Strategy, r.Rung, r.Result.ResultHash)
		if r.Score != nil {
			judged++
		}
	}
	for _, g := range out.Generations {
		fmt.Fprintln(digest, g.Finalist, g.LookHash)
		for _, x := range g.Examined {
			fmt.Fprintln(digest, x.Research, x.Score != nil)
			if x.Score != nil {
				fmt.Fprintln(digest, *x.Score)
			}
		}
	}
	for _, null := range research.Nulls {
		made, err := factory.Copy([]*market.Bars{bars}, null, 7)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(digest, null, ktrdr.Hash(made[0].Hash()))
	}
	fmt.Fprintln(digest, ktrdr.Hash(factory.Plant([]*market.Bars{bars}, 0.3)[0].Hash()), evidence.Rules{}.WithDefaults())
	if judged < 3 || looks == 0 {
		t.Fatalf("%d researches were judged, with %d looks: the search shows too little", judged, looks)
	}
	got, want := hex.EncodeToString(digest.Sum(nil))[:32], searches[research.FactoryVersion]
	if got != want {
		t.Errorf("version %q of the factory searches differently: digest %s, want %q. Raise research.FactoryVersion, and add the digest here",
			research.FactoryVersion, got, want)
	}
}
