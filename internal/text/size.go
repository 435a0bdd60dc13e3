package text

import "fmt"

// Size is a number of bytes with its unit. The letters stand for 1024, 1024² and
// so on.
func Size(n int64, letters string) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value := float64(n) / unit
	for value >= unit && len(letters) > 1 {
		value, letters = value/unit, letters[1:]
	}
	return fmt.Sprintf("%.1f %cB", value, letters[0])
}
