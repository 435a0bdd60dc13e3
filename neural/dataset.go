package neural

import (
	"fmt"
	"math"
)

// Dataset is a table of inputs and what the network shall say of each row. Steps
// and predictions name rows of it; a recurrent network also reads the rows before
// them, straight from the table. It is only read: several trainers may share one.
type Dataset struct {
	Rows   int
	Inputs int
	Stride int       // from one row of X to the next; at least Inputs
	X      []float32 // finite numbers

	Class  []int8    // one per row, for losses of classes
	Target []float32 // one per row, for losses of numbers
	Weight []float32 // one per row, not negative; none means 1 each
}

// Check says whether the table fits a network and a loss. It looks at lengths
// only: labels and inputs are looked at where they are used.
func (d *Dataset) Check(s Spec, l LossSpec) error {
	labels := len(d.Target)
	if l.Classes() {
		labels = len(d.Class)
	}
	if err := d.checkInputs(s); err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	if labels != d.Rows {
		return fmt.Errorf("dataset: there are %d labels for the loss %s and %d rows", labels, l.withDefaults().Name, d.Rows)
	}
	if len(d.Weight) != 0 && len(d.Weight) != d.Rows {
		return fmt.Errorf("dataset: there are %d sample weights and %d rows", len(d.Weight), d.Rows)
	}
	return nil
}

func (d *Dataset) checkInputs(s Spec) error {
	switch {
	case d.Inputs != s.Inputs:
		return fmt.Errorf("it has %d columns and the network %d inputs", d.Inputs, s.Inputs)
	case d.Stride < d.Inputs:
		return fmt.Errorf("a row of %d columns does not fit in a stride of %d", d.Inputs, d.Stride)
	case d.Rows < 0 || d.Rows > math.MaxInt32:
		return fmt.Errorf("%d rows are not from 0 to 2^31-1", d.Rows)
	case d.Rows > 0 && len(d.X) < (d.Rows-1)*d.Stride+d.Inputs:
		return fmt.Errorf("%d values are too few for %d rows of stride %d", len(d.X), d.Rows, d.Stride)
	}
	return nil
}

// Row is row i of the inputs.
func (d *Dataset) Row(i int) []float32 { return d.X[i*d.Stride:][:d.Inputs] }

func (d *Dataset) weight(row int32) float64 {
	if len(d.Weight) == 0 {
		return 1
	}
	return float64(d.Weight[row])
}

// checkRows refuses rows that the table does not have, or that have too few rows
// before them for the network's window.
func (d *Dataset) checkRows(rows []int32, window int) error {
	for _, r := range rows {
		if r < 0 || int(r) >= d.Rows {
			return fmt.Errorf("row %d is not in the dataset, which has %d", r, d.Rows)
		}
		if int(r) < window-1 {
			return fmt.Errorf("row %d has not enough rows before it: the network reads %d; begin with row %d", r, window, window-1)
		}
	}
	return nil
}

// checkLabels refuses labels and weights that no loss can use.
func (d *Dataset) checkLabels(rows []int32, l *lossFunc, outputs int) error {
	for _, r := range rows {
		if l.classes {
			if c := d.Class[r]; c < 0 || int(c) >= outputs {
				return fmt.Errorf("row %d has class %d; the network knows 0 to %d", r, c, outputs-1)
			}
		} else if x := float64(d.Target[r]); x-x != 0 {
			return fmt.Errorf("row %d has the target %g; it must be a finite number", r, x)
		}
		if len(d.Weight) > 0 {
			if w := d.Weight[r]; !(w >= 0 && w <= 1e6) {
				return fmt.Errorf("row %d has the weight %g; it must be from 0 to 1e6", r, w)
			}
		}
	}
	return nil
}

// blame finds an input that is not a finite number in what the network read, and
// returns a sentence about it, or "".
func (d *Dataset) blame(rows []int32, window int) string {
	for _, r := range rows {
		for i := int(r) - window + 1; i <= int(r); i++ {
			for c, x := range d.Row(i) {
				if x-x != 0 {
					return fmt.Sprintf("input %d of row %d is %g", c, i, x)
				}
			}
		}
	}
	return ""
}
