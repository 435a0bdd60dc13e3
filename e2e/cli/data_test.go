package cli

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

// file writes a file into a folder of the test.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// broken has something wrong in every row but three.
const broken = `Date,open,high,low,close,volume
2024-01-01 00:00:00,1.1,1.2,1.0,1.15,10
2024-01-01 01:00:00,1.1,1.2,1.0,1.15,10
2024-01-01 01:00:00,1.1,1.2,1.0,1.16,10
2024-01-01 02:00:00,1.1,1.12,1.0,1.15,10
2024-01-01 03:00:00,0,1.2,1.0,1.15,10
2024-01-01 05:00:00,1.1,1.2,1.0,1.15,-1
2024-01-01 04:00:00,1.1,1.2,1.0,1.15,10
2024-01-01 06:00:00,1.1,1.2,1.0,what,10
2024-01-01 07:30:00,1.1,1.2,1.0,1.15,10
2024-01-01 08:00:00,1.1,1.2,NaN,1.15,10
`

func TestDataImport_RefusesAndNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := file(t, "EURUSD_1h.csv", broken)
	a := l.run("data", "import", path)
	if a.code != exitFailed {
		t.Errorf("exit %d, want %d", a.code, exitFailed)
	}
	for _, want := range []string{
		"✗ " + path + ": refused: 8 findings in 10 rows",
		path + ":3: duplicate: 2024-01-01 01:00:00 comes again at 4",
		path + ":5: ohlc-inconsistent: ",
		path + ":6: non-positive: open is 0",
		path + ":7: negative-volume: volume is -1",
		path + ":8: out-of-order: ",
		path + ":9: unreadable: close \"what\" is not a number",
		path + ":10: misaligned: 2024-01-01 07:30:00 is not where a 1h bar opens",
		path + ":11: nan: low is not a number",
		"--normalise",
	} {
		if !strings.Contains(a.out, want) {
			t.Errorf("no %q in:\n%s", want, a.out)
		}
	}
	if out := l.must("data", "list"); !strings.HasPrefix(out, "No data.") {
		t.Errorf("something was imported:\n%s", out)
	}
}

func TestDataImport_NormalisesWhenAsked(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := file(t, "EURUSD_1h.csv", broken)
	out := l.must("data", "import", "--normalise", "--dry-run", path)
	if !strings.Contains(out, "5 bars; nothing was imported") {
		t.Errorf("check only:\n%s", out)
	}
	out = l.must("data", "import", "--normalise", path)
	const did = "normalised: left out 5 rows; moved high or low to hold open and close in 1 row; set a negative volume to 0 in 1 row; " +
		"sorted by time"
	if !strings.Contains(out, did) || !strings.Contains(out, "EURUSD 1h, 5 bars") {
		t.Errorf("got:\n%s\nwant %q", out, did)
	}
	list := decode[[]stored](t, l.must("data", "list", "--json"))
	if len(list) != 1 || list[0].Bars != 5 || len(list[0].Hash) != 64 {
		t.Errorf("listed: %+v", list)
	}
}

func TestDataImport_ContinuesAfterAFileThatIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "AAA", "--bars", "300")
	good := filepath.Join(t.TempDir(), "CCC-1h.csv")
	l.must("data", "export", "AAA", "1h", "--csv", good)
	again := filepath.Join(t.TempDir(), "CCC_H1.csv")
	l.must("data", "export", "AAA", "1h", "--csv", again)

	a := l.run("data", "import", "--json", file(t, "BBB_1h.csv", broken), good, again)
	results := decode[[]imported](t, a.out)
	if a.code != exitFailed || len(results) != 3 {
		t.Fatalf("%v", a)
	}
	for i, want := range []bool{false, true, true} {
		if results[i].OK != want {
			t.Errorf("%s: ok %v, want %v: %s", results[i].File, results[i].OK, want, results[i].Error)
		}
	}
	if got := results[0].Report.Wrong(); got != 8 {
		t.Errorf("findings = %d, want 8", got)
	}
	if m := results[2].Files; len(m) != 1 || m[0].Same != 300 || m[0].Added+m[0].Changed != 0 || results[2].Stored == nil ||
		results[1].Stored != nil {
		t.Errorf("the second file of one series: %+v", results[2])
	}
}

