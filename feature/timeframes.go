package feature

import (
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// What longer bars may lack and by how much they may differ before they are refused.
const (
	bareShare  = 0.2
	apartShare = 0.05
)

// Agree refuses longer bars that are of another time or another market than the
// base bars of their symbol, and names those that miss a little.
func Agree(bars []*market.Bars, base market.Timeframe, span strategy.Span) (told []string, err error) {
	var errs []error
	for _, b := range bars {
		for _, higher := range bars {
			if b.Timeframe != base || higher.Symbol != b.Symbol || higher.Timeframe == base {
				continue
			}
			switch message, refused := Mismatch(b, higher, span); {
			case refused:
				errs = append(errs, errors.New(message))
			case message != "":
				told = append(told, message)
			}
		}
	}
	return told, errors.Join(errs...)
}

// MismatchContext says what is wrong with the bars of a context symbol beside those
// of the symbol that is traded; "" when nothing is. Prices are not compared: it is
// another market.
func MismatchContext(base, other *market.Bars, span strategy.Span) (message string, refused bool) {
	c := market.Cover(base, other, instant(span.Start), instant(span.End))
	switch {
	case c.Share() > bareShare:
		return fmt.Sprintf("%s: %.0f %% of %d bars of %s have no %s bar of the context symbol %s that is up to date: the bars of %s reach %s, "+
			"those of %s %s; choose dates that both have, or import %s bars of %s of the same time",
			base.Symbol, 100*c.Share(), c.Rows, base.Timeframe, other.Timeframe, other.Symbol, base.Symbol, reach(base), other.Symbol, reach(other),
			other.Timeframe, other.Symbol), true
	case c.Bare > 0:
		return fmt.Sprintf("%s: %d of %d bars of %s have no %s bar of the context symbol %s that is up to date and are left out: "+
			"the bars of %s reach %s", base.Symbol, c.Bare, c.Rows, base.Timeframe, other.Timeframe, other.Symbol, other.Symbol, reach(other)), false
	}
	return "", false
}

// AgreeContext is Agree for the bars of context symbols.
func AgreeContext(bars, context []*market.Bars, base market.Timeframe, span strategy.Span) (told []string, err error) {
	var errs []error
	for _, b := range bars {
		for _, other := range context {
			if b.Timeframe != base {
				continue
			}
			switch message, refused := MismatchContext(b, other, span); {
			case refused:
				errs = append(errs, errors.New(message))
			case message != "":
				told = append(told, message)
			}
		}
	}
	return told, errors.Join(errs...)
}

// Mismatch says what is wrong with longer bars beside those of the base; "" when
// nothing is. Bars of another time leave rows without inputs, and bars of another
// market leave them with inputs that mean nothing: both are refused.
func Mismatch(base, higher *market.Bars, span strategy.Span) (message string, refused bool) {
	c := market.Cover(base, higher, instant(span.Start), instant(span.End))
	switch {
	case c.Share() > bareShare:
		return fmt.Sprintf("%s: %.0f %% of %d bars of %s have no %s bar that is up to date: the %s bars reach %s, the %s bars %s; choose dates "+
			"that both have, import %s bars of the same time, or make them with `ktrdr data resample %s %s %s`",
			base.Symbol, 100*c.Share(), c.Rows, base.Timeframe, higher.Timeframe, base.Timeframe, reach(base), higher.Timeframe, reach(higher),
			higher.Timeframe, base.Symbol, base.Timeframe, higher.Timeframe), true
	case c.Apart > apartShare:
		return fmt.Sprintf("%s: the %s and the %s bars are not the same market: where both close, their prices differ by %.0f %% (median); "+
			"import one of them again, or make the longer ones with `ktrdr data resample %s %s %s`",
			base.Symbol, base.Timeframe, higher.Timeframe, 100*c.Apart, base.Symbol, base.Timeframe, higher.Timeframe), true
	case c.Bare > 0:
		return fmt.Sprintf("%s: %d of %d bars of %s have no %s bar that is up to date and are left out: the %s bars reach %s",
			base.Symbol, c.Bare, c.Rows, base.Timeframe, higher.Timeframe, higher.Timeframe, reach(higher)), false
	}
	return "", false
}

// instant is a bound in Unix seconds; 0 has no bound.
func instant(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// reach tells from when to when bars are: the opening of the first, the close of the last.
func reach(b *market.Bars) string {
	if b.Len() == 0 {
		return "nowhere"
	}
	const minute = "2006-01-02 15:04"
	return fmt.Sprintf("from %s to %s", time.Unix(b.Time[0], 0).UTC().Format(minute),
		time.Unix(b.Timeframe.End(b.Time[b.Len()-1]), 0).UTC().Format(minute))
}
