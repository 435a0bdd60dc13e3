package cli

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// priceFile writes bars as CSV, every price times a factor of the bar's number.
func priceFile(t *testing.T, b *market.Bars, factor func(i int) float64) string {
	t.Helper()
	text := []byte("timestamp,open,high,low,close,volume\n")
	for i := range b.Len() {
		x := b.At(i)
		text = time.Unix(x.Time, 0).UTC().AppendFormat(text, "2006-01-02 15:04:05")
		for _, v := range []float64{x.Open, x.High, x.Low, x.Close} {
			text = strconv.AppendFloat(append(text, ','), v*factor(i), 'f', -1, 64)
		}
		text = append(text, ",1\n"...)
	}
	return file(t, "prices.csv", string(text))
}

func unchanged(int) float64 { return 1 }

// rough moves every price by up to half a basis point.
func rough(i int) float64 { return 1 + 0.0001*(float64(i*i%11)/10-0.5) }

// ledgers is what `data list` shows of each series, by symbol and timeframe. The
// API must show the same.
func (l *lab) ledgers() map[string]stored {
	l.t.Helper()
	all := map[string]stored{}
	for _, s := range decode[[]stored](l.t, l.must("data", "list", "--json")) {
		all[s.Symbol+" "+string(s.Timeframe)] = s
	}
	var shown []jobs.LibrarySeries
	if err := json.Unmarshal(l.send(http.MethodGet, "/api/v1/data", 200, nil), &shown); err != nil {
		l.t.Fatal(err)
	}
	for _, s := range shown {
		was := all[s.Symbol+" "+s.Timeframe]
		if s.Market != was.Market || s.Trials != was.Trials || s.Looks != was.Looks || !s.HoldoutFrom.Equal(was.HoldoutFrom) ||
			s.MarketReason != was.Reason {
			l.t.Errorf("the API shows %+v, and `data list` %+v", s, was)
		}
	}
	if len(shown) != len(all) {
		l.t.Errorf("the API shows %d series, and `data list` %d", len(shown), len(all))
	}
	return all
}

// A market is its prices: copies under other names have its ledger.
func TestMarkets_CopiesKeepTheLedger(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		l.serve("--workers", "0", "--agents", "0")
		bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 8000, Seed: 7})
		l.must("data", "synth", "--symbol", "EURUSD", "--bars", "8000", "--seed", "7")
		l.must("train", "rsi_mean_reversion", "--symbol", "EURUSD", "--open-holdout")
		first := l.ledgers()["EURUSD 1h"]
		if first.Market == "" || first.HoldoutFrom.IsZero() || first.Trials != 1 || first.Looks != 1 {
			t.Fatalf("EURUSD is %+v, want a market with a holdout, one trial and one look", first)
		}
		l.must("data", "import", "--symbol", "COPY", priceFile(t, bars, unchanged))
		l.must("data", "import", "--symbol", "SHORTER", priceFile(t, bars.Slice(0, bars.Len()-1), unchanged))
		l.must("data", "import", "--symbol", "SCALED", priceFile(t, bars, func(int) float64 { return 1.0001 }))
		l.must("data", "import", "--symbol", "NOISY", priceFile(t, bars, rough))
		l.must("data", "import", "--symbol", "ZONED", "--zone", "America/New_York", priceFile(t, bars, unchanged))
		l.must("data", "resample", "EURUSD", "1h", "4h")
		l.must("data", "resample", "COPY", "1h", "1d")
		out := l.must("data", "synth", "--symbol", "OTHER", "--bars", "8000", "--seed", "8")
		if !strings.Contains(out, ": new market: no known series has returns like these") {
			t.Errorf("synth said %q", out)
		}
		all := l.ledgers()
		for _, name := range []string{"COPY 1h", "SHORTER 1h", "SCALED 1h", "NOISY 1h", "ZONED 1h", "EURUSD 4h", "COPY 1d"} {
			s := all[name]
			if s.Market != first.Market || s.Trials != 1 || s.Looks != 1 || !s.HoldoutFrom.Equal(first.HoldoutFrom) ||
				!strings.HasPrefix(s.Reason, "same market as ") {
				t.Errorf("%s is in market %q (%s) with %d trials and %d looks, want the market of EURUSD", name, s.Market, s.Reason, s.Trials, s.Looks)
			}
		}
		if s := all["OTHER 1h"]; s.Market == "" || s.Market == first.Market || s.Trials != 0 || s.Looks != 0 {
			t.Errorf("OTHER is %+v, want a market of its own", s)
		}

		l.must("train", "rsi_mean_reversion", "--symbol", "COPY")
		if s := l.ledgers()["EURUSD 1h"]; s.Trials != 2 || s.Looks != 1 {
			t.Errorf("after a training on the copy there are %d trials and %d looks, want 2 and 1", s.Trials, s.Looks)
		}
		l.refused(exitFailed, "AGAIN 1h cannot be a new market, so leave --new-market (new_market) out: it is the same market as", "data",
			"import", "--new-market", "--symbol", "AGAIN", priceFile(t, bars, unchanged))
		if s, there := l.ledgers()["AGAIN 1h"]; there {
			t.Errorf("a refused import was stored: %+v", s)
		}

		// The prices are kept when the bars are deleted.
		for _, folder := range []string{"EURUSD_1h", "EURUSD_4h", "COPY_1h", "COPY_1d", "SHORTER_1h", "SCALED_1h", "NOISY_1h", "ZONED_1h"} {
			if err := os.RemoveAll(filepath.Join(l.data, "data", folder)); err != nil {
				t.Fatal(err)
			}
		}
		l.must("data", "import", "--symbol", "LATER", priceFile(t, bars.Slice(1, bars.Len()), unchanged))
		if s := l.ledgers()["LATER 1h"]; s.Market != first.Market || s.Trials != 2 || s.Looks != 1 {
			t.Errorf("after the bars were deleted a copy is in market %q with %d trials and %d looks, want %q with 2 and 1", s.Market, s.Trials,
				s.Looks, first.Market)
		}
	})
}

