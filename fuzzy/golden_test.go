package fuzzy_test

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/ktrdr/ktrdr/fuzzy"
)

// The memberships that the reference system's vectors were made with.
var grid = map[string]fuzzy.Membership{
	"tri":   must(fuzzy.Triangular, 0, 1, 2.5),
	"left":  must(fuzzy.Triangular, 0, 0, 2),
	"right": must(fuzzy.Triangular, 0, 2, 2),
	"spike": must(fuzzy.Triangular, 1, 1, 1),
	"trap":  must(fuzzy.Trapezoidal, -0.5, 0.5, 1.5, 2.75),
	"box":   must(fuzzy.Trapezoidal, 0, 0, 1, 1),
	"gauss": must(fuzzy.Gaussian, 1, 0.5),
}

var members = map[string]struct {
	of string
	m  fuzzy.Membership
}{
	"rsi_zone_oversold":     {"in:rsi_14", must(fuzzy.Triangular, 0, 25, 40)},
	"rsi_zone_neutral":      {"in:rsi_14", must(fuzzy.Triangular, 35, 50, 65)},
	"rsi_zone_overbought":   {"in:rsi_14", must(fuzzy.Triangular, 60, 75, 100)},
	"adx_strength_weak":     {"in:adx_14.adx", must(fuzzy.Triangular, 0, 10, 25)},
	"adx_strength_strong":   {"in:adx_14.adx", must(fuzzy.Triangular, 20, 40, 100)},
	"macd_momentum_falling": {"in:macd_12_26_9.histogram", must(fuzzy.Triangular, -0.002, -0.0005, 0)},
	"macd_momentum_rising":  {"in:macd_12_26_9.histogram", must(fuzzy.Triangular, 0, 0.0005, 0.002)},
	"roc_direction_falling": {"in:roc_10", must(fuzzy.Triangular, -2, -0.5, 0)},
	"roc_direction_rising":  {"in:roc_10", must(fuzzy.Triangular, 0, 0.5, 2)},
	"rsi_smooth_low":        {"in:rsi_14", must(fuzzy.Gaussian, 30, 8)},
	"rsi_smooth_mid":        {"in:rsi_14", must(fuzzy.Trapezoidal, 35, 45, 55, 65)},
	"rsi_smooth_high":       {"in:rsi_14", must(fuzzy.Gaussian, 70, 8)},
}

// The reference system leaves a box open at both ends; ours is closed. These
// are all the cells in which the two differ.
func closedShoulder(name string, x float64) bool { return name == "box" && (x == 0 || x == 1) }

func TestAt_AgreesWithTheReferenceOnEveryCornerOfTheGrid(t *testing.T) {
	f, err := os.Open("testdata/membership_grid.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head, rows := read(t, f)
	shoulders := 0
	for _, row := range rows {
		for i, name := range head[1:] {
			got, want := grid[name].At(row[0]), row[i+1]
			if closedShoulder(name, row[0]) {
				shoulders++
				if got != 1 || want != 0 {
					t.Errorf("%s at its edge %v = %v, want 1 (the reference says %v, expected 0)", name, row[0], got, want)
				}
				continue
			}
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("%s at %v = %v, want %v", name, row[0], got, want)
			}
		}
	}
	if len(rows) != 81 || shoulders != 2 {
		t.Errorf("compared %d rows with %d shoulders, want 81 with 2", len(rows), shoulders)
	}
}

func TestAt_AgreesWithTheReferenceOnIndicators(t *testing.T) {
	f, err := os.Open("testdata/memberships.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	head, rows := read(t, z)
	at := map[string]int{}
	for i, name := range head {
		at[name] = i
	}
	for name, c := range members {
		column, ok := at[name]
		if !ok {
			t.Fatalf("no column %s", name)
		}
		for _, row := range rows {
			got, want := c.m.At(row[at[c.of]]), row[column]
			if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-9 {
				t.Errorf("row %v: %s = %v, want %v", row[0], name, got, want)
			}
		}
	}
}

// read reads a CSV of numbers; an empty cell is NaN.
func read(t *testing.T, r io.Reader) (head []string, rows [][]float64) {
	t.Helper()
	all, err := csv.NewReader(r).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range all[1:] {
		row := make([]float64, len(cells))
		for i, c := range cells {
			row[i] = math.NaN()
			if c == "" {
				continue
			}
			if row[i], err = strconv.ParseFloat(c, 64); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

func must(s fuzzy.Shape, p ...float64) fuzzy.Membership {
	m, err := fuzzy.New(s, p)
	if err != nil {
		panic(err)
	}
	return m
}
