package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/market"
)

// Every answer of the API to a GET, every page, and every file of an export is
// searched for prices of a holdout that was not opened. They are in another range,
// so that they are no other number by chance, and the seed is fixed.
func TestSealedHoldout_IsInNoAnswerPageOrFile(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_AUTH=none")
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 5})
	cut := b.Len() - b.Len()/5
	for _, column := range [][]float64{b.Open, b.High, b.Low, b.Close} {
		for i := cut; i < len(column); i++ {
			column[i] *= 6.7
		}
	}
	l.imports(b)
	l.must("data", "accept", "EURUSD", "1h", "level-jump") // the holdout begins with a jump
	l.serve()
	l.must("research", "EURUSD 1h", "--bypass-gates", "--seed", "1", "--count", "2", "--follow")
	if looks := l.got(api.Base + "/looks"); !bytes.Contains(looks, []byte(`"data":[]`)) {
		t.Fatalf("there are looks: choose another seed: %s", looks)
	}
	sealed, traded := shown(b.Slice(cut, b.Len())), shown(b.Slice(0, cut))
	exact := pricesWith(b.Slice(cut, b.Len()), -1)
	seen := 0
	search := func(place string, text []byte) {
		of := sealed
		if strings.HasSuffix(place, "/metrics") { // seconds of this machine may be in the range of the prices
			of = exact
		}
		if found := of.in(text); len(found) > 0 {
			t.Errorf("%s shows prices of the holdout: %q", place, found[:min(len(found), 5)])
		}
		seen += len(traded.in(text))
	}
	paths := l.readable(l.ops())
	for _, path := range paths {
		search(path, l.got(path))
	}
	dir := t.TempDir()
	id := string(l.ops("--type", "agent_research")[0].ID)
	l.must("results", id, "--html", filepath.Join(dir, "strategy.html"))
	l.must("results", id, "--csv", filepath.Join(dir, "csv"))
	l.must("results", id, "--parquet", filepath.Join(dir, "parquet"))
	l.must("memory", "export", "--parquet", filepath.Join(dir, "memory"))
	l.must("report", "--html", filepath.Join(dir, "report.html"))
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".parquet") {
			text = parquetNumbers(t, text)
		}
		search(filepath.Base(path), text)
		return err
	})
	if err != nil || seen == 0 || files < 5 {
		t.Errorf("%d prices that may be seen were found in %d paths and %d files, %v: the search finds nothing", seen, len(paths), files, err)
	}
}

// readable are the paths of all GET routes and of all pages for these operations.
func (l *lab) readable(ops []ktrdr.Operation) (paths []string) {
	l.t.Helper()
	paths = []string{
		"/night", "/strategies", "/operations", "/operations?roots=1", "/data", "/data/EURUSD/1h", "/data/import", "/lab", "/lab/memory",
		"/lab/runs", "/new?goal=trend+on+EURUSD+1h", "/export/night.html",
	}
	var researches []string
	each := []string{"/operations/{id}"}
	fill := strings.NewReplacer("{symbol}", "EURUSD", "{timeframe}", "1h")
	for _, sp := range api.Table() {
		switch path := fill.Replace(sp.Path); {
		case sp.Method != http.MethodGet || sp.Stream:
		case strings.HasSuffix(path, "/{id}") || strings.Contains(path, "/{id}/"):
			each = append(each, path)
		case !strings.Contains(path, "{"):
			paths = append(paths, path)
		}
	}
	for _, op := range ops {
		id := string(op.ID)
		for _, path := range each {
			paths = append(paths, strings.ReplaceAll(path, "{id}", id))
		}
		paths = append(paths, api.Base+"/operations/"+id+"/results?include=trades,equity,positions,curve,returns&limit=1000")
		if op.Type == ktrdr.AgentResearch {
			researches = append(researches, id)
			paths = append(paths, "/strategies/"+id)
			for _, ext := range []string{"html", "json", "csv", "yaml"} {
				paths = append(paths, "/export/"+id+"."+ext)
			}
		}
	}
	ids := strings.Join(researches, ",")
	return append(paths, "/compare?ids="+ids, api.Base+"/compare?ids="+ids)
}

// got is the answer to a GET, whatever its status is.
func (l *lab) got(path string) []byte {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.url+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusInternalServerError {
		l.t.Errorf("%s: %s, %v", path, res.Status, err)
	}
	return text
}

// parquetNumbers are the numbers of a Parquet file, as text.
func parquetNumbers(t *testing.T, file []byte) (text []byte) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range f.RowGroups() {
		rows := group.Rows()
		for page := make([]parquet.Row, 100); ; {
			n, err := rows.ReadRows(page)
			for _, row := range page[:n] {
				for _, v := range row {
					if v.Kind() == parquet.Double && !v.IsNull() {
						text = append(strconv.AppendFloat(text, v.Double(), 'f', 12, 64), '\n')
					}
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return text
}
