package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestScale_TicksAreRoundAndInside(t *testing.T) {
	for _, c := range []struct {
		scale Scale
		want  string
	}{
		{Scale{Min: -3, Max: 2.2}, "−3 −2 −1 0 1 2"},
		{Scale{Min: 0.87, Max: 1.33}, "0.9 1.0 1.1 1.2 1.3"},
		{Scale{Min: 0, Max: 102}, "0 20 40 60 80 100"},
		{Scale{Min: 1.0544, Max: 1.0921}, "1.06 1.07 1.08 1.09"},
		{Scale{Min: 5, Max: 5}, ""},
	} {
		var texts []string
		for _, tick := range Numbers(c.scale.Ticks(5)) {
			texts = append(texts, tick.Text)
			if !c.scale.Holds(tick.At) {
				t.Errorf("%+v: the tick %v is outside", c.scale, tick.At)
			}
		}
		if got := strings.Join(texts, " "); got != c.want {
			t.Errorf("%+v: ticks %s, want %s", c.scale, got, c.want)
		}
	}
}

func TestScale_At(t *testing.T) {
	for _, c := range []struct {
		scale Scale
		v     float64
		want  float64
	}{
		{Scale{Min: -1, Max: 3}, 0, 0.25},
		{Scale{Min: -1, Max: 3}, 9, 1},
		{Scale{Min: -1, Max: 3}, -9, 0},
		{Scale{Min: 0.25, Max: 4, Log: true}, 1, 0.5},
		{Scale{Min: 0.25, Max: 4, Log: true}, 0, 0},
	} {
		if got := c.scale.At(c.v); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v at %v: %v, want %v", c.scale, c.v, got, c.want)
		}
	}
}

func TestFit_IgnoresWhatIsNotFinite(t *testing.T) {
	if got, want := Fit([]float64{math.NaN(), 2, math.Inf(1)}, []float64{-1}), (Scale{Min: -1, Max: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := Fit(), (Scale{Min: 0, Max: 1}); got != want {
		t.Errorf("of nothing: got %+v, want %+v", got, want)
	}
}

func TestNumber_HasATrueMinusAndNoNegativeZero(t *testing.T) {
	for v, want := range map[float64]string{-1.234: "−1.23", -0.001: "0.00", 2: "2.00"} {
		if got := Number(v, 2); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

func TestDownsample_KeepsEndsAndExtremes(t *testing.T) {
	points := make([]XY, 1_000_000)
	for i := range points {
		points[i] = XY{float64(i), math.Sin(float64(i) / 1e5)}
	}
	points[333_333].Y = -7 // one bar
	points[777_777].Y = 9
	points[500_000].Y = math.NaN()
	got := Downsample(points, 400)
	if len(got) > 400 || len(got) < 300 {
		t.Errorf("%d points of a million, want nearly 400", len(got))
	}
	for _, want := range []XY{points[0], points[333_333], points[777_777], points[len(points)-1]} {
		if !slices.Contains(got, want) {
			t.Errorf("%v is missing", want)
		}
	}
	if !slices.IsSortedFunc(got, func(a, b XY) int { return int(a.X - b.X) }) {
		t.Error("the points are not in order")
	}
	if points[500_000].X != 500_000 {
		t.Error("the series itself was changed")
	}
}

// A figure is well-formed, carries no style attribute, and no text of a user
// becomes markup.
func TestPlot_IsWellFormedAndInert(t *testing.T) {
	const attack = `"><script>alert(1)</script>&`
	line := []XY{{0, 1}, {1, math.NaN()}, {2, 2}, {3, 1.5}}
	plot := Plot{
		Label: attack, Unit: attack, X: Scale{Max: 3}, Y: Scale{Min: 0.5, Max: 3}.Logarithmic(),
		XTicks: []Tick{{0, attack, -1, ""}, {3, attack, 1, ""}},
		Layers: []Layer{
			Zone{From: 0, To: 1, Class: "tr", Text: attack, Note: attack},
			Area{Points: line[2:], Base: 1, Class: "fl"},
			Area{Points: line[2:], To: []XY{{2, 1}, {3, 1}}, Hatch: true},
			Line{Points: line, Class: "st"},
			Line{Points: line[2:], Class: "st", Step: true},
			Dots{Points: line, Class: "pt"},
			Vertical{X: 1, Class: "zb"},
			Horizontal{From: 0, To: 1, Y: 1, Class: "wh"},
			Text{X: 1, Y: 1, Text: attack},
			Histogram{From: []float64{0}, To: []float64{1}, Y: []float64{2}, Class: func(int) string { return "bar" }},
			Candles{Bars: []Candle{{1, 2, 0.6, 1.5}, {1.5, 1.6, 0.7, 0.8}}},
		},
	}
	for _, drawn := range []string{
		string(plot.HTML()), string(Hatch), string(Skill{Value: 1, Error: 0.5, Luck: 1.7, Scale: Scale{Min: -2, Max: 2}}.HTML()),
	} {
		if strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") {
			t.Errorf("a coordinate is not a number: %s", drawn)
		}
		d := xml.NewDecoder(strings.NewReader(drawn))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("not well-formed: %v in %s", err, drawn)
			}
			if start, ok := token.(xml.StartElement); ok {
				if start.Name.Local == "script" {
					t.Errorf("a text became markup: %s", drawn)
				}
				for _, a := range start.Attr {
					if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
						t.Errorf("<%s> carries %s", start.Name.Local, a.Name.Local)
					}
				}
			}
		}
	}
}

func TestSkill_SaysInWordsWhatItDraws(t *testing.T) {
	got := string(Skill{Value: -0.43, Error: 0.6, Luck: 1.72, Scale: Scale{Min: -2, Max: 2}}.HTML())
	if want := `aria-label="Sharpe ratio −0.43, standard error 0.60, best by luck 1.72"`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s in it", got, want)
	}
	for _, want := range []string{`x="50%" width="43%"`, `cx="39.25%"`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
}
