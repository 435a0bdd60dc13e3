package jobs

import (
	"context"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// DataLoadRequest asks for the import of a price file, CSV or Parquet.
type DataLoadRequest struct {
	Path      string  `json:"path,omitempty"`   // relative to the data folder
	SHA256    string  `json:"sha256,omitempty"` // of a blob
	Symbol    string  `json:"symbol"`
	Timeframe string  `json:"timeframe,omitempty"`             // empty means the one that the times show
	Zone      string  `json:"zone,omitempty"`                  // of times that carry none; empty means UTC
	Divide    float64 `json:"divide,omitempty" zero:"refused"` // prices are in points: how many make one unit
	Normalise bool    `json:"normalise,omitempty"`             // mend what is wrong instead of refusing it
	Mode      string  `json:"mode,omitempty"`                  // replace or append, where the series exists; empty means that it is refused

	SameMarketAs string `json:"same_market_as,omitempty"` // a symbol or a market; merges markets, and decides where the prices do not
	NewMarket    bool   `json:"new_market,omitempty"`     // decides where the prices do not
}

// DataLoad makes an import of a request. CodeInvalid says what to change.
func (d *Desk) DataLoad(ctx context.Context, r DataLoadRequest) (Order, error) {
	spec := LoadSpec{
		Symbol: r.Symbol, Zone: r.Zone, Divide: r.Divide, Normalise: r.Normalise, Mode: ImportMode(r.Mode), SameMarketAs: r.SameMarketAs,
		NewMarket: r.NewMarket,
	}
	if err := (Choice{SameAs: r.SameMarketAs, New: r.NewMarket}).Validate(); err != nil {
		return Order{}, err
	}
	if r.Symbol == "" {
		return Order{}, wrong("say of which symbol the prices are")
	}
	if err := market.CheckSymbol(r.Symbol); err != nil {
		return Order{}, wrong("%w", err)
	}
	if err := ImportMode(r.Mode).Validate(); err != nil {
		return Order{}, err
	}
	if r.Timeframe != "" {
		tf, err := market.ParseTimeframe(r.Timeframe)
		if err != nil {
			return Order{}, wrong("%w", err)
		}
		spec.Timeframe = tf
	}
	if err := spec.readable(); err != nil {
		return Order{}, wrong("%w", err)
	}
	var err error
	switch {
	case (r.Path == "") == (r.SHA256 == ""):
		err = wrong("name the file by exactly one of path (in the data folder) and sha256 (of a blob)")
	case r.Path != "":
		spec.Source, err = d.upload(ctx, r.Path)
	default:
		spec.Source, err = d.blob(ctx, r.SHA256)
	}
	if err != nil {
		return Order{}, err
	}
	op, err := operation(ktrdr.DataLoad, spec, about{Symbols: []string{r.Symbol}})
	return Order{Operation: op}, err
}

func (d *Desk) blob(ctx context.Context, text string) (ktrdr.Artifact, error) {
	h, err := ktrdr.ParseHash(text)
	if err != nil {
		return ktrdr.Artifact{}, err
	}
	info, err := d.cfg.Blobs.Stat(ctx, h)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return ktrdr.Artifact{}, wrong("there is no blob %s: upload it first", h)
	}
	return ktrdr.Artifact{Name: "upload-" + text[:12], SHA256: h, Size: info.Size}, err
}
