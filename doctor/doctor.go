package doctor

import (
	"cmp"
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

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// CheckResult is one thing that was checked.
type CheckResult struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do; empty when it is OK
}

// Options say what is examined.
type Options struct {
	Config  backend.Config
	Deep    bool   // read every blob to its end
	Version string // of this binary
	Server  string // the address that Health asks
	Health  func(context.Context) (ktrdr.Health, error)
}

type doctor struct {
	Options
	cfg      backend.Config
	findings []CheckResult
}

func (d *doctor) good(check, format string, args ...any) {
	d.findings = append(d.findings, CheckResult{Check: check, OK: true, Detail: fmt.Sprintf(format, args...)})
}

func (d *doctor) bad(check, fix, format string, args ...any) {
	d.findings = append(d.findings, CheckResult{Check: check, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

// Examine runs all checks.
func Examine(ctx context.Context, o Options) []CheckResult {
	d := &doctor{Options: o, cfg: o.Config}
	d.examine(ctx)
	return d.findings
}

func (d *doctor) examine(ctx context.Context) {
	d.folder()
	d.disk()
	health, err := d.Health(ctx)
	running := err == nil
	if running && !d.ours(ctx, health) {
		d.start(ctx, false)
		d.storage(ctx, false)
		return
	}
	d.start(ctx, running)
	if running && health.Version != d.Version {
		d.bad("version", "use the binary of the same version", "the backend is %s, this binary %s; the database is not opened",
			health.Version, d.Version)
	} else {
		d.storage(ctx, running)
	}
	if !running {
		d.bad("server", "start one with `ktrdr serve`, or name it with --url", "none answers (%v)", backend.Innermost(err))
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
	d.library(ctx, local.Of(st))
	d.stuck(ctx, st, running)
}

func (d *doctor) blobs(ctx context.Context, st backend.Storage) {
	r, err := blob.Check(ctx, st.Blobs, st.Store.BlobRefs(ctx), d.Deep)
	if err != nil {
		d.bad("blobs", "check that the folder or bucket can be read", "%v", err)
		return
	}
	d.damaged("is missing", r.Missing)
	d.damaged("has another size than was written", r.WrongSize)
	d.damaged("has been changed", r.Corrupt)
	if r.OK() {
		how := "present, of the right size (--deep reads them)"
		if d.Deep {
			how = "read and right"
		}
		d.good("blobs", "%d blobs, %s, %s; %d wait to be collected", r.Checked, term.Bytes(r.Bytes), how, len(r.Unreferenced))
	}
}

// damaged reports each blob once, however many checkpoints name it.
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
		fix := withoutBlob(all)
		if bars[ref.SHA256] {
			fix = "restore the file from a backup, or import the series again with `ktrdr data import --replace`; " +
				"a series that was replaced can also be deleted with `ktrdr data delete`"
		}
		if prices[ref.SHA256] {
			fix = "restore the file from a backup, or import the series again with `ktrdr data import`; " +
				"without it no new series can be assigned to a market"
		}
		d.bad("blobs", fix, "%s %s; named by %s", ref.SHA256, what, cmp.Or(names, "nothing"))
	}
}

// withoutBlob says what to do about a blob that is lost, and what its owners do
// without it: only operations can use an earlier checkpoint.
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
			term.Seconds(h.UptimeSeconds), h.Workers.Live)
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

// Print prints findings for people.
func Print(w io.Writer, p term.Palette, all []CheckResult) {
	for _, f := range all {
		fmt.Fprintf(w, "%s %-10s %s\n", p.Mark(f.OK), f.Check, term.Plain(f.Detail))
		if !f.OK {
			fmt.Fprintf(w, "             → %s\n", term.Plain(f.Fix))
		}
	}
}

// ours says whether a server is one of the lab that is looked at. It is taken
// for one where either does not say which lab it is of: a server without its
// database, or a database that cannot be read, has findings of its own.
func (d *doctor) ours(ctx context.Context, h ktrdr.Health) bool {
	if h.Store.Lab == "" {
		return true
	}
	var here sqlstore.Status
	if file, ok := backend.SQLiteFile(d.cfg.Database()); !ok || !backend.NoFile(file) {
		var err error
		if here, err = sqlstore.Look(ctx, d.cfg.Database()); err != nil {
			return true
		}
	}
	if here.BlobRoot == h.Store.Lab {
		return true
	}
	lab := "lab " + here.BlobRoot
	if here.BlobRoot == "" {
		lab = "a lab that no backend has served yet"
	}
	d.bad("server",
		fmt.Sprintf("name the server of this lab with --url or KTRDR_URL (`ktrdr serve` starts one); or look at the server's lab: "+
			"name its folder with --data, its database with --db (the server's is %s)", h.Store.Location),
		"the server at %s serves another lab: it serves lab %s, and %s holds %s", d.Server, h.Store.Lab,
		backend.WithoutSecrets(d.cfg.Database()), lab)
	return false
}
