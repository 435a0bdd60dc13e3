package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// The indicators of the clock read when a bar opens, in UTC, and no price. A bar
// whose close is not finite is undefined to them as to all others.

const (
	daySeconds  = 24 * 60 * 60
	weekSeconds = 7 * daySeconds
	firstMonday = 4 * daySeconds // 5 January 1970, from which weeks are counted
)

var _ = register(Definition{
	Name: "hour", Outputs: []string{"hour", "sin", "cos"}, Units: []Unit{Pure, Pure, Pure},
	Doc: "Hour of the day at which the bar opens, in UTC: 9.5 is 09:30. sin and cos place it on a circle, " +
		"on which 23:00 and 00:00 are neighbours.",
	Follows: "ktrdr", build: func(Args) built { return cyclic(0, daySeconds, 3600) },
})

var _ = register(Definition{
	Name: "weekday", Outputs: []string{"weekday", "sin", "cos"}, Units: []Unit{Pure, Pure, Pure},
	Doc: "Day of the week on which the bar opens, in UTC: 0 is Monday, 6 is Sunday. sin and cos place it on a circle, " +
		"on which Sunday and Monday are neighbours.",
	Follows: "ktrdr", build: func(Args) built { return cyclic(firstMonday, weekSeconds, daySeconds) },
})

// cyclic counts units since a cycle began, and places the count on a circle. Of a
// unit of a day or more, only whole units count.
func cyclic(from, cycle, unit int64) built {
	const turn = 2 * math.Pi
	return built{
		warm: []int{0, 0, 0}, reads: closes, cost: 60, memory: 2,
		start: func() machine {
			return func(in *market.Bars, out [][]float64) {
				n := in.Len()
				count, sin, cos := out[0][:n], out[1][:n], out[2][:n]
				for i, t := range in.Time[:n] {
					passed := since(t-from, cycle)
					if unit >= daySeconds {
						passed -= passed % unit
					}
					count[i] = float64(passed) / float64(unit)
					angle := float64(turn * float64(passed) / float64(cycle))
					sin[i], cos[i] = num.Cos(angle-turn/4), num.Cos(angle)
				}
			}
		},
	}
}

// since is t modulo cycle, never negative.
func since(t, cycle int64) int64 {
	if m := t % cycle; m < 0 {
		return m + cycle
	} else {
		return m
	}
}
