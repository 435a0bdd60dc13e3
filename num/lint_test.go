package num_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// compute are the packages whose floats reach results, and must have the same
// bits on every machine.
var compute = []string{
	"num", "market", "indicator", "fuzzy", "label", "neural", "strategy", "feature", "backtest", "train", "evidence", "evidence/panel",
}

// exact are the functions of package math that have one right answer, which every
// CPU gives. The others (Exp, Log, Pow, Sin, Tanh, …) are written in assembly for
// some CPUs and differ in the last bits: package num has its own.
var exact = []string{
	"Abs", "Ceil", "Copysign", "FMA", "Float32bits", "Float32frombits", "Float64bits", "Float64frombits", "Floor",
	"Frexp", "Inf", "IsInf", "IsNaN", "Ldexp", "Max", "Min", "Mod", "Modf", "NaN", "Nextafter", "Nextafter32",
	"Round", "RoundToEven", "Signbit", "Sqrt", "Trunc",
}

// constants of package math.
var constant = regexp.MustCompile(`^(Max|Min|Smallest)[A-Z]\w+$|^(E|Pi|Phi|Sqrt2|SqrtE|SqrtPi|SqrtPhi|Ln2|Ln10|Log2E|Log10E)$`)

// refused are packages whose numbers are not ours to decide.
var refused = []string{"math/rand", "math/rand/v2", "math/cmplx"}

func TestComputeUsesOnlyArithmeticThatIsTheSameEverywhere(t *testing.T) {
	seen := 0
	for file := range computeFiles(t) {
		seen++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, complaint := range inexact(set, f) {
			t.Error(complaint)
		}
	}
	if seen < 100 {
		t.Errorf("only %d files were looked at: the packages are not where they were", seen)
	}
}

func TestTheCheckSeesWhatItShall(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"exact functions and constants": {"import \"math\"\nvar x = math.Sqrt(math.Pi) + math.Abs(math.MaxFloat64)", 0},
		"an exponential":                {"import \"math\"\nvar x = math.Exp(1)", 1},
		"under another name":            {"import m \"math\"\nvar x = m.Log(1)", 1},
		"without a name":                {"import . \"math\"\nvar x = Log(1)", 1},
		"as a value":                    {"import \"math\"\nvar x = math.Tanh", 1},
		"random numbers":                {"import \"math/rand/v2\"\nvar x = rand.Float64()", 1},
		"a field of the same name":      {"var math struct{ Exp int }\nvar x = math.Exp", 0},
	} {
		t.Run(name, func(t *testing.T) {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, "x.go", "package x\n"+c.text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if got := inexact(set, f); len(got) != c.want {
				t.Errorf("complaints %q, want %d", got, c.want)
			}
		})
	}
}

// inexact lists what a file uses that is not the same everywhere.
func inexact(set *token.FileSet, f *ast.File) (complaints []string) {
	math := ""
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		where := set.Position(spec.Pos()).String()
		if slices.Contains(refused, path) {
			complaints = append(complaints, where+": imports "+path+": use num.Rand")
		}
		if path != "math" {
			continue
		}
		math = "math"
		if spec.Name != nil {
			math = spec.Name.Name
		}
		if math == "." {
			complaints = append(complaints, where+": imports math without a name, so that its use cannot be seen")
		}
	}
	if math == "" {
		return complaints
	}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == math && !slices.Contains(exact, s.Sel.Name) && !constant.MatchString(s.Sel.Name) {
			complaints = append(complaints, set.Position(s.Pos()).String()+": math."+s.Sel.Name+" differs from CPU to CPU: use package num")
		}
		return true
	})
	return complaints
}

// computeFiles yields the Go files of the compute packages, tests left out, for
// all architectures.
func computeFiles(t *testing.T) func(yield func(string) bool) {
	t.Helper()
	return func(yield func(string) bool) {
		for _, pkg := range compute {
			err := filepath.WalkDir(filepath.Join("..", pkg), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				if !yield(path) {
					return fs.SkipAll
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
