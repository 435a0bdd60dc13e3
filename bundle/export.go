package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// Lab is what an export needs of a lab.
type Lab interface {
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Looks(ctx context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error)
	LookOf(ctx context.Context, op ktrdr.OperationID) (ktrdr.Look, error)
	Market(ctx context.Context, id string) (ktrdr.Market, error)
	Links(ctx context.Context, market string, after, limit int) ([]ktrdr.ChainLink, error)
}

// Blobs are where the bars are.
type Blobs interface {
	Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error)
}

// Exporter exports the claims of a lab.
type Exporter struct {
	Lab   Lab
	Blobs Blobs
}

// ClaimBundle is the file of a claim.
func (e Exporter) ClaimBundle(ctx context.Context, id ktrdr.OperationID, withBars bool) ([]byte, error) {
	b, err := Export(ctx, e.Lab, e.Blobs, id, withBars)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := Write(&file, b); err != nil {
		return nil, err
	}
	if file.Len() > MaxBytes {
		return nil, refused("the bundle of %s has %d bytes; at most %d can be verified: export it without bars", id, file.Len(), MaxBytes)
	}
	return file.Bytes(), nil
}

func refused(format string, args ...any) error {
	return ktrdr.Errorf(ktrdr.CodeConflict, format, args...)
}

// Export makes the bundle of a claim: of its look, or of the research that the look
// confirmed. CodeConflict says why there is no claim.
func Export(ctx context.Context, lab Lab, blobs Blobs, id ktrdr.OperationID, withBars bool) (*Bundle, error) {
	look, err := lookOf(ctx, lab, id)
	if err != nil {
		return nil, err
	}
	op, err := lab.Operation(ctx, look.Operation)
	if err != nil {
		return nil, err
	}
	finalist, err := lab.Operation(ctx, look.Research)
	if err != nil {
		return nil, err
	}
	b := &Bundle{
		Manifest: Manifest{Format: Format, Version: Version, Claim: op.ID, Research: finalist.ID},
		Spec:     finalist.Spec, Confirm: op.Spec, Ledgers: map[string][]ktrdr.ChainLink{}, Bars: map[ktrdr.Hash][]byte{},
	}
	if err := b.takeVerdict(&finalist, &look); err != nil {
		return nil, fmt.Errorf("claim %s: %w", op.ID, err)
	}
	if b.Manifest.Words, err = words(ctx, lab, finalist.ID); err != nil {
		return nil, err
	}
	for _, m := range look.Markets {
		if err := b.takeLedger(ctx, lab, m.Market); err != nil {
			return nil, err
		}
	}
	if withBars {
		if err := b.takeBars(ctx, blobs); err != nil {
			return nil, err
		}
	}
	return b, b.chained()
}

// lookOf is the successful look that an operation is or has.
func lookOf(ctx context.Context, lab Lab, id ktrdr.OperationID) (look ktrdr.Look, err error) {
	op, err := lab.Operation(ctx, id)
	if err != nil {
		return look, err
	}
	switch op.Type {
	case ktrdr.AgentConfirm:
		look, err = lab.LookOf(ctx, id)
	case ktrdr.AgentResearch:
		var page ktrdr.LookPage
		page, err = lab.Looks(ctx, ktrdr.LookQuery{Research: id, Limit: 100})
		for _, l := range page.Looks {
			if l.Kind == ktrdr.LookConfirmation {
				look = l
			}
		}
		if err == nil && look.Key == "" {
			return look, refused("%s claims nothing: its holdout was not opened (it is %s, rung %q)", id, strings.ToLower(string(op.Status)),
				op.Rung)
		}
	default:
		return look, refused("%s is of the type %s: a claim is a research or its confirmation; `ktrdr leaderboard` lists claims first", id,
			op.Type)
	}
	switch {
	case err != nil:
		return look, err
	case look.EndedAt.IsZero():
		return look, refused("the look of %s has not ended: export it when it has", id)
	case !look.Claim:
		return look, refused("the look of %s claims no edge (adjusted p = %s), so that there is nothing to export", id, number(look.Adjusted))
	}
	return look, nil
}

