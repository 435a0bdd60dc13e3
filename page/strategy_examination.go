package page

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
)

// examination is what more bars out of sample and changed settings showed of a finalist.
type examination struct {
	Summary, Members string
	Checks           []examined
	Paths            []outOfSample
	Changes          []change
}

// examined is one check of an examination.
type examined struct{ Mark, Text string } // p passed, f failed

// outOfSample is a sequence of returns, or what several of them come to.
type outOfSample struct{ Name, Sharpe, Note string }

// change is the walk-forward with one thing changed.
type change struct {
	Name, Sharpe, Kept, Trades, Why string
	Margin                          template.HTML // of what is kept: to the right of the tick it earns
}

// examination is nil where no examination was made.
func (f *facts) examination() *examination {
	if f.examined == nil {
		return nil
	}
	x := &f.examined.Examination
	v := &examination{Summary: plain(x.Summary)}
	for _, r := range x.Reasons {
		c := examined{"f", plain(capital(sentence(r.Text)))}
		if r.Passed {
			c.Mark = "p"
		}
		v.Checks = append(v.Checks, c)
	}
	if x.Pooled == nil {
		return v
	}
	v.Members = fmt.Sprintf("%s bars, %s, ensembles of %d networks", count(x.Bars), plural(x.Splits, "split"), x.Ensemble)
	for i, p := range x.Paths {
		v.Paths = append(v.Paths, outOfSample{fmt.Sprintf("Path %d", i+1), number(p.Sharpe, 2), plural(p.Trades, "trade")})
	}
	z := fmt.Sprintf("z %s, z of the alpha %s", number(x.Pooled.SharpeZ, 2), number(x.Pooled.AlphaZ, 2))
	v.Paths = append(v.Paths, outOfSample{"All paths", number(x.Pooled.Sharpe, 2), z})
	if seeds := lowToHigh(x.Seeds); seeds != missing {
		v.Paths = append(v.Paths, outOfSample{"Each network alone", seeds, "the same design with " + text.Counted(len(x.Seeds), "seed")})
	}
	if x.WalkForward != nil {
		v.Paths = append(v.Paths, outOfSample{"Walk-forward", number(x.WalkForward.Sharpe, 2), plural(x.WalkForward.Trades, "trade")})
	}
	for i := range x.Perturbed {
		v.Changes = append(v.Changes, changeOf(&x.Perturbed[i]))
	}
	return v
}

func changeOf(p *evidence.Perturbation) change {
	c := change{Name: plain(strings.ReplaceAll(p.Name, "->", "→")), Sharpe: number(p.Sharpe, 2), Kept: share(p.Kept), Trades: count(p.Trades)}
	if p.Undefined != "" {
		c.Sharpe, c.Kept, c.Trades, c.Why = missing, missing, missing, plain("not made: "+p.Undefined)
	}
	if p.Kept != nil {
		c.Margin = chart.Margin(*p.Kept)
	}
	return c
}

// spread is the lowest and the highest of the values that are known.
func spread(values []*float64) (low, high *float64, ok bool) {
	for _, v := range values {
		if v == nil {
			continue
		}
		if low == nil || *v < *low {
			low = v
		}
		if high == nil || *v > *high {
			high = v
		}
	}
	return low, high, low != nil
}
