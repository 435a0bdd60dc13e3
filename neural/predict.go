package neural

import "fmt"

// Predictor asks a network. It has its own room to compute in, so that one
// network may have a predictor per goroutine. What it says of a row depends on
// that row (and its window) alone, bit for bit: not on the rows asked with it.
type Predictor struct {
	net  *Net
	pass *pass
}

// NewPredictor returns a predictor with room for a number of rows at once; 0 means a
// number that suits long lists. More can be asked: they take turns.
func NewPredictor(n *Net, rows int) *Predictor {
	most := 256
	if n.spec.Recurrent() {
		most = 32 // times the steps of a window, which should stay in the cache
	}
	if rows < 1 || rows > most {
		rows = most
	}
	return &Predictor{net: n, pass: newPass(n, rows, false)}
}

// Predict writes the outputs for rows of a dataset, row after row. Labels and weights are not needed.
func (p *Predictor) Predict(d *Dataset, rows []int32, out []float32) error {
	n, window := p.net.spec.Outputs, p.net.spec.Window()
	if len(out) != len(rows)*n {
		return fmt.Errorf("predict: room for %d outputs, want %d rows of %d", len(out), len(rows), n)
	}
	if err := d.checkInputs(p.net.spec); err != nil {
		return fmt.Errorf("predict: dataset: %w", err)
	}
	if err := d.checkRows(rows, window); err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	for len(rows) > 0 {
		batch := rows[:min(p.pass.room, len(rows))]
		p.pass.look(d, batch)
		p.pass.forward(nil)
		a := p.pass.answers()
		for i := range batch {
			copyRow(out[i*n:][:n], a.row(i))
		}
		if i := notFinite(out[:len(batch)*n]); i >= 0 {
			return p.notFinite(d, batch, i/n, out[i])
		}
		rows, out = rows[len(batch):], out[len(batch)*n:]
	}
	return nil
}

func (p *Predictor) notFinite(d *Dataset, batch []int32, i int, got float32) error {
	why := d.blame(batch[i:i+1], p.net.spec.Window())
	if why == "" {
		why = "its inputs are finite, so they are too large for this network"
	}
	return fmt.Errorf("predict: the network says %g of row %d: %s", got, batch[i], why)
}