func TestDataImport_CountsOneFinding(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	one := file(t, "EURUSD_1h.csv",
		"Date,open,high,low,close,volume\n2024-01-01 00:00:00,1.1,1.2,1.0,1.15,10\n2024-01-01 01:00:00,1.1,1.2,1.0,1.15,10\n"+
			"2024-01-01 02:00:00,1.1,1.2,1.0,what,10\n")
	l.refused(exitFailed, "refused: 1 finding in 3 rows", "data", "import", one)
	l.refused(exitFailed, ": 1 finding in 3 rows", "data", "check", one)
}

// Bars that the lab has already are no import: nothing is printed about their market.
func TestDataImport_SaysThatNothingChanged(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "AAA", "--bars", "300")
	path := filepath.Join(t.TempDir(), "CCC_1h.csv")
	l.must("data", "export", "AAA", "1h", "--csv", path)
	const same = "the lab has exactly these bars already; nothing changed"
	if out := l.must("data", "import", path); strings.Contains(out, same) || !strings.Contains(out, "market mkt_") {
		t.Errorf("the first import:\n%s", out)
	}
	for _, flags := range [][]string{nil, {"--append"}, {"--replace"}} {
		if out := l.must(append([]string{"data", "import", path}, flags...)...); !strings.Contains(out, same) ||
			strings.Contains(out, "market mkt_") {
			t.Errorf("the same file again %v:\n%s", flags, out)
		}
	}
}

func TestDataImport_RefusesWhatIsNoPriceFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var zeros bytes.Buffer
	z := gzip.NewWriter(&zeros)
	_, _ = z.Write(make([]byte, 8<<20))
	_ = z.Close()
	folder := filepath.Join(t.TempDir(), "A_1h.csv")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, path, says string }{
		{"an empty file", file(t, "A_1h.csv", ""), "the file is empty"},
		{"bytes", file(t, "A_1h.csv", "\x00\x01\x02\n\x03"), "add a header"},
		{"one endless line, compressed", file(t, "A_1h.csv.gz", zeros.String()), "this is no price file"},
		{"half a Parquet file", file(t, "A_1h.parquet", "PAR1junk"), "A_1h.parquet"},
		{"bars of another timeframe", file(t, "A_4h.csv", strings.Join(strings.Split(broken, "\n")[:3], "\n")), "not 4h as asked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := *l
			l.t = t
			l.refused(exitFailed, tc.says, "data", "import", tc.path)
		})
	}
	l.refused(exitUsage, "is a directory and no price file is in it", "data", "import", folder)
}

func TestData_SaysWhatIsWrongWithTheCommandLine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	price := file(t, "prices.csv", broken)
	for _, tc := range []struct {
		name, says string
		args       []string
	}{
		{"no file", "takes at least one FILE", []string{"import"}},
		{"a file that is not there", "there is no price file none.csv", []string{"import", "none.csv"}},
		{"a file that is not there, of a symbol", "there is no price file none_1h.csv", []string{"import", price, "none_1h.csv"}},
		{"a file to check that is not there", "there is no price file none.csv", []string{"check", "none.csv"}},
		{"a bars file to check that is not there", "there is no price file none.bars", []string{"check", "none.bars"}},
		{"a series to check without its timeframe", "`ktrdr data check EURUSD 1h`", []string{"check", "EURUSD"}},
		{"a name that tells nothing", "give --symbol", []string{"import", price}},
		{"an invalid symbol", "beginning with a letter or digit", []string{"import", price, "--symbol", "../x"}},
		{"an invalid timeframe", "--timeframe: timeframe \"3h\" is not one of", []string{"import", price, "--timeframe", "3h"}},
		{"an unknown zone", "--zone \"Atlantis\"", []string{"import", price, "--zone", "Atlantis"}},
		{"points of none", "--divide -1: must be a positive number", []string{"import", price, "--divide", "-1"}},
		{"points without end", "--divide +Inf", []string{"import", price, "--divide", "Inf"}},
		{"half a series", "takes a SYMBOL and a TIMEFRAME", []string{"show", "EURUSD"}},
		{"a series of no timeframe", "timeframe \"h\"", []string{"show", "EURUSD", "h"}},
		{"fewer bars than none", "--head and --tail", []string{"show", "EURUSD", "1h", "--tail", "-1"}},
		{"bars without end", "--bars must be 1 to", []string{"synth", "--bars", "1000000000"}},
		{"an edge beyond all", "--edge must be", []string{"synth", "--edge", "NaN"}},
		{"centuries", "reach beyond the years", []string{"synth", "--timeframe", "1M", "--bars", "5000"}},
		{"a start that is no date", "--start \"soon\"", []string{"synth", "--start", "soon"}},
		{"an invalid symbol to make up", "symbol \"a b\"", []string{"synth", "--symbol", "a b"}},
		{"a file that exists", "replace it with --force", []string{"export", "EURUSD", "1h", "--csv", price}},
		{"JSON of nothing", "name it with --csv", []string{"export", "EURUSD", "1h", "--json"}},
		{"flags of files for bars", "--zone is for price files", []string{"check", "EURUSD", "1h", "--zone", "UTC"}},
		{"an unknown command", "there is no command `ktrdr data sell`", []string{"sell"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := *l
			l.t = t
			l.refused(exitUsage, tc.says, append([]string{"data"}, tc.args...)...)
		})
	}
}