// A short overlap asks, and nothing uses the series until it is answered.
func TestMarkets_AShortOverlapAsks(t *testing.T) {
	t.Parallel()
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 9000, Seed: 7})
	for name, c := range map[string]struct {
		answer func(l *lab, overlap string)
		same   bool
		reason string
	}{
		"the same, later": {func(l *lab, _ string) {
			l.must("data", "market", "SHORT", "1h", "--same-market-as", "EURUSD")
		}, true, "same market as EURUSD, as the user said"},
		"the same, by importing again": {func(l *lab, overlap string) {
			l.must("data", "import", "--same-market-as", "EURUSD", "--symbol", "SHORT", overlap)
		}, true, "same market as EURUSD, as the user said"},
		"a new one": {func(l *lab, _ string) {
			l.must("data", "market", "SHORT", "1h", "--new-market")
		}, false, "new market, as the user said"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.serve("--workers", "0", "--agents", "0")
			l.must("data", "import", "--symbol", "EURUSD", priceFile(t, bars.Slice(0, 5000), unchanged))
			overlap := priceFile(t, bars.Slice(4000, 9000), rough)
			const asks = "SHORT 1h is possibly the same market as EURUSD 1h: returns correlate 0.9"
			const commands = "say which with `ktrdr data market SHORT 1h --same-market-as EURUSD` or `ktrdr data market SHORT 1h --new-market`"
			if out := l.must("data", "import", "--symbol", "SHORT", overlap); !strings.Contains(out, "market undecided: "+asks) ||
				!strings.Contains(out, commands) {
				t.Errorf("import said %q", out)
			}
			if out := l.must("data", "list"); !strings.Contains(out, "undecided") || !strings.Contains(out, commands) {
				t.Errorf("list said %q", out)
			}
			if out := l.must("data", "market", "SHORT", "1h"); !strings.Contains(out, commands) {
				t.Errorf("market said %q", out)
			}
			l.refused(exitFailed, commands, "research", "--symbol", "SHORT")
			l.refused(exitFailed, commands, "train", "rsi_mean_reversion", "--symbol", "SHORT")
			c.answer(l, overlap)
			l.must("train", "rsi_mean_reversion", "--symbol", "SHORT")
			all := l.ledgers()
			short, first := all["SHORT 1h"], all["EURUSD 1h"]
			if (short.Market == first.Market) != c.same || short.Trials != 1 || short.Reason != c.reason {
				t.Errorf("SHORT is %+v, EURUSD is %+v", short, first)
			}
			l.refused(exitFailed, "SHORT 1h belongs to market "+short.Market+" already", "data", "market", "SHORT", "1h", "--new-market")
			l.refused(exitUsage, "contradict each other", "data", "market", "SHORT", "1h", "--new-market", "--same-market-as", "EURUSD")
		})
	}
}

// Bars of an earlier version are taken over and assigned when a backend starts,
// and imports of a backend are assigned at once.
func TestMarkets_AreAssignedAtStartAndByImports(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 6000, Seed: 7})
	b := *bars
	b.Symbol = "COPY"
	l.earlier(bars)
	l.earlier(&b)
	l.serve("--workers", "1", "--agents", "0")
	l.eventually("both are in one market", func(string) bool {
		all := l.ledgers()
		return all["EURUSD 1h"].Market != "" && all["EURUSD 1h"].Market == all["COPY 1h"].Market
	}, "data", "list")

	text, err := os.ReadFile(priceFile(t, bars.Slice(5000, 6000), rough))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.data, "short.csv"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(more map[string]any) ktrdr.Operation {
		body := map[string]any{"path": "short.csv", "symbol": "SHORT", "timeframe": "1h"}
		maps.Copy(body, more)
		var started api.Started
		if err := json.Unmarshal(l.post("/api/v1/data/load", 202, body), &started); err != nil {
			t.Fatal(err)
		}
		return l.until(string(started.Operation), "the import ends", func(op ktrdr.Operation) bool { return op.Status.Terminal() })
	}
	if r := decode[jobs.LoadResult](t, string(load(nil).Result)); r.Market != "" ||
		!strings.HasPrefix(r.Question, "SHORT 1h is possibly the same market as ") {
		t.Errorf("import ended with %+v, want a question", r)
	}
	if op := load(map[string]any{"same_market_as": "NOWHERE"}); op.Status != ktrdr.Failed ||
		!strings.Contains(op.ErrorMessage, `no series of "NOWHERE" has a market`) {
		t.Errorf("import ended %s: %s", op.Status, op.ErrorMessage)
	}
	l.post("/api/v1/data/load", 422, map[string]any{"path": "short.csv", "symbol": "SHORT", "same_market_as": "EURUSD", "new_market": true})
	if r := decode[jobs.LoadResult](t, string(load(map[string]any{"new_market": true}).Result)); r.Market == "" ||
		r.Reason != "new market, as the user said" {
		t.Errorf("import ended with %+v, want a new market", r)
	}
	var merged jobs.LibrarySeries
	if err := json.Unmarshal(l.post("/api/v1/data/market", 200, map[string]any{
		"symbol": "SHORT", "timeframe": "1h", "same_market_as": "COPY",
	}), &merged); err != nil {
		t.Fatal(err)
	}
	if merged.Market != l.ledgers()["EURUSD 1h"].Market {
		t.Errorf("merged into %q", merged.Market)
	}
}
