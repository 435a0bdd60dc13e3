package main

// pricesText says where prices come from, in the cells and lines of every
// command.
func pricesText(madeUp *bool) string {
	switch {
	case madeUp == nil:
		return "unknown"
	case *madeUp:
		return "made up"
	}
	return "imported"
}

// ofMadeUp marks a verdict on prices that were made up.
func ofMadeUp(verdict string, madeUp *bool) string {
	if madeUp == nil || !*madeUp {
		return verdict
	}
	return verdict + ", prices " + pricesText(madeUp)
}
