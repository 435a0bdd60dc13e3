package instrument

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const example = `# costs in basis points
instruments:
  EURUSD:
    class: major_fx
    costs: {commission: 0.3, slippage: 2e-1, spread: 1}
  "7203":
    class: stock
  tsla:
    costs:
      commission: 1
      slippage: 0
      spread: 4.5
`

func TestParse_ReadsInstruments(t *testing.T) {
	got, err := Parse(FileName, []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	points := func(c, s, sp float64) *Costs { return &Costs{c / BasisPoints, s / BasisPoints, sp / BasisPoints} }
	want := File{
		"EURUSD": {Symbol: "EURUSD", Class: MajorFX, Costs: points(0.3, 0.2, 1)},
		"7203":   {Symbol: "7203", Class: Stock},
		"TSLA":   {Symbol: "tsla", Costs: points(1, 0, 4.5)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if x := got.Find("Tsla"); x.Symbol != "tsla" {
		t.Errorf("Tsla is %+v, want what the file says of tsla", x)
	}
	if x := got.Find("GBPUSD"); x.Symbol != "" {
		t.Errorf("GBPUSD is %+v, and the file does not name it", x)
	}
}

func TestParse_TakesAFileThatSaysNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "---\n", "instruments: {}\n", "{}\n"} {
		if got, err := Parse(FileName, []byte(text)); err != nil || len(got) != 0 {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestParse_SaysWhatIsWrongAndWhere(t *testing.T) {
	entry := func(body string) string { return "instruments:\n  EURUSD:\n" + body }
	for name, c := range map[string]struct{ text, want string }{
		"a key at the top": {"instrument: {}\n", `instruments.yaml:1:1: there is no key "instrument"; did you mean instruments?`},
		"a key of an instrument": {
			entry("    klass: index\n"), `instruments.yaml:3:5: instruments.EURUSD: there is no key "klass"; did you mean class?`,
		},
		"a key like no other": {
			entry("    tick_size: 3\n"), `instruments.yaml:3:5: instruments.EURUSD: there is no key "tick_size"; the keys here are class, costs`,
		},
		"a misspelt rate": {
			entry("    costs: {commissions: 1, slippage: 1, spread: 1}\n"),
			`instruments.yaml:3:13: instruments.EURUSD.costs: there is no key "commissions"; did you mean commission?`,
		},
		"rates that are missing": {
			entry("    costs: {slippage: 1}\n"), "instruments.EURUSD.costs: missing: commission, spread; write 0 where nothing is charged",
		},
		"a class that is not one": {
			entry("    class: bonds\n"),
			`instruments.yaml:3:12: instruments.EURUSD.class: it must be a class, not "bonds"; ` +
				`there are major_fx, minor_fx, metal, index, stock, crypto`,
		},
		"a misspelt class":       {entry("    class: crpyto\n"), `not "crpyto"; did you mean crypto? there are major_fx`},
		"a class that is a list": {entry("    class: [index]\n"), "not a list"},
		"a negative rate": {
			entry("    costs: {commission: -1, slippage: 1, spread: 1}\n"),
			"instruments.yaml:3:25: instruments.EURUSD.costs.commission: it must be a number of basis points from 0 to 2000, not -1",
		},
		"a rate too high": {
			entry("    costs: {commission: 1, slippage: 2001, spread: 1}\n"),
			"costs.slippage: it must be a number of basis points from 0 to 2000, not 2001",
		},
		"a rate in quotes": {
			entry("    costs: {commission: \"1\", slippage: 1, spread: 1}\n"),
			`costs.commission: it must be a number of basis points from 0 to 2000, not "1"`,
		},
		"a rate that is NaN": {entry("    costs: {commission: .nan, slippage: 1, spread: 1}\n"), "not .nan"},
		"no costs":           {entry("    costs:\n"), "instruments.EURUSD.costs: it must be a mapping (key: value), not nothing"},
		"no instrument": {
			"instruments:\n  EURUSD: 3\n", "instruments.yaml:2:11: instruments.EURUSD: it must be a mapping (key: value), not 3",
		},
		"a list": {
			"instruments: [EURUSD]\n", "instruments.yaml:1:14: instruments: it must be a mapping (key: value), not a list",
		},
		"a symbol given twice": {
			"instruments:\n  X: {class: index}\n  X: {class: stock}\n", "instruments.yaml:3:3: instruments: X is given twice, first in line 2",
		},
		"twice but for capitals": {
			"instruments:\n  X: {class: index}\n  x: {class: stock}\n", "instruments.yaml:3:3: instruments: x is given twice, first as X",
		},
		"every symbol": {
			"instruments:\n  \"*\": {class: index}\n",
			`"*" is not a symbol; name one, such as EURUSD, and set all others with --costs or KTRDR_COSTS`,
		},
		"a number as a symbol": {"instruments:\n  7203: {class: index}\n", "the key 7203 is not text; put it in quotes"},
		"an alias": {
			"instruments:\n  X: &a {class: index}\n  Y: *a\n", "instruments.yaml:2:6: anchors (&) are not allowed; write the value out",
		},
		"a tag":          {"instruments: !x {}\n", "tags (!) are not allowed"},
		"two documents":  {"instruments: {}\n---\ninstruments: {}\n", "a second document begins here"},
		"no YAML":        {"instruments: [\n", "this is not YAML"},
		"no text":        {"instruments: \xff\n", "not text in UTF-8"},
		"nested":         {"instruments: " + strings.Repeat("[", 40) + "\n", "nested more than 8 deep"},
		"too large":      {"# " + strings.Repeat("x", limits.Bytes), "the file is larger than 256 KB"},
		"too many words": {"instruments: [" + strings.Repeat("1,", limits.Tokens) + "]", "words and signs"},
		"too many symbols": {
			"instruments:\n" + many(maxInstruments+1), fmt.Sprintf("there are %d symbols; at most %d are allowed", maxInstruments+1, maxInstruments),
		},
	} {
		got, err := Parse(FileName, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  SYM%d: {class: stock, costs: {commission: 1, slippage: 1, spread: 1}}\n", i)
	}
	return b.String()
}

func TestParse_ListsSeveralProblemsAndNotHundreds(t *testing.T) {
	_, err := Parse(FileName, []byte("instruments:\n"+strings.ReplaceAll(many(100), "stock", "bonds")))
	if err == nil || strings.Count(err.Error(), "\n") != maxProblems-1 {
		t.Errorf("%d lines, want %d", strings.Count(err.Error(), "\n")+1, maxProblems)
	}
}

func TestParse_TheLargestFileIsReadInAMoment(t *testing.T) {
	start := time.Now()
	got, err := Parse(FileName, []byte("instruments:\n"+many(maxInstruments)))
	if err != nil || len(got) != maxInstruments {
		t.Fatalf("%d instruments, %v", len(got), err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestReadFile_NeedsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if got, err := ReadFile(path); err != nil || len(got) != 0 {
		t.Errorf("a file that does not exist: %v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(path); err != nil || len(got) != 3 {
		t.Errorf("%v, %v, want three instruments", got, err)
	}
	if _, err := ReadFile(filepath.Dir(path)); err == nil {
		t.Error("a folder is read as a file")
	}
}

func FuzzParse_DoesNotPanic(f *testing.F) {
	f.Add(example)
	f.Add("instruments:\n  X: {class: index, costs: {commission: 1e308, slippage: .inf, spread: ~}}\n")
	f.Add("? a\n: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse(FileName, []byte(text))
		if err != nil && (file != nil || !strings.HasPrefix(err.Error(), FileName+":")) {
			t.Errorf("%v beside %v", err, file)
		}
		for name, x := range file {
			if name != strings.ToUpper(x.Symbol) || x.Class != "" && !x.Class.Valid() || x.Costs != nil && x.Costs.Validate() != nil {
				t.Errorf("%s: %+v is not valid", name, x)
			}
		}
	})
}