func TestData_ReadersMakeNoFolder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "list")
	l.refused(exitUsage, "there are no bars of EURUSD 1h", "data", "show", "EURUSD", "1h")
	l.must("data", "import", "--dry-run", "--normalise", file(t, "EURUSD_1h.csv", broken))
	if _, err := os.Stat(l.data); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
}

func TestData_SaysWhatIsThereWhenASeriesIsNot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "50")
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "50", "--timeframe", "4h")
	l.refused(exitUsage, "only of EURUSD 1h, 4h", "data", "show", "EURUSD", "1d")
	l.refused(exitUsage, "did you mean EURUSD?", "data", "export", "eurusdd", "1h")
	l.refused(exitUsage, "did you mean EURUSD?", "data", "show", "eurusd", "1d")
	for _, args := range [][]string{
		{"show", "eurusd", "1h"},
		{"check", "eurUSD", "1h"},
		{"export", "Eurusd", "4h", "--csv", filepath.Join(t.TempDir(), "x.csv")},
		{"resample", "eurusd", "1h", "2h"},
	} {
		if out := l.must(append([]string{"data"}, args...)...); !strings.Contains(out, "EURUSD "+args[2]) && !strings.Contains(out, "EURUSD 2h") {
			t.Errorf("data %s does not name EURUSD:\n%s", strings.Join(args, " "), out)
		}
	}
	l.refused(exitUsage, "`ktrdr data import FILE` adds to it", "data", "check", "GBPUSD", "1h")
	l.refused(exitUsage, "did you mean EURUSD?", "data", "delete", "EURUSDD")
	l.refused(exitUsage, "did you mean EURUSD?", "data", "rename", "EURUSDD", "X")
	if out := l.must("data", "rename", "eurusd", "GBPUSD"); !strings.Contains(out, "EURUSD 1h is now GBPUSD 1h") {
		t.Errorf("a symbol to rename in other capitals:\n%s", out)
	}
	if out := l.must("data", "delete", "gbpusd"); !strings.Contains(out, "GBPUSD 4h deleted") {
		t.Errorf("a symbol to delete in other capitals:\n%s", out)
	}
}

func TestDataSynth_TakesNoPlaceUnasked(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--bars", "100", "--seed", "7")
	l.must("data", "synth", "--bars", "100", "--seed", "7") // the same bars
	l.refused(exitUsage, "SYNTH 1h is there already, 100 bars", "data", "synth", "--bars", "100", "--seed", "8")
	l.must("data", "synth", "--bars", "100", "--seed", "8", "--replace")
}

