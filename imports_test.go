package ktrdr_test

import (
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ktrdr/ktrdr"

// rule says what a package may import: ours by path under the module ("." is
// the root), and which third-party modules. The standard library is free.
type rule struct {
	ours    []string
	modules []string
}

// arrows holds every package and the packages that it may import. They point down:
// commands import adapters, adapters import the domain, the domain imports none;
// adapters do not import each other. A new package is added here on purpose or not at all.
var arrows = map[string]rule{
	".":     {},
	"fault": {},
	"docs":  {}, // the guide, embedded

	// helpers, which every package but the root may use
	"internal/atomicfile": {},
	"internal/backoff":    {},
	"internal/cache":      {},
	"internal/text":       {modules: []string{"golang.org/x/text"}},
	"internal/term":       {ours: []string{".", "internal/text"}, modules: []string{"golang.org/x/term"}}, // tables, colours, a screen
	"internal/tracing":    {ours: []string{"."}, modules: []string{"go.opentelemetry.io/otel"}},
	"internal/yamldoc":    {modules: []string{"github.com/goccy/go-yaml"}},

	// pure compute
	"num": {},
	"market": {ours: []string{"num"}, modules: []string{
		"github.com/parquet-go/parquet-go", "github.com/klauspost/compress", "golang.org/x/sys",
	}},
	"quality":   {ours: []string{"num", "market"}}, // judges the content of a series
	"indicator": {ours: []string{"num", "market"}},
	"fuzzy":     {ours: []string{"num"}},
	"label":     {ours: []string{"num", "market"}},
	"neural":    {ours: []string{"num"}, modules: []string{"golang.org/x/sys"}},

	"neural/internal/asmgen": {}, // writes neural's assembly
	"backtest":               {ours: []string{"num", "market"}},
	"instrument":             {modules: []string{"github.com/goccy/go-yaml"}},

	// built on compute
	"strategy": {ours: []string{"market", "indicator", "fuzzy", "label"}, modules: []string{"github.com/goccy/go-yaml"}},
	"feature":  {ours: []string{"market", "indicator", "strategy"}},
	"metrics":  {ours: []string{"market", "feature"}},
	"train": {ours: []string{
		"num", "market", "indicator", "fuzzy", "label", "neural", "strategy", "feature", "backtest", "metrics",
	}},
	"evidence": {ours: []string{"num", "market", "backtest"}},
	"examine": {ours: []string{ // cross-validation, walk-forward and perturbation of a finalist
		"num", "market", "indicator", "fuzzy", "strategy", "feature", "neural", "train", "backtest", "evidence",
	}, modules: []string{"golang.org/x/sync"}},
	"evidence/panel": {ours: []string{"num", "evidence"}}, // the daily returns of all trials
	"designer":       {ours: []string{"num", "market", "indicator", "strategy", "instrument"}},

	// what is said of work, what is kept, and what is done
	"jobs":    {ours: []string{".", "market", "quality", "metrics", "backtest", "evidence"}},
	"library": {ours: []string{".", "market", "quality", "instrument", "strategy", "jobs"}},
	"compute": {ours: []string{
		".", "fault", "worker", "market", "quality", "instrument", "indicator", "strategy", "feature", "neural", "metrics", "train", "backtest",
		"evidence", "examine", "fetch", "jobs", "library",
	}, modules: []string{"golang.org/x/sync"}},

	// what this product is about
	"research": {ours: []string{
		".", "num", "market", "instrument", "strategy", "feature", "backtest", "evidence", "designer", "jobs", "library", "llm",
	}},
	"agent": {ours: []string{
		".", "fault", "worker", "market", "instrument", "indicator", "strategy", "train", "backtest", "evidence", "designer", "jobs", "research",
		"llm", "resilience",
	}},

	"factory": {ours: []string{ // the whole search without a store, on permuted copies
		".", "worker", "num", "market", "instrument", "neural", "designer", "evidence", "jobs", "library", "compute", "research", "agent",
	}},

	"report": {ours: []string{".", "market", "research", "evidence", "evidence/panel", "jobs", "strategy"}},
	"bundle": {ours: []string{".", "evidence", "jobs", "research", "worker"}}, // a claim as one file, and its check

	"fetch": { // prices of public sources
		ours: []string{".", "market"}, modules: []string{"github.com/ulikunitz/xz"},
	},

	// mechanisms
	"resilience": {ours: []string{"."}},
	"llm":        {ours: []string{".", "resilience"}, modules: []string{"github.com/goccy/go-yaml"}},
	"engine":     {ours: []string{".", "thread"}, modules: []string{"golang.org/x/sync"}},
	"worker":     {ours: []string{".", "fault"}, modules: []string{"golang.org/x/sys"}},
	"dummy":      {ours: []string{".", "worker"}},
	"thread":     {ours: []string{"."}}, // contract and rules of LangGraph threads

	// adapters
	"blob": {ours: []string{".", "fault"}, modules: []string{"github.com/minio/minio-go/v7", "golang.org/x/sys"}},
	"sqlstore": {ours: []string{".", "fault", "thread"}, modules: []string{
		"github.com/jackc/pgx/v5", "github.com/pressly/goose/v3", "modernc.org/sqlite", "golang.org/x/sys",
	}},
	"api": {ours: []string{ // the routes, which server and client share
		".", "thread", "dummy", "jobs", "research", "report", "agent", "evidence", "indicator", "llm", "resilience", "strategy",
	}},
	"chart": {}, // figures as SVG
	"page": {ours: []string{ // what browsers see, made from the answers of the API
		".", "api", "chart", "client", "evidence", "export", "jobs", "market", "quality", "report", "research", "resilience",
	}, modules: []string{"golang.org/x/net", "golang.org/x/sync"}},
	"export": { // tables for other programs
		ours: []string{".", "client", "jobs", "research"}, modules: []string{"github.com/parquet-go/parquet-go"},
	},
	"mcp": {ours: []string{ // what AI assistants see, made from the answers of the API
		".", "api", "client", "docs", "evidence", "indicator", "jobs", "page", "report", "research", "strategy",
	}, modules: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"client": {ours: []string{".", "api", "dummy", "jobs", "research", "report", "agent", "resilience"}},
	"httpapi": {ours: []string{
		".", "api", "fault", "thread", "dummy", "jobs", "research", "report", "agent", "evidence", "indicator", "llm", "resilience", "strategy",
	}, modules: []string{
		"github.com/go-json-experiment/json", "github.com/google/jsonschema-go", "github.com/prometheus/client_golang",
		"github.com/prometheus/client_model",
	}},

	// proof
	"sqlstore/pgtest":       {modules: []string{"github.com/jackc/pgx/v5"}},
	"strategy/strategytest": {},
	"llm/llmtest":           {},
	"fetch/fetchtest":       {ours: []string{"market"}, modules: []string{"github.com/ulikunitz/xz"}},
	"worker/workertest":     {ours: []string{"."}},
	"storetest":             {ours: []string{".", "thread"}, modules: []string{"github.com/google/go-cmp", "pgregory.net/rapid"}},
	"savertest":             {ours: []string{".", "thread"}, modules: []string{"github.com/google/go-cmp", "pgregory.net/rapid"}},
	"bench":                 {ours: []string{".", "dummy", "engine", "worker"}},
	// markets with and without edges
	"worlds":       {ours: []string{"num", "market", "backtest", "evidence"}},
	"worlds/power": {ours: []string{".", "num", "market", "instrument", "evidence", "factory", "worlds"}}, // the power table
	"labtest": {
		// the database, past the backend
		ours:    []string{".", "api", "client", "dummy", "jobs", "research", "sqlstore", "sqlstore/pgtest", "market", "internal/atomicfile"},
		modules: []string{"github.com/jackc/pgx/v5", "github.com/mattn/go-runewidth", "golang.org/x/sys", "modernc.org/sqlite"},
	},

	// what commands print
	"internal/view": {ours: []string{
		".", "api", "internal/term", "internal/text", "agent", "evidence", "httpapi", "instrument", "jobs", "report", "research",
	}},
	"internal/top": { // the live view of a lab
		ours: []string{
			".", "client", "internal/backoff", "internal/term", "internal/text", "internal/view", "research", "resilience",
		},
		modules: []string{"charm.land/bubbletea/v2"},
	},

	// wiring
	"backend": {
		ours: []string{
			".", "bundle", "fault", "engine", "worker", "dummy", "blob", "sqlstore", "thread", "httpapi", "client", "jobs", "library",
			"compute", "research",
			"report", "agent", "llm", "resilience", "instrument", "neural", "page", "api", "mcp",
			"factory", "fetch",
		},
		modules: []string{"github.com/goccy/go-yaml", "github.com/prometheus/client_golang", "golang.org/x/sync", "golang.org/x/sys"},
	},
	// the lab of a data folder, without a backend
	"local": {ours: []string{
		".", "backend", "bundle", "instrument", "jobs", "library", "market", "quality", "backtest", "research", "strategy",
	}},
	// strategies that use future prices
	"lookahead": {ours: []string{"local", "market", "metrics", "neural", "strategy", "train", "backtest"}},
	"doctor": { // checks of an installation
		ours:    []string{".", "backend", "local", "blob", "sqlstore", "instrument", "strategy"},
		modules: []string{"golang.org/x/sys"},
	},
	"cmd/ktrdr": {
		ours: []string{
			".", "agent", "backend", "bundle", "compute", "local", "doctor", "lookahead", "worker", "dummy", "blob", "sqlstore", "api",
			"client", "fetch", "jobs", "library", "research",
			"report", "resilience", "designer", "market", "instrument", "indicator", "neural", "strategy", "metrics", "train", "docs", "export",
			"page", "mcp",
		},
		modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/modelcontextprotocol/go-sdk"},
	},
}

func TestImports_FollowTheArrows(t *testing.T) {
	seen := map[string]bool{}
	for file := range goFiles(t) {
		pkg := path.Dir(file)
		seen[pkg] = true
		r, known := arrows[pkg]
		if !known {
			t.Errorf("package %s is not in the table of arrows: say there what it may import", pkg)
			continue
		}
		for _, imp := range importsOf(t, file) {
			if !allowed(pkg, imp, r) {
				t.Errorf("%s imports %s, which package %s may not know", file, imp, pkg)
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(arrows)) {
		if !seen[pkg] {
			t.Errorf("package %s is in the table of arrows but not in the tree", pkg)
		}
	}
}

// far holds packages that must not depend on others, by way of whatever they
// import: who states a research, or reads one, needs no kernel to do so.
var far = map[string][]string{
	"jobs":     {"neural", "train", "compute"},
	"library":  {"neural", "train", "compute"},
	"research": {"neural", "train", "compute"},
	"report":   {"neural", "train", "compute"},
}

func TestImports_StayFarFromKernels(t *testing.T) {
	imports := map[string][]string{}
	for file := range goFiles(t) {
		for _, imp := range importsOf(t, file) {
			if ours, ok := strings.CutPrefix(imp, module+"/"); ok {
				imports[path.Dir(file)] = append(imports[path.Dir(file)], ours)
			}
		}
	}
	for pkg, forbidden := range far {
		by := map[string]string{pkg: ""} // what imports it, on the way from pkg
		for queue := []string{pkg}; len(queue) > 0; queue = queue[1:] {
			for _, imp := range imports[queue[0]] {
				if _, seen := by[imp]; !seen {
					by[imp], queue = queue[0], append(queue, imp)
				}
			}
		}
		for _, name := range forbidden {
			if _, reached := by[name]; reached {
				way := name
				for at := by[name]; at != ""; at = by[at] {
					way = at + " → " + way
				}
				t.Errorf("package %s depends on %s: %s", pkg, name, way)
			}
		}
	}
}

func TestImports_NoPackageImportsACommand(t *testing.T) {
	for pkg, r := range arrows {
		for _, imp := range r.ours {
			if strings.HasPrefix(imp, "cmd/") {
				t.Errorf("package %s may import %s: commands are at the top", pkg, imp)
			}
		}
	}
}

func allowed(pkg, imp string, r rule) bool {
	if imp == module {
		return slices.Contains(r.ours, ".")
	}
	if strings.HasPrefix(imp, module+"/internal/") {
		ours := strings.TrimPrefix(imp, module+"/")
		return slices.Contains(r.ours, ours) || pkg != "." && !strings.HasPrefix(pkg, "internal/")
	}
	if ours, ok := strings.CutPrefix(imp, module+"/"); ok {
		return slices.Contains(r.ours, ours)
	}
	host, _, _ := strings.Cut(imp, "/")
	if !strings.Contains(host, ".") {
		return true // standard library
	}
	return slices.ContainsFunc(r.modules, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") })
}

// goFiles yields the product's Go files: no tests, which may use every proof
// package, and nothing of the tools module.
func goFiles(t *testing.T) func(yield func(string) bool) {
	t.Helper()
	ctx := build.Default
	ctx.BuildTags = []string{"failpoint"}
	return func(yield func(string) bool) {
		err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (p == "tools" || p == "bin" || p == "dist" || strings.HasPrefix(d.Name(), ".") && p != "."):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
				return nil
			}
			match, err := ctx.MatchFile(filepath.Dir(p), d.Name())
			if err != nil || !match {
				return err
			}
			if !yield(p) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}
