package market

import (
	"slices"
	"sort"
)

// Adjustment multiplies the prices of the bars that open before At. Volumes are divided
// by Volume.
type Adjustment struct {
	At     int64 // Unix seconds
	Price  float64
	Volume float64 // 0 leaves volumes as they are
}

// Adjust is a series with prices before each of some instants multiplied, so that they
// compare with those after it. The series itself stays as it is.
func Adjust(b *Bars, all []Adjustment) *Bars {
	if len(all) == 0 {
		return b
	}
	c := *b
	for _, column := range []*[]float64{&c.Open, &c.High, &c.Low, &c.Close, &c.Volume, &c.Spread} {
		*column = slices.Clone(*column)
	}
	for _, a := range all {
		n := sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= a.At })
		for i := range n {
			c.Open[i], c.High[i], c.Low[i], c.Close[i] = c.Open[i]*a.Price, c.High[i]*a.Price, c.Low[i]*a.Price, c.Close[i]*a.Price
			if a.Volume != 0 {
				c.Volume[i] /= a.Volume
			}
			if c.Spread != nil {
				c.Spread[i] *= a.Price
			}
		}
	}
	return &c
}
