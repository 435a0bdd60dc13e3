package ktrdr_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// words are phrases that a reader has to read twice, each with the plain ones.
var words = []struct{ pattern, instead string }{
	{`left alone`, "rate-limited, or not changed"},
	{`do(es)? without (a|the|any) model`, "fall back to the built-in designer"},
	{`(is|are) not asked`, "open circuit breaker"},
	{`commonest`, "majority-class, most frequent"},
	{`luck is granted|grant(s|ed)? .*luck`, "adjusted for N trials and M holdout looks"},
	{`own will`, "automatic"},
	{`nearer to`, "must be at most, must be at least"},
	{`bec(a|o)mes? of`, "result"},
	{`came of`, "result, was created from"},
	{`what (it|they) ended with`, "result"},
	{`los[et]s? its (backend|worker|holder)`, "the backend (worker) died"},
	{`anew`, "again, restarted"},
	{`and be it`, "even if"},
	{`(come|comes|came|run|runs|ran) to (its|their) ends?`, "finish, end"},
	{`and so on`, "name the rest"},
	{`somebody|someone`, "a person, a client, a user"},
	{`nobody|no ?one`, "no person, no client, no test"},
	{`whoever|whomever|whosoever`, "the client, the user, the caller"},
	{`so many`, "N, that number of"},
	{`(that|which|what|it|%[qsv]) (is|are|was|were) none`, "not a …, not one of"},
	{`(is|are|was|were) none of`, "not one of"},
	{`is none`, "does not exist, is missing, is not valid"},
	{`does without`, "needs no"},
	{`whom`, "rewrite with the noun first"},
	{`that which|those who`, "rewrite with the noun first"},
	{`thereby|therein|thereof|hereby|herein|whereby|wherein`, "rewrite as two sentences"},
	{`at hand`, "available"},
	{`lifelines?|vigils?|quests?|hopeless|insists?|insisted`, "model wiring, watcher, call, budget, given up, retry"},
	{`exhibits?`, "evidence table"},
	{`go(es|ing)? on|went on`, "resumes, continues, runs"},
	{`everybody|everyone`, "every user, all clients"},
	{`tell(s|ing)? of|told of`, "says, reports, names"},
	{`for so long`, "for the time"},
}

// metaphors are parts of identifiers that do not say what the thing does.
var metaphors = []string{
	"lifeline", "lifelines", "mind", "minds", "vigil", "night", "nights", "quest", "quests", "thrift", "exhibit", "exhibits",
	"insist", "insists", "insistent", "hopeless", "whole", "nobody", "somebody", "whoever",
}

var caseOfSuite = regexp.MustCompile(`^"([A-Z][a-z]+(?:[A-Z][a-zA-Z]*)+)"$`)

var wordPatterns = sync.OnceValue(func() []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(words))
	for i, w := range words {
		all[i] = regexp.MustCompile(`(?i)\b(` + w.pattern + `)\b`)
	}
	return all
})

// checkWords reports the phrases of a text that are on the list.
func checkWords(t *testing.T, place, text string) {
	t.Helper()
	for i, re := range wordPatterns() {
		if found := re.FindString(text); found != "" {
			t.Errorf("%s: %q: write instead: %s", place, found, words[i].instead)
		}
	}
}

// checkName reports the metaphors and phrases of a name that are on the lists.
func checkName(t *testing.T, place, name string) {
	t.Helper()
	parts := partsOf(name)
	for _, part := range parts {
		if slices.Contains(metaphors, part) {
			t.Errorf("%s: the name %s: %q is a metaphor", place, name, part)
		}
	}
	checkWords(t, place+": the name "+name, strings.Join(parts, " "))
}

// A reader who is not a native speaker understands each text at first reading.
func TestWords_ArePlain(t *testing.T) {
	for path, text := range textFiles(t) {
		for n, line := range strings.Split(string(text), "\n") {
			checkWords(t, fmt.Sprintf("%s:%d", path, n+1), line)
		}
	}
}

func TestWords_OfFileNamesSayWhatAFileHolds(t *testing.T) {
	between := regexp.MustCompile(`[/.-]+`)
	for path := range textFiles(t) {
		checkName(t, path, between.ReplaceAllString(path, "_"))
	}
}

func TestWords_OfIdentifiersSayWhatAThingDoes(t *testing.T) {
	for path, text := range textFiles(t) {
		if filepath.Ext(path) != ".go" {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			name := ""
			switch n := n.(type) {
			case *ast.Ident:
				name = n.Name
			case *ast.BasicLit: // the name of a case of a suite is a string
				if found := caseOfSuite.FindStringSubmatch(n.Value); found != nil {
					name = found[1]
				}
			}
			if name != "" {
				checkName(t, files.Position(n.Pos()).String(), name)
			}
			return true
		})
	}
}

// One name, one concept. Interfaces are not counted: a package declares what it
// needs of another under the name that it has there.
func TestWords_ATypeHasItsNameToItself(t *testing.T) {
	// of one kind in every package that has them
	shared := []string{"Config", "Spec", "Options", "Result", "Store", "Client", "Server", "Status", "Request"}
	alone := []string{"Figures", "Order", "Desk", "Ledger"}
	declared := map[string][]string{}
	for path, text := range textFiles(t) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				continue
			}
			for _, s := range d.Specs {
				s := s.(*ast.TypeSpec)
				_, contract := s.Type.(*ast.InterfaceType)
				if name := s.Name.Name; !contract && ast.IsExported(name) && !slices.Contains(shared, name) {
					declared[name] = append(declared[name], filepath.Dir(path))
				}
			}
		}
	}
	for name, dirs := range declared {
		if len(dirs) > 2 || len(dirs) > 1 && slices.Contains(alone, name) {
			slices.Sort(dirs)
			t.Errorf("the type %s is declared in %s", name, strings.Join(dirs, ", "))
		}
	}
}

// textFiles are the texts of the repository that people write. Migrations that
// are published are never edited, an example's description is part of its result
// hash, and data of tests is not prose.
func textFiles(t *testing.T) map[string][]byte {
	t.Helper()
	kinds := []string{".go", ".md", ".sql", ".yaml", ".yml", ".toml", ".service", ".ts", ".mjs", ".js", ".css", ".html"}
	skipped := []string{".git", "node_modules", "testdata", "bin", "dist"}
	published := []string{filepath.Join("sqlstore", "migrations"), filepath.Join("strategy", "examples")}
	texts := map[string][]byte{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (slices.Contains(skipped, e.Name()) || slices.Contains(published, path)):
			return fs.SkipDir
		case e.IsDir() || path == "words_test.go" || !slices.Contains(kinds, filepath.Ext(path)) && e.Name() != "Makefile":
			return nil
		}
		text, err := os.ReadFile(path)
		texts[path] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// partsOf splits a name at its capitals: "aWholeRun" is a, whole, run.
func partsOf(name string) []string {
	var parts []string
	start := 0
	for i, r := range name {
		if i > start && (unicode.IsUpper(r) || r == '_') {
			parts = append(parts, strings.ToLower(strings.Trim(name[start:i], "_")))
			start = i
		}
	}
	return append(parts, strings.ToLower(strings.Trim(name[start:], "_")))
}
