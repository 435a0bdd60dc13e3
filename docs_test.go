package ktrdr_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	testName = regexp.MustCompile("`(Test\\w+)(?:/(\\w+))?`")
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	caseName = regexp.MustCompile(`(?m)^\t"(\w+)":`) // of a conformance suite
)

// A row that names a test that does not exist is a promise without proof.
func TestDocs_EveryFaultNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, cases := testsOfTheTree(t)
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if line[0] != '|' || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[0]) == "failure" {
			continue
		}
		rows++
		names := testName.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(names) == 0 {
			t.Errorf("a failure, what is instead, and the test: %s", line)
		}
		for _, name := range names {
			if !tests[name[1]] || name[2] != "" && !cases[name[2]] {
				t.Errorf("there is no test %s, which proves: %s", name[0], strings.TrimSpace(cells[0]))
			}
		}
	}
	if rows == 0 {
		t.Error("docs/faults.md has no table")
	}
}

// testsOfTheTree are the tests that are there, and the cases of the suites.
func testsOfTheTree(t *testing.T) (tests, cases map[string]bool) {
	t.Helper()
	tests, cases = map[string]bool{}, map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && p != ".") {
			return fs.SkipDir
		}
		suite := strings.HasPrefix(p, "savertest/") || strings.HasPrefix(p, "storetest/")
		if !strings.HasSuffix(p, "_test.go") && !(suite && strings.HasSuffix(p, ".go")) {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, f := range testFunc.FindAllSubmatch(text, -1) {
			tests[string(f[1])] = true
		}
		if suite {
			for _, c := range caseName.FindAllSubmatch(text, -1) {
				cases[string(c[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests, cases
}

var (
	docLink = regexp.MustCompile(`\[[^\]\n]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noFence = regexp.MustCompile("(?ms)^```.*?^```")
)

// Every link of a page leads to a file that is there, and to a heading that the
// file has.
func TestDocs_LinksLeadSomewhere(t *testing.T) {
	pages := []string{"README.md", "CHANGELOG.md", "clients/langgraph/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		for _, m := range docLink.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: there is no %s", page, m[1])
			} else if anchor != "" && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s: %s has no heading #%s", page, target, anchor)
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links were found", links)
	}
}

// anchors are the names of the headings of a page, as GitHub makes them.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(noFence.ReplaceAllString(page, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return names
}

func TestDocs_TheReadmeIsShort(t *testing.T) {
	if n := len(strings.Fields(read(t, "README.md"))); n > 1200 {
		t.Errorf("README.md has %d words; move what is over 1,200 into docs/", n)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
