package term

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// Plain makes text from outside safe to print: a worker's error must not move
// the cursor, rename the terminal or turn the text around it.
func Plain(s string) string { return ktrdr.ToPrintable(s) }

// PlainLines is Plain for text of several lines.
func PlainLines(s string) string { return strings.Join(text.Map(strings.Split(s, "\n"), Plain), "\n") }

// JSONPlain is a JSON text in which characters that may not reach a terminal are
// written as \u and digits. It says the same.
func JSONPlain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || ktrdr.Printable(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r) // all of them are below 0x10000
		}
	}
	return b.String()
}

// JSONLines is w for JSON texts that may reach a terminal.
func JSONLines(w io.Writer) io.Writer { return jsonLines{w} }

type jsonLines struct{ w io.Writer }

// Write implements io.Writer.
func (j jsonLines) Write(b []byte) (int, error) {
	if _, err := io.WriteString(j.w, JSONPlain(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Brief is a duration with about two digits.
func Brief(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Seconds is Brief of a number of seconds.
func Seconds(s float64) string { return Brief(time.Duration(s * float64(time.Second))) }

// Ago is how long ago an instant was; never is a dash.
func Ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return Brief(time.Since(t)) + " ago"
}

// When is an instant and how long ago it was; never is a dash.
func When(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime) + " (" + Ago(t) + ")"
}

const minuteLayout = "2006-01-02 15:04"

// Minute is an instant, in Unix seconds, as tables of prices show it.
func Minute(t int64) string { return time.Unix(t, 0).UTC().Format(minuteLayout) }

// Bytes is a size with its unit.
func Bytes(n int64) string { return text.Size(n, "KMGTPE") }

// Thousands is a large number, in thousands or millions.
func Thousands(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.1f M", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.0f k", x/1e3)
	}
	return fmt.Sprintf("%.0f", x)
}

// Number is a number with the digits it has.
func Number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Six is a number with six digits.
func Six(x float64) string { return fmt.Sprintf("%.6g", x) }

// Cents is a number with two decimals.
func Cents(x float64) string { return fmt.Sprintf("%.2f", x) }

// Optional is a number in a format; nil is a dash.
func Optional(format string, x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf(format, *x)
}

// Hundredths is an optional number with two decimals.
func Hundredths(x *float64) string { return Optional("%.2f", x) }

// Percent is an optional fraction in percent.
func Percent(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100**x)
}

// Dash is s, or a dash for an empty one.
func Dash(s string) string { return cmp.Or(s, "-") }

// ShortHash is enough of a hash to tell series apart by eye.
func ShortHash(hash string) string { return hash[:min(len(hash), 12)] }

// Field prints a name and a value below a heading.
func Field(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "  %-12s %s\n", name, Plain(fmt.Sprintf(format, args...)))
}

// Prices says where prices come from.
func Prices(madeUp *bool) string {
	switch {
	case madeUp == nil:
		return "unknown"
	case *madeUp:
		return "made up"
	}
	return "imported"
}

// OnMadeUp marks a verdict on prices that were made up.
func OnMadeUp(verdict string, madeUp *bool) string {
	if madeUp == nil || !*madeUp {
		return verdict
	}
	return verdict + ", prices " + Prices(madeUp)
}
