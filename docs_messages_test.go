package ktrdr_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	quoted  = regexp.MustCompile("`([^`]+)`")
	verb    = regexp.MustCompile(`%[-+# 0-9.*]*[a-zA-Z]`)
	example = regexp.MustCompile(`…|\d+ \w+|\S*[0-9/]\S*|KTRDR_\w+|\b[A-Z]{6}\b,?`) // what stands for a value: a count, an address, a symbol
)

// A reader looks for the message that is on the screen. Each message of the page
// has its words from one text of the program, but for the values in it.
func TestDocs_MessagesOfTroubleshootingExist(t *testing.T) {
	texts := textsOfTheProgram(t)
	messages := 0
	for line := range strings.Lines(read(t, "docs/troubleshooting.md")) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, found := range quoted.FindAllStringSubmatch(cells[1], -1) {
			message := strings.TrimPrefix(found[1], "warning: ")
			if !strings.Contains(message, " ") || strings.HasPrefix(message, "ktrdr ") || strings.HasPrefix(message, "x509: ") {
				continue // a code, a command, a message of the standard library
			}
			messages++
			if !said(texts, message) {
				t.Errorf("docs/troubleshooting.md quotes %q, and no text of the program has these words", message)
			}
		}
	}
	if messages < 10 {
		t.Errorf("only %d messages were found in the page", messages)
	}
}

// said is whether one text has all the fixed words of a message, in their order.
func said(texts []string, message string) bool {
	var parts []string
	for part := range strings.SplitSeq(example.ReplaceAllString(message, "\x00"), "\x00") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	for _, text := range texts {
		rest, all := text, true
		for _, part := range parts {
			_, after, ok := strings.Cut(rest, part)
			if rest, all = after, ok; !ok {
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}

// textsOfTheProgram are the string literals of the Go files that are not tests.
func textsOfTheProgram(t *testing.T) (texts []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && p != "."):
			return fs.SkipDir
		case !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(p, -1, len(source)), source, nil, 0)
		for {
			_, kind, literal := s.Scan()
			if kind == token.EOF {
				return nil
			}
			if kind != token.STRING {
				continue
			}
			text, err := strconv.Unquote(literal)
			if err != nil {
				return err
			}
			texts = append(texts, verb.ReplaceAllString(text, "…"))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
