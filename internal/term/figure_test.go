package term

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func twoLines() Figure {
	f := Figure{
		Title: "Equity", Left: "2020", Right: "2021", Number: Cents,
		Lines: []FigureLine{{Name: "strategy"}, {Name: "buy and hold", Dotted: true}},
	}
	for i := range 41 {
		x := float64(i)
		f.Lines[0].Points = append(f.Lines[0].Points, FigurePoint{x, 1 + x/40})
		f.Lines[1].Points = append(f.Lines[1].Points, FigurePoint{x, 1.5 + 0.5*math.Sin(x/6)})
	}
	return f
}

func TestFigure_InBrailleAndInASCII(t *testing.T) {
	got := strings.Join(twoLines().Draw(50, false, true), "\n")
	if got != wantBraille {
		t.Errorf("braille:\n%s\nwant\n%s", got, wantBraille)
	}
	text := strings.Join(twoLines().Draw(40, false, false), "\n")
	if other := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); other >= 0 {
		t.Errorf("a character that is not ASCII in\n%s", text)
	}
	rows := strings.Split(text, "\n")
	if top, low := rows[2], rows[9]; !strings.HasSuffix(top, "*") || !strings.HasPrefix(low, "1.00 |*") {
		t.Errorf("the first line does not rise from the lower left to the upper right:\n%s", text)
	}
}

// TestFigure_FitsAndSurvivesAnyNumbers draws whatever numbers there are.
func TestFigure_FitsAndSurvivesAnyNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(-1e3, 1e3), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), 0, 0}))
		f := Figure{Title: "T", Left: "a", Right: "b", Number: Cents}
		for i := range rapid.IntRange(0, 3).Draw(rt, "lines") {
			l := FigureLine{Name: fmt.Sprint(i), Dotted: i > 0}
			for range rapid.IntRange(0, 50).Draw(rt, "points") {
				l.Points = append(l.Points, FigurePoint{value.Draw(rt, "x"), value.Draw(rt, "y")})
			}
			f.Lines = append(f.Lines, l)
		}
		columns := rapid.IntRange(20, 120).Draw(rt, "columns")
		for _, line := range f.Draw(columns, Palette(true), rapid.Bool().Draw(rt, "utf8")) {
			if n := ansi.StringWidth(line); n > columns {
				rt.Fatalf("%d columns on %d: %q", n, columns, line)
			}
		}
	})
}

const wantBraille = `Equity
⠒⠒⠒ strategy 2.00   ⠂⠂⠂ buy and hold 1.69
2.00 │      ⡀⠐ ⠁⠈ ⠂⠠                        ⢀⡠⠤⠤⠒⠉
     │    ⠠          ⠁⠠                ⣀⡠⠔⠒⠊⠁
     │ ⢀ ⠂              ⠆         ⣀⠤⠒⠒⠉          ⠠
     │⡀⠈                 ⠐ ⢀⣀⡠⠔⠊⠉⠉              ⠆
     │                ⣀⣀⠤⠒⠉⠃⢀                 ⠈
     │          ⢀⡠⠤⠔⠊⠉      ⠈ ⡀            ⢀ ⠁
     │     ⣀⠤⠤⠒⠊⠁              ⠠          ⠄
1.00 │⡠⠔⠒⠒⠉                      ⠂⠠ ⡀⢀ ⠂⠈
      2020                                    2021`
