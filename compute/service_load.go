package compute

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// DataLoad makes an import of a request. CodeInvalid says what to change.
func (d *Service) DataLoad(ctx context.Context, r jobs.DataLoadRequest) (jobs.Accepted, error) {
	spec, err := d.loadSpec(ctx, r)
	if err != nil {
		return jobs.Accepted{}, err
	}
	op, err := operation(ktrdr.DataLoad, spec, about{Symbols: []string{spec.Symbol}})
	return jobs.Accepted{Operation: op}, err
}

func (d *Service) loadSpec(ctx context.Context, r jobs.DataLoadRequest) (spec jobs.LoadSpec, err error) {
	name, err := nameParts(&r)
	if err != nil {
		return spec, err
	}
	spec = jobs.LoadSpec{
		Symbol: r.Symbol, Zone: r.Zone, Dates: market.DateOrder(r.Dates), Decimal: r.Decimal, Adjusted: r.Adjusted,
		Divide: r.Divide, Normalise: r.Normalise, Mode: jobs.ImportMode(r.Mode), SameMarketAs: r.SameMarketAs,
		NewMarket: r.NewMarket, DryRun: r.DryRun,
	}
	if err := (library.Choice{SameAs: r.SameMarketAs, New: r.NewMarket}).Validate(); err != nil {
		return spec, err
	}
	if r.Symbol == "" {
		return spec, wrong("say of which symbol the prices are")
	}
	if err := market.CheckSymbol(r.Symbol); err != nil {
		return spec, wrong("%w", err)
	}
	if err := jobs.ImportMode(r.Mode).Validate(); err != nil {
		return spec, err
	}
	if r.Timeframe != "" {
		tf, err := market.ParseTimeframe(r.Timeframe)
		if err != nil {
			return spec, wrong("%w", err)
		}
		spec.Timeframe = tf
	}
	if err := spec.CheckFormat(); err != nil {
		return spec, wrong("%w", err)
	}
	switch {
	case (r.Path == "") == (r.SHA256 == ""):
		err = wrong("name the file by exactly one of path (in the data folder) and sha256 (of a blob)")
	case r.Path != "":
		spec.Source, err = d.upload(ctx, r.Path)
	default:
		spec.Source, err = d.blob(ctx, r.SHA256)
		spec.Source.Name = cmp.Or(name, spec.Source.Name)
	}
	return spec, err
}

// mostName is how long the name of an uploaded file may be.
const mostName = 200

// nameParts completes a request by what the name of its file tells, and returns
// the name without folders.
func nameParts(r *jobs.DataLoadRequest) (string, error) {
	name := path.Base(strings.ReplaceAll(r.Name, `\`, "/"))
	if r.Name == "" {
		name = ""
	}
	if len(name) > mostName || !ktrdr.PlainText(name) {
		return "", wrong("the name of the file has control characters or more than %d bytes: rename it", mostName)
	}
	symbol, tf, ok := market.NamedSeries(cmp.Or(name, path.Base(r.Path)))
	if ok && r.Symbol == "" {
		r.Symbol = symbol
	}
	if ok && r.Timeframe == "" && r.Symbol == symbol {
		r.Timeframe = string(tf)
	}
	return name, nil
}

func (d *Service) blob(ctx context.Context, text string) (ktrdr.Artifact, error) {
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
