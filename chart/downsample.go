package chart

import "slices"

// XY is one value of a series.
type XY struct{ X, Y float64 }

// Downsample keeps at most n points, but not fewer than 4, of a series that is sorted by X. The first
// and the last stay, and so do the lowest and the highest of the series and of
// each stretch: a drawdown that lasted one bar is still drawn. What is not
// finite is left out.
func Downsample(points []XY, n int) []XY {
	all := slices.DeleteFunc(slices.Clone(points), func(p XY) bool { return !finite(p.X) || !finite(p.Y) })
	if n = max(n, 4); len(all) <= n {
		return all
	}
	first, last := all[0], all[len(all)-1]
	inner := all[1 : len(all)-1]
	stretches := (n - 2) / 2
	kept := append(make([]XY, 0, n), first)
	for i := range stretches {
		from, to := len(inner)*i/stretches, len(inner)*(i+1)/stretches
		kept = append(kept, extremes(inner[from:to])...)
	}
	return append(kept, last)
}

// extremes are the lowest and the highest of some points, in their order.
func extremes(points []XY) []XY {
	if len(points) == 0 {
		return nil
	}
	low, high := 0, 0
	for i, p := range points {
		if p.Y < points[low].Y {
			low = i
		}
		if p.Y > points[high].Y {
			high = i
		}
	}
	if low == high {
		return []XY{points[low]}
	}
	return []XY{points[min(low, high)], points[max(low, high)]}
}

// Points joins xs and ys; the shorter one ends it.
func Points(xs, ys []float64) []XY {
	points := make([]XY, min(len(xs), len(ys)))
	for i := range points {
		points[i] = XY{xs[i], ys[i]}
	}
	return points
}