func TestData_SaysTheNextCommand(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if a := l.run("data", "check", "EURJPY"); a.code != exitUsage || !strings.Contains(a.err, "`ktrdr data check EURJPY 1h`") {
		t.Errorf("a symbol alone: %+v", a)
	}
	const points = "Date,open,high,low,close,volume\n2024-01-01 00:00:00,110000,120000,100000,115000,10\n" +
		"2024-01-01 01:00:00,110000,120000,100000,115000,10\n"
	if a := l.run("data", "import", file(t, "EURUSD_1h.csv", points)); a.code != 0 || !strings.Contains(a.out, "--divide 100000") {
		t.Errorf("prices in points: %+v", a)
	}
	if a := l.run("data", "import", file(t, "EURUSD_1h.csv", points), "--divide", "100000", "--replace"); a.code != 0 ||
		strings.Contains(a.out, "--divide") {
		t.Errorf("prices divided: %+v", a)
	}
}

func TestDataResample_StoresLongerBarsBesideTheShorter(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if a := l.run("data", "synth", "--symbol", "EURUSD", "--bars", "500"); a.code != 0 {
		t.Fatal(a)
	}
	if a := l.run("data", "resample", "EURUSD", "1h", "4h"); a.code != 0 || !strings.Contains(a.out, "EURUSD 4h made of 500 bars of 1h: ") {
		t.Errorf("%+v, want it told what was made", a)
	}
	if a := l.run("data", "show", "EURUSD", "4h"); a.code != 0 {
		t.Errorf("%+v, want the bars in the library", a)
	}
	if a := l.run("data", "resample", "EURUSD", "1h", "15m"); a.code != exitUsage {
		t.Errorf("shorter bars of longer ones: %+v, want wrong usage", a)
	}
}

func TestDataShow_TellsSpanGapsAndFigures(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "500", "--seed", "7")
	want := `EURUSD 1h  500 bars
  span         2015-01-05 00:00 to 2015-02-02 19:00 UTC
  prices       made up; from synth seed 7, edge 0
  hash         abed9dcda4c616740726c671b7922f61be2152844d342e430ff31e91db5973a5
  gaps         none while the market trades; closed 4 times
  range        1.0781 to 1.10835, +0.16 % from the first open to the last close
  volatility   0.0903 % a bar, 7.2 % a year of 6330 bars
  largest      -0.44 % at 2015-01-20 15:00, +0.36 % at 2015-01-19 01:00
  volume       3076 on average, none in 0 bars; 0 bars without any movement
TIME              OPEN     HIGH     LOW      CLOSE    VOLUME
2015-01-05 00:00  1.1      1.1002   1.09941  1.10009  1053
…                 …        …        …        …        …
2015-02-02 19:00  1.09984  1.10171  1.09974  1.10171  4547
`
	if got := l.must("data", "show", "EURUSD", "1h", "--head", "1", "--tail", "1"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	s := decode[shownBars](t, l.must("data", "show", "EURUSD", "1h", "--json", "--head", "400", "--tail", "400"))
	if s.Bars != 500 || len(s.Head) != 400 || len(s.Tail) != 100 || s.Figures.Volatility == nil {
		t.Errorf("bars %d, head %d, tail %d, figures %+v", s.Bars, len(s.Head), len(s.Tail), s.Figures)
	}
}

func TestDataExport_ImportsToTheSameBars(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "3000", "--edge", "0.3")
	csv := filepath.Join(t.TempDir(), "EURUSD_1h.csv")
	l.must("data", "export", "EURUSD", "1h", "--csv", csv)
	text, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	if out := l.must("data", "export", "EURUSD", "1h"); out != string(text) {
		t.Error("the file and standard output differ")
	}
	other := newLab(t)
	other.must("data", "import", csv)
	a, b := l.must("data", "list", "--json"), other.must("data", "list", "--json")
	if was, is := decode[[]stored](t, a)[0].Hash, decode[[]stored](t, b)[0].Hash; was != is {
		t.Errorf("hash after export and import = %s, want %s", is, was)
	}
}

func TestDataCheck_FindsADamagedFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "500")
	if out := l.must("data", "check", "EURUSD", "1h"); !strings.Contains(out, "✔ EURUSD 1h: 500 bars as they were written") {
		t.Errorf("a whole file:\n%s", out)
	}
	path := l.barsFile("EURUSD", "1h")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, "it is damaged", "data", "check", "EURUSD", "1h")
	damaged := file(t, "damaged.bars", string(b))
	l.refused(exitFailed, "import the data again", "data", "check", damaged)
	if r := decode[checked](t, l.run("data", "check", damaged, "--json").out); r.OK || r.Error == "" {
		t.Errorf("as JSON: %+v", r)
	}
}

