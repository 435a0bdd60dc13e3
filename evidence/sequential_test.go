package evidence

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

func TestFactoryThreshold_SharesAddUpToTheLevel(t *testing.T) {
	if a, b, c := FactoryThreshold(0), FactoryThreshold(1), FactoryThreshold(2); a != 0.025 || b != 0.05/6 || c != 0.05/12 {
		t.Errorf("thresholds %v, %v, %v", a, b, c)
	}
	sum := 0.0
	for r := range 100_000 {
		sum += FactoryThreshold(r)
	}
	if sum > FactoryLevel || sum < FactoryLevel-1e-6 {
		t.Errorf("100,000 tests spend %v of %v", sum, FactoryLevel)
	}
}

func TestNewSequential_AllowsATestToPass(t *testing.T) {
	for _, c := range []struct{ before, copies, most, stop int }{
		{0, 0, 199, 5}, {1, 0, 599, 5}, {0, 39, 39, 1}, {0, 99, 99, 2}, {5, 0, 4199, 5},
	} {
		s, err := NewSequential(FactoryThreshold(c.before), c.copies)
		if err != nil || s.Most != c.most || s.Stop != c.stop {
			t.Errorf("after %d tests, %d copies: %+v, %v; want at most %d, stop after %d", c.before, c.copies, s, err, c.most, c.stop)
		}
	}
	for _, copies := range []int{-1, 1, 38, MostCopies + 1} {
		if s, err := NewSequential(0.025, copies); err == nil {
			t.Errorf("%d copies were accepted: %+v", copies, s)
		}
	}
}

func TestSequential_PIsTheRank(t *testing.T) {
	s := Sequential{Most: 199, Stop: 5}
	if s.P() != nil {
		t.Error("a test that has not begun has a p-value")
	}
	for i := range 20 {
		s.Draw(i%4 == 3) // the fifth that reaches it is copy 20
	}
	if p := s.P(); p == nil || *p != 5./20 {
		t.Errorf("stopped early: %v, want 0.25", p)
	}
	s = Sequential{Most: 199, Stop: 5}
	for i := range 199 {
		s.Draw(i == 3 || i == 100)
	}
	if p := s.P(); p == nil || *p != 3./200 {
		t.Errorf("2 of 199 copies reached it: %v, want 0.015", p)
	}
}

// The figures of "The factory p-value" in docs/research.md are computed here.
func TestSequential_ExampleOfTheDocumentationIsRecomputed(t *testing.T) {
	page, err := os.ReadFile("../docs/research.md")
	if err != nil {
		t.Fatal(err)
	}
	says := func(format string, args ...any) {
		t.Helper()
		if text := fmt.Sprintf(format, args...); !strings.Contains(string(page), text) {
			t.Errorf("docs/research.md does not say %q", text)
		}
	}
	var limits, copies []string
	for r := range 5 {
		s, err := NewSequential(FactoryThreshold(r), 0)
		if err != nil || s.Stop != usualReached {
			t.Fatalf("after %d tests: %+v, %v", r, s, err)
		}
		n := fmt.Sprint(s.Most)
		if len(n) > 3 {
			n = n[:len(n)-3] + "," + n[len(n)-3:]
		}
		limits, copies = append(limits, fmt.Sprintf("%.3g", FactoryThreshold(r))), append(copies, n)
	}
	says("| p must be at most | %s |\n| copies N | %s |", strings.Join(limits, " | "), strings.Join(copies, " | "))
	drawn := func(reached ...int) Sequential {
		s, _ := NewSequential(FactoryThreshold(0), 0)
		for i := 1; !s.Done(); i++ {
			s.Draw(len(reached) > s.Reached && reached[s.Reached] == i)
		}
		return s
	}
	early, late := drawn(4, 9, 11, 16, 20), drawn(4, 101)
	says("at numbers 4, 9, 11, 16 and 20. The test ends at copy %d: p = %d / %d = %.2f", early.Copies, early.Reached, early.Copies, *early.P())
	says("p = (%d + 1) / (%d + 1) = %.3f", late.Reached, late.Most, *late.P())
	mean := 0.0
	for n := range late.Most { // the rank among n + 1 is equally likely at each place
		mean += min(1, float64(late.Stop)/float64(n+1))
	}
	says("needs %.0f copies on average", mean)
	least, _ := NewSequential(FactoryThreshold(0), 39)
	says("which is %d in the first test", least.Most)
}

func TestReached_CountsTiesAndNoMissingValue(t *testing.T) {
	one, two := 1.0, 2.0
	for _, c := range []struct {
		copied, real *float64
		want         bool
	}{{&one, &two, false}, {&two, &two, true}, {&two, &one, true}, {nil, &one, false}, {&one, nil, false}} {
		if Reached(c.copied, c.real) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

// Real value and copies are alike: p is at most a with a probability of at most a,
// with ties and without.
func TestSequential_RejectsAtMostAtItsLevel(t *testing.T) {
	runs := 4000
	r := num.NewRand(60)
	for _, values := range []uint64{1 << 62, 30} { // of 30 values many tie
		for _, level := range []float64{0.025, 0.2} {
			passed := 0
			for range runs {
				s, err := NewSequential(level, 99)
				if err != nil {
					t.Fatal(err)
				}
				for real := r.Uint64n(values); !s.Done(); {
					s.Draw(r.Uint64n(values) >= real)
				}
				if *s.P() <= level {
					passed++
				}
			}
			low, high := BinomialInterval(passed, runs)
			t.Logf("%d values, level %v: %d of %d pass (95 %% interval %.4f to %.4f)", values, level, passed, runs, low, high)
			if low > level {
				t.Errorf("the lower end of the interval is above %v", level)
			}
			if values > 30 && high < level*0.8 {
				t.Errorf("without ties it passes too rarely for a level of %v", level)
			}
		}
	}
}

func TestBinomialInterval_IsThatOfClopperAndPearson(t *testing.T) {
	for s, want := range map[[2]int][2]float64{ // from R's binom.test
		{0, 200}: {0, 0.018275}, {4, 200}: {0.005476, 0.050414}, {5, 10}: {0.187086, 0.812914}, {10, 10}: {0.691503, 1}, {0, 99}: {0, 0.036576},
	} {
		low, high := BinomialInterval(s[0], s[1])
		if math.Abs(low-want[0]) > 2e-6 || math.Abs(high-want[1]) > 2e-6 {
			t.Errorf("%v: %.6f to %.6f, want %v", s, low, high, want)
		}
	}
}
