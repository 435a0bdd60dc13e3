package indicator

import "github.com/ktrdr/ktrdr/market"

// sessionHours are when the large markets trade, in hours of UTC; they do not know
// of daylight saving time, which moves London and New York by an hour.
var sessionHours = [...]struct {
	name        string
	open, close int64
}{{"asia", 0, 9}, {"london", 8, 17}, {"newyork", 13, 22}}

var _ = register(Definition{
	Name: "session", Outputs: []string{"asia", "london", "newyork"}, Units: []Unit{Pure, Pure, Pure},
	Doc: "1 if the bar opens in the hours of Asia (00:00 to 09:00 UTC), London (08:00 to 17:00) or New York (13:00 to 22:00), " +
		"else 0. The hours are the same in winter and summer.",
	Follows: "ktrdr", build: makeSession,
})

func makeSession(Args) built {
	return built{
		warm: []int{0, 0, 0}, reads: closes, cost: 10, memory: 1,
		start: func() machine {
			return func(in *market.Bars, out [][]float64) {
				n := in.Len()
				for i, t := range in.Time[:n] {
					at := since(t, daySeconds)
					for k, s := range sessionHours {
						out[k][i] = keep(1, at >= s.open*3600 && at < s.close*3600)
					}
				}
			}
		},
	}
}
