package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "zigzag",
	Params: []Param{
		{Name: "threshold", Kind: Float, Default: 0.05, Min: 0.0001, Max: 0.9999, Doc: "smallest move that turns, as a fraction"},
		sourceParam,
	},
	Outputs: []string{"pivot", "direction", "change"}, Units: []Unit{InPrice, Pure, Pure},
	Doc: "Zigzag as it is known at each bar: pivot is the last turning point that a move of threshold against it has confirmed " +
		"(the first value until there is one), direction the leg since then, 1, -1 or 0 before the first, " +
		"change the source's distance from pivot as a fraction. A pivot appears when it is confirmed, not on its own bar, " +
		"and never moves afterwards; the zigzag that looks back is a label.",
	Follows: "ktrdr", build: makeZigzag,
})

func makeZigzag(a Args) built {
	source := a.Source()
	return built{
		warm: []int{0, 0, 0}, reads: source.reads(), cost: 7, memory: 4,
		start: func() machine { return (&zigzag{source: source, threshold: a.Float("threshold")}).run },
	}
}

type zigzag struct {
	source    Source
	room      scratch
	threshold float64

	begun     bool
	pivot     float64
	extreme   float64 // furthest value of the leg
	direction float64
}

func (z *zigzag) run(in *market.Bars, out [][]float64) {
	x := z.source.of(in, &z.room)
	pivot, direction, change := out[0][:len(x)], out[1][:len(x)], out[2][:len(x)]
	for i, v := range x {
		if !z.begun {
			z.begun, z.pivot, z.extreme = true, v, v
		}
		z.move(v)
		pivot[i], direction[i], change[i] = z.pivot, z.direction, math.NaN()
		if z.pivot != 0 {
			change[i] = v/z.pivot - 1
		}
	}
}

// move takes a value: it may lengthen the leg or turn it.
func (z *zigzag) move(v float64) {
	away := (v - z.extreme) / z.extreme
	switch {
	case z.direction >= 0 && away <= -z.threshold:
		z.turn(v, -1)
	case z.direction <= 0 && away >= z.threshold:
		z.turn(v, 1)
	case z.direction > 0 && v > z.extreme, z.direction < 0 && v < z.extreme:
		z.extreme = v
	}
}

// turn confirms the furthest value of the leg as a pivot and begins a new leg.
func (z *zigzag) turn(v, direction float64) {
	z.pivot, z.extreme, z.direction = z.extreme, v, direction
}
