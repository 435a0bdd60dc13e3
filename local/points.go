package local

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
)

// pointsHint says so when the prices of a currency pair or of a metal look like points.
func pointsHint(b *market.Bars) string {
	if b.Len() == 0 {
		return ""
	}
	last := b.Close[b.Len()-1]
	divisor := pointsOf(b.Symbol)
	if divisor == 0 || last <= 10_000 {
		return ""
	}
	return fmt.Sprintf("the last price is %s: if prices are points, import it again with --replace --divide %d",
		strconv.FormatFloat(last, 'g', 10, 64), divisor)
}

// pointsOf is how many points a price of 1 has, where real prices stay below ten thousand; else 0.
func pointsOf(symbol string) int {
	class, known := instrument.ClassOf(symbol)
	fx := class == instrument.MajorFX || class == instrument.MinorFX
	switch name := strings.ToUpper(symbol); {
	case known && class == instrument.Metal && (strings.HasPrefix(name, "XAU") || strings.HasPrefix(name, "GOLD")):
		return 100
	case known && class == instrument.Metal && (strings.HasPrefix(name, "XAG") || strings.HasPrefix(name, "SILVER")):
		return 1000
	case known && fx && strings.Contains(name, "JPY"):
		return 1000
	case known && fx:
		return 100_000
	}
	return 0
}
