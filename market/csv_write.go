package market

import (
	"bufio"
	"io"
	"strconv"
	"time"
)

// WriteCSV writes bars such that reading them gives the same bits.
func WriteCSV(w io.Writer, b *Bars) error {
	out := bufio.NewWriter(w)
	line := append(make([]byte, 0, 256), "timestamp,open,high,low,close,volume\n"...)
	for i := range b.Len() {
		if _, err := out.Write(line); err != nil {
			return err
		}
		x := b.At(i)
		line = time.Unix(x.Time, 0).UTC().AppendFormat(line[:0], time.RFC3339)
		for _, v := range [...]float64{x.Open, x.High, x.Low, x.Close, x.Volume} {
			line = append(line, ',')
			line = strconv.AppendFloat(line, v, 'g', -1, 64)
		}
		line = append(line, '\n')
	}
	if _, err := out.Write(line); err != nil {
		return err
	}
	return out.Flush()
}
