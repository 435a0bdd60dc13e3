package page

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/internal/text"
)

// missing stands for a figure that there is not.
const missing = "–"

// number writes a figure with a true minus sign.
func number(v *float64, decimals int) string {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return missing
	}
	return chart.Number(*v, decimals)
}

// signed writes a figure with its sign, also when it is above 0.
func signed(v *float64, decimals int) string {
	s := number(v, decimals)
	if v != nil && *v > 0 && strings.ContainsAny(s, "123456789") {
		return "+" + s
	}
	return s
}

// percent writes a fraction as a percentage with its sign.
func percent(v *float64) string { return ofHundred(v, signed) }

// share writes a fraction as a percentage without a sign.
func share(v *float64) string { return ofHundred(v, number) }

func ofHundred(v *float64, write func(*float64, int) string) string {
	if v == nil {
		return missing
	}
	scaled := *v * 100
	s := write(&scaled, 1)
	if s == missing {
		return s
	}
	return s + " %"
}

// count writes a number with a comma between thousands.
func count(n int) string { return text.Grouped(n) }

// plural writes a count with its noun: "1 finding", "2 findings".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") {
		noun = stem + "ie"
	} else if strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return count(n) + " " + noun + "s"
}

// plain makes a text of a user or a model harmless before it is cut: see printable.
func plain(s string) string { return strings.Map(printable, s) }

// coded is a text whose commands, between backticks, are shown as code.
func coded(s string) template.HTML {
	var out strings.Builder
	for {
		before, rest, _ := strings.Cut(s, "`")
		command, after, closed := strings.Cut(rest, "`")
		if !closed {
			out.WriteString(template.HTMLEscapeString(s))
			return template.HTML(out.String()) //nolint:gosec // all of it is escaped
		}
		out.WriteString(template.HTMLEscapeString(before) + "<code>" + template.HTMLEscapeString(command) + "</code>")
		s = after
	}
}

// unbroken keeps a p-value of a headline in one line.
func unbroken(s string) string { return strings.ReplaceAll(s, "p = ", "p\u00a0=\u00a0") }

// dollars writes money.
func dollars(v float64) string { return fmt.Sprintf("$%.2f", v) }

// lasted writes a duration with its largest unit, or two of them.
func lasted(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0:
		return missing
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 2*3600:
		return fmt.Sprintf("%.0f min", s/60)
	case s < 48*3600:
		return fmt.Sprintf("%d h %02d min", int(s)/3600, int(s)/60%60)
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// stamp writes an instant with its date.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// clip shortens a text for a list.
func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// significant writes a probability with two significant digits.
func significant(v *float64) string {
	if v == nil {
		return missing
	}
	if *v >= 0.01 || *v == 0 {
		return chart.Number(*v, 3)
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(*v, 'e', 1, 64), "e")
	e, _ := strconv.Atoi(exponent)
	return chart.Number(*v, 1-e)
}

// probability writes a p-value: a very small one as a bound.
func probability(v *float64) string {
	if bound := v != nil && strings.HasPrefix(text.Probability(*v), "<"); bound {
		return text.Probability(*v)
	}
	return significant(v)
}

// pValue writes a p-value with its letter: "p = 0.0014" or "p < 0.0001".
func pValue(v *float64) string {
	switch s := probability(v); {
	case v == nil:
		return s
	case strings.HasPrefix(s, "<"):
		return "p " + s
	default:
		return "p = " + s
	}
}

// capital writes a text with a capital at its beginning.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// unixStamp writes Unix seconds as an instant with its date.
func unixStamp(t int64) string { return stamp(time.Unix(t, 0)) }

// size writes a number of bytes with its unit.
func size(n int64) string { return text.Size(n, "kMGTPE") }

// sentence writes what a program said as a sentence.
func sentence(s string) string {
	s = strings.TrimRight(plain(strings.TrimSpace(s)), ". ")
	return s + "."
}

// cut shortens a text that is too long for a page.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " …"
}

// monthOf writes the month of an instant.
func monthOf(t time.Time) string { return t.UTC().Format("Jan 2006") }
