package spelling

import "strconv"

// Counted is a number of things: 1 row, 2 rows.
func Counted(n int, thing string) string {
	text := strconv.Itoa(n) + " " + thing
	if n != 1 {
		text += "s"
	}
	return text
}
