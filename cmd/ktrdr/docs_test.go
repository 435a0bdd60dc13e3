package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/docs"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
)

// guide is the text of every page that users read, by its path.
func guide(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var deploy []string
	err = filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) != ".go" {
			deploy = append(deploy, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, path := range slices.Concat(paths, deploy, []string{"../../README.md", "../../CHANGELOG.md", "../../clients/langgraph/README.md"}) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[strings.TrimPrefix(path, "../../")] = string(text)
	}
	return pages
}

var (
	codeSpan = regexp.MustCompile("`[^`\n]+`")
	// a line of a code block, or of a comment in deploy/, that calls ktrdr
	commandLine = regexp.MustCompile(
		`^(?:#  |\s{4,})\s*(?:[A-Z_]+=\S+ |0 8 \* \* \* |docker compose exec backend |kubectl -n ktrdr exec ktrdr-backend-0 -- |` +
			`export |bin/|/usr/local/bin/)*ktrdr (.*)$`)
	commandSpan = regexp.MustCompile("^`(?:[A-Z_]+=\\S+ )*(?:bin/)?ktrdr ([^`\\\\]+)`$")
	quoted      = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	lineEnd     = regexp.MustCompile(`\s#.*$|[|;>)].*$|\s&&.*$`)
)

// calls are the command lines of ktrdr in a page, as words.
func calls(page string) (all [][]string) {
	add := func(line string) {
		line = lineEnd.ReplaceAllString(quoted.ReplaceAllString(line, "QUOTED"), "")
		all = append(all, strings.Fields(line))
	}
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if m := commandLine.FindStringSubmatch(strings.ReplaceAll(line, "bin/ktrdr", "ktrdr")); m != nil {
			add(m[1])
			continue
		}
		for _, span := range codeSpan.FindAllString(line, -1) {
			if m := commandSpan.FindStringSubmatch(span); m != nil {
				add(m[1])
			}
		}
	}
	return all
}

// badCall says what about a command line does not exist, or "".
func badCall(root *cobra.Command, words []string) string {
	cmd := root
	for i, word := range words {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case cmd == root && i == 0 && word == "COMMAND":
			return "" // a placeholder
		case strings.HasPrefix(name, "--"):
			if name != "--help" && cmd.Flags().Lookup(name[2:]) == nil && cmd.InheritedFlags().Lookup(name[2:]) == nil {
				return "`" + cmd.CommandPath() + "` has no flag " + name
			}
		case cmd == root || cmd.HasAvailableSubCommands() && i > 0 && words[i-1] == cmd.Name():
			sub, _, err := cmd.Find([]string{word})
			if err != nil || sub == cmd {
				if cmd == root || cmd.Use == cmd.Name() { // it takes no arguments of its own
					return "`" + cmd.CommandPath() + "` has no command " + word
				}
				continue
			}
			cmd = sub
		}
	}
	return ""
}

func TestDocs_CommandsAndFlagsExist(t *testing.T) {
	root := newRoot(&app{getenv: os.Getenv})
	seen, pages := map[string]bool{}, guide(t)
	for path, page := range pages {
		for _, words := range calls(page) {
			if bad := badCall(root, words); bad != "" {
				t.Errorf("%s: ktrdr %s: %s", path, strings.Join(words, " "), bad)
			}
			if len(words) > 0 && strings.HasPrefix(path, "docs/") {
				seen[words[0]] = true
			}
		}
	}
	for _, name := range commandNames(root) {
		if !seen[name] {
			t.Errorf("no page of docs/ shows `ktrdr %s`", name)
		}
	}
	for _, wrong := range [][]string{{"reserch"}, {"serve", "--wrokers", "2"}, {"data", "imprt", "x"}} {
		if badCall(root, wrong) == "" {
			t.Errorf("this test does not notice that %q is wrong", wrong)
		}
	}
}

// tableRow is a line of a table, cell by cell, without the backquotes.
func tableRow(line string) []string {
	if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
		return nil
	}
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i, c := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(c), "`")
	}
	return cells
}

