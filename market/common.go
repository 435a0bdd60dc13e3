package market

// InCommon is how many bars of two series open at the same instants, and the correlation
// of their returns from close to close between these bars; 0 where one does not move.
func InCommon(a, b *Bars) (bars int, correlation float64) {
	var m moments
	last := [2]int{-1, -1}
	for i, k := 0, 0; i < a.Len() && k < b.Len(); {
		switch {
		case a.Time[i] < b.Time[k]:
			i++
		case a.Time[i] > b.Time[k]:
			k++
		default:
			if bars++; last[0] >= 0 {
				m.add(a.Close[i]/a.Close[last[0]]-1, b.Close[k]/b.Close[last[1]]-1)
			}
			last = [2]int{i, k}
			i, k = i+1, k+1
		}
	}
	return bars, m.correlation()
}
