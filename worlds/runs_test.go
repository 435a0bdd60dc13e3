package worlds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

// cheap lets every strategy trade almost for nothing: the harder case.
const cheap, half = "*=0.01/0/0", "*=0.5/0/0"

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
func claims(t *testing.T, w World, costs string, runs int) (s Share) {
	t.Helper()
	for done := 0; done < runs; done += runsOfLab {
		l := newLab(t, costs)
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

// worlds are all of them, with the costs that they are run at.
func worlds(t *testing.T) (all []struct {
	World
	costs string
},
) {
	t.Helper()
	add := func(w World, costs string) {
		all = append(all, struct {
			World
			costs string
		}{w, costs})
	}
	for _, w := range Worlds {
		add(w, cheap)
		if strings.Contains(w.Name, "died") {
			add(World{w.Name + " at 0.5 bp", w.Make}, half)
		}
	}
	if real := realBars(t); real != nil {
		add(World{"real bars with flipped signs", Flipped(real)}, cheap)
	}
	return all
}

// realBars are prices that stand beside the project, if they do.
func realBars(t *testing.T) *market.Bars {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", "ejtrader", "GBPUSDh1.csv.gz")
	if _, err := os.Stat(path); err != nil {
		t.Run("real bars with flipped signs", func(t *testing.T) { t.Skip("prices are kept beside the project, and are not here: ", err) })
		return nil
	}
	b, _, err := market.ReadFile(t.Context(), path, market.ImportOptions{Symbol: "GBPUSD", Timeframe: market.H1, Divide: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A handful of each world: luck alone claims one of them in 50.
func TestWorlds_ClaimNoEdgeThatIsNotThere(t *testing.T) {
	var pooled Share
	for _, w := range worlds(t) {
		s := claims(t, w.World, w.costs, 3)
		t.Logf("%s: %s", w.Name, s)
		pooled.Add(s)
	}
	if low, _ := pooled.Interval(); low > 0.02 {
		t.Errorf("all: %s, where 2 %% are allowed", pooled)
	}
}
