package worlds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

func TestMain(m *testing.M) { os.Exit(labtest.Main(m, "")) }

// The size of a run.
const (
	barsOfMarket = 6000
	generation   = 8
	runsOfLab    = 20 // markets in one lab; each new one is compared with the others
)

// firstSeed is where the seeds of a world begin. They were chosen before any of
// them was run, and nothing may be tuned to them.
const firstSeed = 31_000

// lab is a backend with two workers.
type lab struct {
	*labtest.Lab
	t       *testing.T
	client  *client.Client
	backend *labtest.Process
}

func newLab(t *testing.T, costs string) *lab {
	t.Helper()
	l := &lab{
		Lab: labtest.New(t, labtest.SQLite, labtest.Times{Timeout: 5 * time.Minute, Interval: 30 * time.Second, Heartbeat: 10 * time.Second}),
		t:   t,
	}
	l.backend = l.ServeWith(2, "KTRDR_COSTS="+costs)
	l.client = l.Client()
	return l
}

// add puts a market into the lab.
func (l *lab) add(b *market.Bars) {
	l.t.Helper()
	l.Import(b)
}

// start starts a run on a market.
func (l *lab) start(symbol string, count int, seed uint64) string {
	l.t.Helper()
	made, err := l.client.Trigger(l.t.Context(), research.Request{
		Symbols: []string{symbol}, Count: count, Seed: &seed, Force: true,
	}, fmt.Sprintf("%s-%d", symbol, seed))
	if err != nil {
		l.t.Fatalf("run on %s: %v", symbol, err)
	}
	return made.Run
}

// ends waits for the end of a run.
func (l *lab) ends(run string) ktrdr.Run {
	l.t.Helper()
	var r ktrdr.Run
	labtest.Eventually(l.t, 10*time.Minute, "the end of "+run, func() bool {
		r = l.get(run)
		return !r.EndedAt.IsZero()
	})
	if r.State != ktrdr.RunCompleted || r.Failed+r.Cancelled > r.Created/2 {
		l.t.Fatalf("run %s ended %s: %+v", run, r.State, r.RunCounts)
	}
	return r
}

func (l *lab) get(run string) ktrdr.Run {
	l.t.Helper()
	r := ask[ktrdr.Run](l, "/api/v1/runs/"+run)
	if r.ID != run {
		l.t.Fatalf("run %s: %+v", run, r)
	}
	return r
}

func (l *lab) looks(run string) []ktrdr.Look {
	l.t.Helper()
	return ask[[]ktrdr.Look](l, "/api/v1/looks?limit=1000&run="+run)
}

// ask reads what the backend says.
func ask[T any](l *lab, path string) T {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.client.URL()+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Success bool `json:"success"`
		Data    T    `json:"data"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || !answer.Success {
		l.t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return answer.Data
}

// claims is how many of a number of runs on markets of their own claim an edge.
func claims(t *testing.T, w World, runs int) (s Share) {
	t.Helper()
	for done := 0; done < runs; done += runsOfLab {
		l := newLab(t, w.Costs)
		names := map[int]string{}
		for i := done; i < min(done+runsOfLab, runs); i++ {
			symbol := fmt.Sprintf("W%05d", i)
			seed := uint64(firstSeed + i)
			l.add(w.Make(symbol, barsOfMarket, seed))
			names[i] = l.start(symbol, generation, seed)
		}
		for i := done; i < min(done+runsOfLab, runs); i++ {
			r := l.ends(names[i])
			if r.Looks > 1 {
				t.Errorf("run %d of %s looked %d times in one generation", i, w.Name, r.Looks)
			}
			s.Runs++
			if r.Claims > 0 {
				s.Claims++
			}
		}
		l.backend.Kill() // before the next lab starts one
	}
	return s
}

// worlds are all of them: with real bars, where these are.
func worlds(t *testing.T) []World {
	t.Helper()
	all := slices.Clone(Worlds)
	if real := realBars(t); real != nil {
		all = append(all, World{flippedName, Flipped(real), Cheap})
	}
	return all
}

const flippedName = "real bars with flipped signs"

// realBars are prices that stand beside the project, if they do.
func realBars(t *testing.T) *market.Bars {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", "ejtrader", "GBPUSDh1.csv.gz")
	if _, err := os.Stat(path); err != nil {
		t.Run(flippedName, func(t *testing.T) { t.Skip("prices are kept beside the project, and are not here: ", err) })
		return nil
	}
	b, _, err := market.ReadFile(t.Context(), path, market.ImportOptions{Symbol: "GBPUSD", Timeframe: market.H1, Divide: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Two runs in each world: luck alone claims one of them in 50.
func TestWorlds_ClaimNoEdgeThatIsNotThere(t *testing.T) {
	var pooled Share
	for _, w := range worlds(t) {
		s := claims(t, w, 2)
		t.Logf("%s: %s", w.Name, s)
		pooled.Add(s)
	}
	if low, _ := pooled.Interval(); low > 0.02 {
		t.Errorf("all: %s, where 2 %% are allowed", pooled)
	}
}
