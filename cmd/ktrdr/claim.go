package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/bundle"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
)

func newClaim(a *app) *cobra.Command {
	return group("claim", "Claims as files that others can verify", newClaimExport(a), newClaimVerify(a))
}

const claimExportHelp = `Write a claim into one file that others can verify. OPERATION is the confirmation, or
the research that it confirmed. Only a look that claims an edge can be exported.

--bars adds the bars, so that the file can be verified without them. It then also
contains the bars of the holdout.`

func newClaimExport(a *app) *cobra.Command {
	var bars, force bool
	cmd := &cobra.Command{
		Use: "export OPERATION FILE", Short: "Write a claim into a file that others can verify", Long: claimExportHelp,
		Args: exactly(2, "an OPERATION and a FILE"), ValidArgsFunction: a.completeIDs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			if err := backend.CheckWritable(args[1]); err != nil {
				return err
			}
			id, err := resolveAs(ctx, c, args[0], ktrdr.AgentConfirm)
			if err != nil {
				return err
			}
			return a.exportClaim(ctx, c, id, args[1], bars, force)
		}),
	}
	cmd.Flags().BoolVar(&bars, "bars", false, "also write the bars, those of the holdout included")
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	return cmd
}

// exportedClaim is what an export prints.
type exportedClaim struct {
	File  string            `json:"file"`
	Bytes int64             `json:"bytes"`
	Heads []ktrdr.ChainHead `json:"ledger_heads"`
}

func (a *app) exportClaim(ctx context.Context, c *client.Client, id ktrdr.OperationID, file string, bars, force bool) error {
	if _, err := os.Lstat(file); err == nil && !force {
		return usagef("%s exists: add --force to replace it", file)
	}
	r, err := c.OpenClaim(ctx, id, bars)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(r, bundle.MaxBytes+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	b, err := bundle.Read(data) // or a broken connection would be a file
	if err != nil {
		return err
	}
	out := exportedClaim{File: file, Heads: b.Heads()}
	if out.Bytes, err = backend.WriteFile(file, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}); err != nil {
		return err
	}
	return a.print(out, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s of %s\n", term.Plain(file), term.Bytes(out.Bytes), b.Verdict.Strategy)
		for _, h := range out.Heads {
			fmt.Fprintf(w, "Ledger head: %s\n", h)
		}
		fmt.Fprintf(w, "Verify it anywhere with `ktrdr claim verify %s --head HEAD`.\n", term.Plain(file))
	})
}

const claimVerifyHelp = `Verify a claim that was exported: without a server, on any machine. It checks the ledger
link by link, trains the model again, repeats backtest, verdict and look, and compares
weights, result hash, look hash, p and adjusted p. The exit code is 1 if anything is
refused.

--head gives a head of the ledger that was published before: a head, its hash alone, or
a file that shows heads, such as a report or a message of the webhook. At least one must
be of a market of the claim. Without a head, a ledger that was made again cannot be told
from the first. If the lab of the data folder has the market, its own ledger is used too.

Bars that are not in the file come from the lab of the data folder.`

func newClaimVerify(a *app) *cobra.Command {
	var known []string
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Check a claim that was exported, by computing it again", Long: claimVerifyHelp,
		Args: exactly(1, "one FILE that `ktrdr claim export` wrote"),
	}
	cmd.Flags().StringArrayVar(&known, "head", nil, "a published `HEAD`, its hash, or a file that shows it; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, err := readClaim(args[0])
		if err != nil {
			return err
		}
		heads, err := readHeads(known)
		if err != nil {
			return err
		}
		var v bundle.Verification
		check := func(o bundle.Options) error {
			o.Heads, o.Runners = append(o.Heads, heads...), claimRunners()
			v, err = bundle.Verify(cmd.Context(), b, o)
			return err
		}
		err = a.withLab(cmd, func(l *local.Lab) error {
			own, err := l.ClaimHeads(cmd.Context(), b)
			if err != nil {
				return err
			}
			return check(bundle.Options{Heads: own, Bars: l.ClaimBars})
		})
		if errors.Is(err, market.ErrNoData) {
			err = check(bundle.Options{})
		}
		if err != nil {
			return err
		}
		err = a.print(v, func(w io.Writer) { printVerification(w, &v) })
		if err == nil && !v.Verified {
			err = &exitError{code: exitFailed}
		}
		return err
	}
	return cmd
}

func claimRunners() bundle.Runners {
	kernel := neural.Best()
	return bundle.Runners{
		ktrdr.Training: compute.TrainingRunner(kernel), ktrdr.Backtesting: compute.BacktestRunner(kernel),
		ktrdr.AgentAssessment: agent.AssessmentRunner(agent.ModelAccess{}), ktrdr.AgentConfirm: agent.ConfirmationRunner(),
	}
}

func readClaim(file string) (*bundle.Bundle, error) {
	named := backend.UserFile{What: "bundle of a claim", Name: file, Next: "name one that `ktrdr claim export` wrote"}
	f, err := named.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, bundle.MaxBytes+1))
	if err != nil {
		return nil, named.Trouble(err)
	}
	b, err := bundle.Read(data)
	if err != nil { // it was edited or is damaged: the claim is refused
		return nil, &exitError{exitFailed, fmt.Errorf("%s: %w", file, err)}
	}
	return b, nil
}

// readHeads reads heads: as text, as a hash, or out of a file.
func readHeads(known []string) (heads []bundle.Head, err error) {
	for _, text := range known {
		var h ktrdr.ChainHead
		if h.UnmarshalText([]byte(text)) == nil {
			heads = append(heads, bundle.Head{ChainHead: h, From: "--head"})
			continue
		}
		if hash, err := ktrdr.ParseHash(text); err == nil {
			heads = append(heads, bundle.Head{ChainHead: ktrdr.ChainHead{Hash: hash}, From: "--head"})
			continue
		}
		content, err := os.ReadFile(text) //nolint:gosec // the user names it
		if err != nil {
			return nil, usagef("--head %s: it is not a head (MARKET/LINKS/HASH), not a hash of 64 digits, and cannot be read as a file: %w",
				text, err)
		}
		found := bundle.HeadsIn(bytes.ToValidUTF8(content, nil), text)
		if len(found) == 0 {
			return nil, usagef("--head %s: the file shows no head of a ledger", text)
		}
		heads = append(heads, found...)
	}
	return heads, nil
}

func printVerification(w io.Writer, v *bundle.Verification) {
	fmt.Fprintf(w, "%s, claim %s\n", term.Plain(v.Strategy), term.Plain(string(v.Claim)))
	for _, text := range v.Passed {
		fmt.Fprintf(w, "  ✔ %s\n", term.Plain(text))
	}
	for _, r := range v.Refused {
		fmt.Fprintf(w, "  ✘ %s: %s\n", r.Code, term.Plain(r.Text))
	}
	for _, text := range v.Warnings {
		fmt.Fprintf(w, "  ! %s\n", term.Plain(text))
	}
	if v.Verified {
		fmt.Fprintln(w, "Verified.")
	} else {
		fmt.Fprintln(w, "REFUSED.")
	}
}
