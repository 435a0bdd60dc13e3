package page

import (
	"math"
	"testing"
	"time"
)

func TestFormat_Figures(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	for _, c := range []struct{ got, want string }{
		{number(nil, 2), "–"},
		{number(f(math.NaN()), 2), "–"},
		{number(f(-0.434), 2), "−0.43"},
		{signed(f(0.85), 2), "+0.85"},
		{signed(f(0), 1), "0.0"},
		{signed(f(0.0001), 1), "0.0"},
		{percent(f(0.0139)), "+1.4 %"},
		{percent(f(-0.0764)), "−7.6 %"},
		{percent(nil), "–"},
		{share(f(0.063)), "6.3 %"},
		{count(7), "7"},
		{count(1197), "1,197"},
		{count(57600000), "57,600,000"},
		{plural(1, "strategy"), "1 strategy"},
		{plural(2, "strategy"), "2 strategies"},
		{plural(0, "research"), "0 researches"},
		{plural(3, "process"), "3 processes"},
		{plural(2, "day"), "2 days"},
		{dollars(0.0973), "$0.10"},
		{lasted(2300 * time.Millisecond), "2.3 s"},
		{lasted(26 * time.Second), "26 s"},
		{lasted(90 * time.Minute), "90 min"},
		{lasted(9*time.Hour + 5*time.Minute), "9 h 05 min"},
		{lasted(72 * time.Hour), "3 days"},
		{lasted(-time.Second), "–"},
		{significant(f(0.00002)), "0.000020"},
		{significant(f(1. / 1001)), "0.0010"},
		{pValue(f(0.02)), "p = 0.020"},
		{pValue(f(0.00011)), "p = 0.00011"},
		{pValue(f(2.8e-8)), "p < 0.0001"},
		{pValue(f(0)), "p < 0.0001"},
		{pValue(nil), "–"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestCoded_MarksCommandsAndEscapesTheRest(t *testing.T) {
	for said, want := range map[string]string{
		"`ktrdr resume` continues <one>.": "<code>ktrdr resume</code> continues &lt;one&gt;.",
		"no command":                      "no command",
		"one ` alone":                     "one ` alone",
		"`a<b` and `c`":                   "<code>a&lt;b</code> and <code>c</code>",
	} {
		if got := string(coded(said)); got != want {
			t.Errorf("%q becomes %q, want %q", said, got, want)
		}
	}
}