func TestDataCheck_ReadsPriceFiles(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.refused(exitFailed, "8 findings in 10 rows", "data", "check", file(t, "EURUSD_1h.csv", broken))
	good := file(t, "whatever.csv", strings.Join(strings.Split(broken, "\n")[:3], "\n"))
	if out := l.must("data", "check", good); !strings.Contains(out, "2 bars of 1h") {
		t.Errorf("a good file:\n%s", out)
	}
}

func TestData_CompletesSymbolsAndTimeframes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "50")
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "50", "--timeframe", "4h")
	l.must("data", "synth", "--symbol", "GBPUSD", "--bars", "50")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"data", "show", ""}, "EURUSD\nGBPUSD\n"},
		{[]string{"data", "show", "G"}, "GBPUSD\n"},
		{[]string{"data", "export", "EURUSD", ""}, "1h\n4h\n"},
		{[]string{"check", "lookahead", "--symbol", "E"}, "EURUSD\n"},
		{[]string{"check", "lookahead", "rsi"}, "rsi_mean_reversion\n"},
		{[]string{"check", "lookahead", "--plant", ""}, "same-bar-fill\ncentred-window\nwhole-sample-scaling\nlabel-overlap\n"},
	} {
		if got := l.must(append([]string{"__complete"}, tc.args...)...); !strings.HasPrefix(got, tc.want+":") {
			t.Errorf("%v completes to:\n%s\nwant:\n%s", tc.args, got, tc.want)
		}
	}
}

func TestData_WorksBesideARunningBackend(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0")
	l.must("data", "synth", "--symbol", "EURUSD", "--bars", "100")
	if out := l.must("data", "check", "EURUSD", "1h"); !strings.HasPrefix(out, "✔") {
		t.Errorf("check:\n%s", out)
	}
	l.must("status")
}

// TestDataImport_ReadsPublicData reads real feeds where they are.
func TestDataImport_ReadsPublicData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "shared", "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("kept beside the project: the public data sets")
	}
	l := newLab(t)
	points := map[string]string{"EURJPYh1": "1000", "USDJPYh1": "1000", "XAUUSDh1": "100"}
	for _, name := range []string{
		"AUDUSDh1", "EURGBPh1", "EURJPYh1", "EURUSDd1", "EURUSDh4", "GBPUSDh1", "USDCADh1", "USDCHFh1", "USDJPYh1", "XAUUSDh1",
	} {
		divide := points[name]
		if divide == "" {
			divide = "100000"
		}
		l.must("data", "import", "--divide", divide, filepath.Join(dir, "ejtrader", name+".csv.gz"))
	}
	vix := filepath.Join(dir, "finance-vix", "vix-daily.csv")
	l.refused(exitFailed, "refused: 47 findings in 9235 rows", "data", "import", vix)
	l.refused(exitFailed, "vix-daily.csv:535: ohlc-inconsistent: open 19.24 and close 17.7", "data", "import", vix)
	if out := l.must("data", "import", "--normalise", vix); !strings.Contains(out, "in 47 rows") {
		t.Errorf("normalised:\n%s", out)
	}

	bars := map[string]int{}
	for _, s := range decode[[]stored](t, l.must("data", "list", "--json")) {
		bars[s.Symbol+" "+string(s.Timeframe)] = s.Bars
	}
	if len(bars) != 11 || bars["XAUUSD 1h"] != 57600 || bars["EURUSD 4h"] != 14400 || bars["EURUSD 1d"] != 2400 || bars["VIX 1d"] != 9235 {
		t.Errorf("imported: %v", bars)
	}
	s := decode[shownBars](t, l.must("data", "show", "USDJPY", "1h", "--json"))
	if s.Timeframe != market.H1 || s.Figures.Highest > 130 ||
		s.Figures.Lowest < 75 {
		t.Errorf("USDJPY lies between %v and %v", s.Figures.Lowest, s.Figures.Highest)
	}
}