func (b *Bundle) takeVerdict(finalist *ktrdr.Operation, look *ktrdr.Look) error {
	var r research.Result
	var state research.PlanState
	var c research.Confirmation
	if err := errors.Join(json.Unmarshal(finalist.Result, &r), json.Unmarshal(finalist.State, &state), json.Unmarshal(look.Result,
		&c)); err != nil {
		return err
	}
	if r.Model == nil {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "the research has no model")
	}
	b.Strategy = []byte(state.Strategy)
	b.Verdict = Verdict{
		Strategy: r.StrategyName, Verdict: r.Verdict, Rung: r.Rung, ResultHash: r.ResultHash, Weights: r.Model.SHA256,
		Look: c.Look, LookHash: c.LookHash,
	}
	return nil
}

// words are what a model said of the verdict of a research.
func words(ctx context.Context, lab Lab, id ktrdr.OperationID) (*Words, error) {
	page, err := lab.List(ctx, ktrdr.OperationQuery{
		Parent: id, Type: []ktrdr.Type{ktrdr.AgentAssessment}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1,
	})
	if err != nil || len(page.Operations) == 0 {
		return nil, err
	}
	op, err := lab.Operation(ctx, page.Operations[0].ID)
	if err != nil {
		return nil, err
	}
	var a research.Assessment
	if err := json.Unmarshal(op.Result, &a); err != nil {
		return nil, fmt.Errorf("assessment %s: %w", op.ID, err)
	}
	if a.Assessor == research.Builtin {
		return nil, nil //nolint:nilnil // the program assessed: there are no words of others
	}
	return &Words{a.Assessor, a.Prompt, a.Strengths, a.Weaknesses, a.Suggestions, a.Hypotheses}, nil
}

// takeLedger takes the chain of a market and of the markets that were merged into it.
func (b *Bundle) takeLedger(ctx context.Context, lab Lab, market string) error {
	if _, taken := b.Ledgers[market]; taken {
		return nil
	}
	b.Ledgers[market] = []ktrdr.ChainLink{}
	for {
		some, err := lab.Links(ctx, market, len(b.Ledgers[market]), 1000)
		if err != nil {
			return err
		}
		b.Ledgers[market] = append(b.Ledgers[market], some...)
		for _, l := range some {
			e, err := ktrdr.ParseEntry([]byte(l.Entry))
			if err != nil {
				return fmt.Errorf("ledger of %s: %w", market, err)
			}
			if e.Merge != nil && e.Merge.Head.Links > 0 {
				if err := b.takeLedger(ctx, lab, e.Merge.Head.Market); err != nil {
					return err
				}
			}
		}
		if len(some) < 1000 {
			return nil
		}
	}
}

func (b *Bundle) takeBars(ctx context.Context, blobs Blobs) error {
	seen, holdout, err := b.BarsOf()
	if err != nil {
		return err
	}
	for _, want := range append(seen, holdout...) {
		r, err := blobs.Open(ctx, want.SHA256)
		if err != nil {
			return fmt.Errorf("%s bars of %s: %w", want.Timeframe, want.Symbol, err)
		}
		content, err := io.ReadAll(io.LimitReader(r, MaxBytes))
		if err = errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("%s bars of %s: %w", want.Timeframe, want.Symbol, err)
		}
		b.Bars[want.SHA256] = content
	}
	return nil
}

// chained refuses a claim that the chain does not have: an earlier version made it.
func (b *Bundle) chained() error {
	v := &verification{}
	if l := v.readLedgers(b); l != nil && v.claim(l, b) != nil {
		return nil
	}
	for _, r := range v.Refused {
		return refused("the ledger cannot prove this claim: %s. What ended before the ledger had a chain is counted there, and not listed",
			r.Text)
	}
	return nil
}
