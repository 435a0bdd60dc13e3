package num

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var functions = map[string]struct {
	f     func(x, y float64) float64
	bound float64 // ulp
}{
	"exp":     {func(x, _ float64) float64 { return Exp(x) }, 1},
	"sigmoid": {func(x, _ float64) float64 { return Sigmoid(x) }, 1},
	"log":     {func(x, _ float64) float64 { return Log(x) }, 1},
	"pow":     {Pow, 1},
	"cos":     {func(x, _ float64) float64 { return Cos(x) }, 1},
}

// TestFunctions_AreAsExactAsTheySay compares with values computed with 1400
// bits, each stored as its nearest float64 and the rest.
func TestFunctions_AreAsExactAsTheySay(t *testing.T) {
	file, err := os.Open("testdata/elementary.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	worst, count := map[string]float64{}, map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.ReplaceAll(lines.Text(), ",", " ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		v := make([]uint64, 4)
		words := strings.Fields(line)
		name := words[0]
		for i, w := range words[1:] {
			if _, err := fmt.Sscanf(w, "%x", &v[i]); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
		}
		x, y, rest := math.Float64frombits(v[0]), 0.0, v[1:]
		if name == "pow" {
			y, rest = math.Float64frombits(v[1]), v[2:]
		}
		want, more := math.Float64frombits(rest[0]), math.Float64frombits(rest[1])
		got := functions[name].f(x, y)
		e := math.Abs((got-want)-more) / ulp(want)
		if math.IsNaN(got) || e > functions[name].bound {
			t.Errorf("%s(%v, %v) = %v, want %v: %.2f ulp away", name, x, y, got, want, e)
		}
		worst[name] = max(worst[name], e)
		count[name]++
	}
	for name, f := range functions {
		if count[name] < 300 {
			t.Errorf("%s was tried at %d points only", name, count[name])
		}
		t.Logf("%-8s %4d points, worst %.3f ulp of %g", name, count[name], worst[name], f.bound)
	}
}

func ulp(x float64) float64 {
	x = math.Abs(x)
	return math.Nextafter(x, math.Inf(1)) - x
}

func TestFunctions_AtTheEdges(t *testing.T) {
	inf, nan, tiny := math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64
	huge := math.MaxFloat64
	negZero := math.Copysign(0, -1)
	cases := []struct {
		name      string
		got, want float64
	}{
		{"exp of NaN", Exp(nan), nan},
		{"exp of infinity", Exp(inf), inf},
		{"exp of minus infinity", Exp(-inf), 0},
		{"exp of 0", Exp(0), 1},
		{"exp of a subnormal", Exp(tiny), 1},
		{"the last finite exp", Exp(expMax), 0x1.fffffffffff2ap+1023},
		{"the first infinite exp", Exp(math.Nextafter(expMax, inf)), inf},
		{"the last exp above 0", Exp(expMin), tiny},
		{"the first exp that is 0", Exp(math.Nextafter(expMin, -inf)), 0},
		{"log of NaN", Log(nan), nan},
		{"log of infinity", Log(inf), inf},
		{"log of a negative", Log(-1), nan},
		{"log of minus infinity", Log(-inf), nan},
		{"log of 0", Log(0), -inf},
		{"log of minus 0", Log(negZero), -inf},
		{"log of 1", Log(1), 0},
		{"log of the smallest", Log(tiny), -744.4400719213812},
		{"log of the largest", Log(huge), 709.782712893384},
		{"sigmoid of NaN", Sigmoid(nan), nan},
		{"sigmoid of 0", Sigmoid(0), 0.5},
		{"sigmoid of infinity", Sigmoid(inf), 1},
		{"sigmoid of minus infinity", Sigmoid(-inf), 0},
		{"sigmoid of the far left", Sigmoid(-745), tiny},
		{"cos of NaN", Cos(nan), nan},
		{"cos of minus infinity", Cos(-inf), nan},
		{"cos of 0", Cos(0), 1},
		{"cos of the largest", Cos(-huge), -0.9999876894265599},
	}
	for _, c := range cases {
		if !same(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}

// same compares as bits, but any NaN is as good as another.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// TestPow_HasTheSpecialCasesOfTheStandardOne allows for the digits that the
// standard one loses with large exponents.
func TestPow_HasTheSpecialCasesOfTheStandardOne(t *testing.T) {
	values := []float64{
		0, math.Copysign(0, -1), 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, -1.5, 1e300, -1e300, 1e-300, -1e-300,
		math.Inf(1), math.Inf(-1), math.NaN(), 1 << 53, 1<<53 + 2, -(1<<53 - 1), math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.Nextafter(1, 2), math.Nextafter(1, 0),
	}
	for _, x := range values {
		for _, y := range values {
			got, want := Pow(x, y), math.Pow(x, y)
			if same(got, want) || math.Abs(got/want-1) < 1e-7 {
				continue
			}
			t.Errorf("Pow(%v, %v) = %v, want %v", x, y, got, want)
		}
	}
}

func TestPow_IsExactForIntegersThatFit(t *testing.T) {
	for base := 2.0; base < 300; base++ {
		power := base
		for e := 2.0; power*base <= 1<<53; e++ {
			power *= base
			if got := Pow(base, e); got != power {
				t.Errorf("Pow(%v, %v) = %v, want %v", base, e, got, power)
			}
		}
	}
}

// TestFunctions_RiseAcrossTheirSplits walks through the places where a
// function changes its formula or its reduction, one float64 after the other.
func TestFunctions_RiseAcrossTheirSplits(t *testing.T) {
	cases := []struct {
		name string
		f    func(float64) float64
		at   []float64
	}{
		{"exp", Exp, []float64{-3.5 * math.Ln2, -1.5 * math.Ln2, -0.5 * math.Ln2, 0.5 * math.Ln2, 1.5 * math.Ln2, 2.5 * math.Ln2, -708.4}},
		{"log", Log, []float64{math.Sqrt2 / 2, 1, math.Sqrt2, 2 * math.Sqrt2, 0x1p-1022}},
		{"sigmoid", Sigmoid, []float64{-708, -1.5 * math.Ln2, -0.5 * math.Ln2, 0, 0.5 * math.Ln2, 1.5 * math.Ln2, 40}},
		{"cos", Cos, []float64{-3 * math.Pi / 4, -math.Pi / 4}},
	}
	const steps = 2000
	for _, c := range cases {
		for _, at := range c.at {
			x := at
			for range steps {
				x = math.Nextafter(x, math.Inf(-1))
			}
			last := c.f(x)
			for range 2 * steps {
				x = math.Nextafter(x, math.Inf(1))
				if v := c.f(x); v < last {
					t.Fatalf("%s falls from %v to %v at %v", c.name, last, v, x)
				} else {
					last = v
				}
			}
		}
	}
}

func TestSum_LosesNothingToSize(t *testing.T) {
	cases := []struct {
		name string
		x    []float64
		want float64
	}{
		{"nothing", nil, 0},
		{"a small one between two large ones", []float64{1e100, 1, -1e100}, 1},
		{"many small ones after a large one", append([]float64{1e16}, repeat(1, 1000)...), 1e16 + 1000},
		{"an infinity", []float64{1, math.Inf(1), 2}, math.Inf(1)},
		{"a NaN", []float64{1, math.NaN()}, math.NaN()},
	}
	for _, c := range cases {
		if got := Sum(c.x); !same(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func repeat(v float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}