func TestDocs_ConfigurationIsThatOfTheProgram(t *testing.T) {
	page, _ := docs.Page("configuration")
	rows := map[string][]string{}
	for line := range strings.Lines(page) {
		if cells := tableRow(line); len(cells) == 5 && cells[0] != "environment" {
			rows[cells[0]] = cells
		}
	}
	for _, s := range backend.Settings() {
		want := []string{s.Env, s.Key, "", s.Default}
		if s.Flag != "" {
			want[2] = "--" + s.Flag
		}
		if got := rows[s.Env]; len(got) == 0 || !slices.Equal(got[:4], want) {
			t.Errorf("the row of %s is %q; it must begin with %q", s.Env, got, want)
		}
		delete(rows, s.Env)
	}
	for env := range rows {
		t.Errorf("there is no setting %s", env)
	}
}

// The gates are read from the environment alone. Each name and default of the
// page must be one of the program: a wrong value of it is refused, and its
// default is accepted and changes nothing.
func TestDocs_GatesAreThoseOfTheProgram(t *testing.T) {
	page, _ := docs.Page("configuration")
	gates := 0
	for line := range strings.Lines(page) {
		cells := tableRow(line)
		if len(cells) != 3 || !strings.Contains(cells[0], "_GATE_") {
			continue
		}
		gates++
		set := func(value string) (research.Gates, error) {
			return research.GatesFrom(func(name string) string {
				if name == cells[0] {
					return value
				}
				return ""
			})
		}
		if _, err := set("none"); err == nil {
			t.Errorf("there is no gate %s", cells[0])
		}
		if g, err := set(cells[1]); err != nil || g != research.DefaultGates() {
			t.Errorf("the default of %s is not %s: %v", cells[0], cells[1], err)
		}
	}
	if gates != 9 {
		t.Errorf("%d gates, want 9", gates)
	}
}

// variables of the environment that are not settings of the backend
var otherVariables = []string{
	"KTRDR_URL", "KTRDR_TOKEN", "KTRDR_CA", "KTRDR_CONFIG", "KTRDR_WORKER_TOKEN", "KTRDR_API_KEY",
}

func TestDocs_SettingsExist(t *testing.T) {
	known := slices.Clone(otherVariables)
	for _, s := range backend.Settings() {
		known = append(known, s.Env)
	}
	variable := regexp.MustCompile(`\b(?:KTRDR|ORPHAN|CHECKPOINTING|CHECKPOINT|CIRCUIT_BREAKER)_[A-Z_]+\b`)
	for path, page := range guide(t) {
		for _, name := range variable.FindAllString(page, -1) {
			if !slices.Contains(known, name) && !strings.HasSuffix(name, "_") {
				t.Errorf("%s names %s, which nothing reads", path, name)
			}
		}
	}
}

func TestDocs_TheStrategyIsValidAndThePageHasEveryKey(t *testing.T) {
	page, _ := docs.Page("strategies")
	_, text, _ := strings.Cut(page, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	if _, warnings, err := strategy.Parse([]byte(text), "strategies.md"); err != nil || len(warnings) > 0 {
		t.Errorf("the strategy of docs/strategies.md: %v, %v", warnings, err)
	}

	var schema map[string]any
	if err := json.Unmarshal(strategy.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	schemaKeys(schema, keys)
	for key := range keys {
		if !regexp.MustCompile(`\b` + key + `\b`).MatchString(page) {
			t.Errorf("docs/strategies.md does not explain %s", key)
		}
	}
}

// schemaKeys collects the names of all properties but those of indicators,
// which `ktrdr indicators` explains.
func schemaKeys(node any, keys map[string]bool) {
	switch node := node.(type) {
	case map[string]any:
		properties, _ := node["properties"].(map[string]any)
		for key, below := range properties {
			keys[key] = true
			if key != "indicators" {
				schemaKeys(below, keys)
			}
		}
		for _, key := range []string{"items", "anyOf", "oneOf", "additionalProperties"} {
			schemaKeys(node[key], keys)
		}
	case []any:
		for _, below := range node {
			schemaKeys(below, keys)
		}
	}
}
