package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
)

const doctorHelp = `Check the installation: folder and permissions, free disk, database, blobs, server
(that it serves this lab), clock, and operations without progress. It finds every reason for which ktrdr serve
would refuse to start, and changes nothing. It needs no running backend. Each ✗ says
what to do. The exit code is 1 when there is one.`

// finding is one thing the doctor looked at.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do; empty when it is OK
}

func newDoctor(a *app) *cobra.Command {
	var deep bool
	cmd := &cobra.Command{Use: "doctor", Short: "Check the installation and say how to repair it", Long: doctorHelp, Args: noArgs}
	cmd.Flags().BoolVar(&deep, "deep", false, "read every blob to its end")
	file := storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := a.serveConfig(cmd, *file)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		d := &doctor{a: a, cfg: cfg, deep: deep}
		d.examine(cmd.Context())
		return d.report()
	}
	return cmd
}

// doctor collects findings.
type doctor struct {
	a        *app
	cfg      backend.Config
	deep     bool
	findings []finding
}

func (d *doctor) good(check, format string, args ...any) {
	d.findings = append(d.findings, finding{Check: check, OK: true, Detail: fmt.Sprintf(format, args...)})
}

func (d *doctor) bad(check, fix, format string, args ...any) {
	d.findings = append(d.findings, finding{Check: check, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

func (d *doctor) examine(ctx context.Context) {
	d.folder()
	d.disk()
	health, err := d.a.askHealth(ctx)
	running := err == nil
	if running && !d.ours(ctx, health) {
		d.start(ctx, false)
		d.storage(ctx, false)
		return
	}
	d.start(ctx, running)
	if running && health.Version != ourVersion() {
		d.bad("version", "use the binary of the same version", "the backend is %s, this binary %s; the database is not opened",
			health.Version, ourVersion())
	} else {
		d.storage(ctx, running)
	}
	if !running {
		d.bad("server", "start one with `ktrdr serve`, or name it with --url", "none answers (%v)", innermost(err))
		return
	}
	d.server(health)
}

// folder looks at who may read and write the data folder and the token.
func (d *doctor) folder() {
	dir := d.cfg.Data
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.bad("folder", "name it with --data, or start a backend with `ktrdr serve`", "%s does not exist", dir)
		return
	case err == nil && !info.IsDir(), errors.Is(err, syscall.ENOTDIR):
		d.bad("folder", "choose another with --data", "%s: it or a part of its path is a file and no directory", dir)
		return
	case err != nil:
		d.bad("folder", "run this as the user who runs the backend", "%v", err)
		return
	case info.Mode().Perm()&0o022 != 0:
		d.bad("folder", "chmod 700 "+dir, "%s can be written by other users (mode %04o)", dir, info.Mode().Perm())
	default:
		d.good("folder", "%s", dir)
	}
	switch _, err := backend.ReadToken(filepath.Join(dir, backend.TokenFile)); {
	case errors.Is(err, fs.ErrNotExist) && d.cfg.NoAuth:
		d.good("token", "none, and none wanted (KTRDR_AUTH=none)")
	case errors.Is(err, fs.ErrNotExist):
		d.good("token", "none yet; the next start of a backend makes one")
	case errors.Is(err, backend.ErrNoToken):
		d.bad("token", "restart the backend, which makes a new one", "%s holds no token", filepath.Join(dir, backend.TokenFile))
	case err != nil:
		d.bad("token", "chmod 600 "+filepath.Join(dir, backend.TokenFile), "%v", err)
	default:
		d.good("token", "readable by its owner only")
	}
}

func (d *doctor) disk() {
	free, err := backend.FreeDisk(d.cfg.Data)
	switch {
	case err != nil:
		return // the folder's finding says it
	case free < max(d.cfg.Engine.DiskReserve, 0):
		d.bad("disk", "free some space, or run `ktrdr checkpoints cleanup`", "%s free, less than the reserve of %s", term.Bytes(free),
			term.Bytes(d.cfg.Engine.DiskReserve))
	default:
		d.good("disk", "%s free", term.Bytes(free))
	}
}

// storage looks at the database and the blobs, and compares the rows of one
// with the other.
func (d *doctor) storage(ctx context.Context, running bool) {
	if !d.open(ctx) {
		return
	}
	st, err := backend.OpenStorage(ctx, d.cfg)
	if err != nil {
		d.bad("database", "repair what is named", "%v", err)
		return
	}
	defer st.Close()
	info, err := st.Store.Info(ctx)
	if err != nil {
		d.bad("database", "check that it is running and reachable", "%v", err)
		return
	}
	d.good("database", "%s %s at %s, schema %d", info.Kind, info.Version, info.Location, info.Schema)
	if err := st.RefuseForeignBlobs(ctx, d.cfg); err != nil {
		d.bad("blobs", "name the right database with --db or KTRDR_DB, or name an empty place for blobs with CHECKPOINT_DIR",
			"`ktrdr serve` would not start: %v", err)
	}
	d.blobs(ctx, st)
	d.library(ctx, newLedger(st))
	d.stuck(ctx, st, running)
}

func (d *doctor) blobs(ctx context.Context, st backend.Storage) {
	r, err := blob.Check(ctx, st.Blobs, st.Store.BlobRefs(ctx), d.deep)
	if err != nil {
		d.bad("blobs", "check that the folder or bucket can be read", "%v", err)
		return
	}
	d.damaged("is missing", r.Missing)
	d.damaged("has another size than was written", r.WrongSize)
	d.damaged("has been changed", r.Corrupt)
	if r.OK() {
		how := "present, of the right size (--deep reads them)"
		if d.deep {
			how = "read and right"
		}
		d.good("blobs", "%d blobs, %s, %s; %d wait to be collected", r.Checked, term.Bytes(r.Bytes), how, len(r.Unreferenced))
	}
}

// damaged tells of each blob once, however many checkpoints name it.
func (d *doctor) damaged(what string, refs []ktrdr.BlobRef) {
	const most = 3
	owners := map[ktrdr.Hash][]string{}
	prices, bars := map[ktrdr.Hash]bool{}, map[ktrdr.Hash]bool{}
	for _, ref := range refs {
		owner := string(ref.Operation)
		switch {
		case ref.Bars:
			owner = "the bars of " + ref.Series
			bars[ref.SHA256] = true
		case ref.Series != "":
			owner = "the prices of " + ref.Series
			prices[ref.SHA256] = true
		}
		if !slices.Contains(owners[ref.SHA256], owner) {
			owners[ref.SHA256] = append(owners[ref.SHA256], owner)
		}
	}
	for _, ref := range refs {
		all, untold := owners[ref.SHA256]
		if !untold {
			continue
		}
		delete(owners, ref.SHA256)
		names := strings.Join(all[:min(len(all), most)], ", ")
		if more := len(all) - most; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		if names == "" {
			names = "nothing"
		}
		fix := withoutBlob(all)
		if bars[ref.SHA256] {
			fix = "restore the file from a backup, or import the series again with `ktrdr data import --replace`; " +
				"a series that was replaced can also be deleted with `ktrdr data delete`"
		}
		if prices[ref.SHA256] {
			fix = "restore the file from a backup, or import the series again with `ktrdr data import`; " +
				"without it no new series can be assigned to a market"
		}
		d.bad("blobs", fix, "%s %s; named by %s", ref.SHA256, what, names)
	}
}

// withoutBlob says what to do about a blob that is lost, and what becomes of
// those who named it otherwise: only operations have something to go back to.
func withoutBlob(owners []string) string {
	ofOperation := func(owner string) bool { return ktrdr.OperationID(owner).Valid() }
	ofThread := func(owner string) bool { return owner != "" && !ofOperation(owner) }
	fix := "restore the file from a backup"
	if slices.ContainsFunc(owners, ofOperation) {
		fix += "; without it a resume uses the checkpoint before"
	}
	if slices.ContainsFunc(owners, ofThread) {
		fix += "; without it the thread's checkpoints that hold it cannot be read"
	}
	return fix
}

// stuck looks for operations that should have moved long ago.
func (d *doctor) stuck(ctx context.Context, st backend.Storage, running bool) {
	page, err := st.Store.List(ctx, ktrdr.OperationQuery{ActiveOnly: true, Limit: 1000})
	if err != nil {
		d.bad("operations", "check that the database is running and can be read", "%v", err)
		return
	}
	settings := d.cfg.Engine.WithDefaults()
	limit := 2 * (settings.OrphanTimeout + settings.CheckInterval)
	found := 0
	for _, op := range page.Operations {
		silent := time.Since(op.HeartbeatAt)
		if !op.Status.Live() || op.HasPlan || op.HeartbeatAt.IsZero() || silent < limit {
			continue
		}
		found++
		fix := "start a backend with `ktrdr serve`; it recovers the operation"
		if running {
			fix = fmt.Sprintf("look at the backend's log, then `ktrdr cancel %s`", op.ID)
		}
		d.bad("operations", fix, "%s is %s but silent for %s", op.ID, op.Status, term.Brief(silent))
	}
	if found == 0 {
		d.good("operations", "%d active, none stuck", len(page.Operations))
	}
}

// skew is how far the server's clock may be ahead of ours. It decides nothing
// (only the database's clock does), but confuses people who compare times.
const skew = 5 * time.Second

func (d *doctor) server(h ktrdr.Health) {
	if h.Status == "ok" {
		d.good("server", "version %s, pid %d, up %s, %d workers", h.Version, h.Backend.PID,
			term.Brief(time.Duration(h.UptimeSeconds*float64(time.Second))), h.Workers.Live)
	}
	for _, problem := range h.Problems { // each says what to do at its end
		what, fix := problem, "look into the backend's log"
		if i := strings.LastIndex(problem, "; "); i >= 0 {
			what, fix = problem[:i], problem[i+2:]
		}
		d.bad("server", fix, "%s", what)
	}
	if ahead := time.Until(h.OrphanDetector.LastCheck); ahead > skew {
		d.bad("clock", "let both machines keep time by NTP", "the server's clock is %s ahead of this machine's", term.Brief(ahead))
	} else {
		d.good("clock", "agrees with the server's")
	}
}

func (d *doctor) report() error {
	problems := 0
	for _, f := range d.findings {
		if !f.OK {
			problems++
		}
	}
	err := d.a.print(d.findings, func(w io.Writer) {
		p := d.a.palette()
		for _, f := range d.findings {
			if f.OK {
				fmt.Fprintf(w, "%s %-10s %s\n", p.Good("✔"), f.Check, term.Plain(f.Detail))
			} else {
				fmt.Fprintf(w, "%s %-10s %s\n             → %s\n", p.Bad("✗"), f.Check, term.Plain(f.Detail), term.Plain(f.Fix))
			}
		}
	})
	if err == nil && problems > 0 {
		return &exitError{code: exitFailed}
	}
	return err
}
