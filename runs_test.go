package ktrdr_test

import (
	"path"
	"slices"
	"testing"
)

// runs are the packages of the standard library that make a program, or a value
// of any type, out of bytes. What is stored and what a model says are bytes for
// ever: nothing of the product but the backend and the command, which start this program again, may
// import one of them. The pages fill the templates of this program with data.
var runs = map[string][]string{
	"os/exec":       {"backend", "cmd/ktrdr", "labtest", "sqlstore/pgtest"},
	"plugin":        nil,
	"encoding/gob":  nil,
	"text/template": nil,
	"html/template": {"chart", "page"},
	"net/rpc":       nil,
}

// reaches says of the packages that read what a model or a client said which
// way out of the process they do not have: to files, to the network.
var reaches = map[string][]string{
	"strategy": {"os", "net", "net/http"},
	"designer": {"os", "net", "net/http"},
	"thread":   {"os", "net", "net/http"},
	"llm":      {"os"},
	"agent":    {"net", "net/http"}, // it keeps bars in a temporary file
	"research": {"net", "net/http"},
}

func TestImports_WhatIsReadCannotRun(t *testing.T) {
	for file := range goFiles(t) {
		pkg := path.Dir(file)
		for _, imp := range importsOf(t, file) {
			if by, restricted := runs[imp]; restricted && !slices.Contains(by, pkg) {
				t.Errorf("%s imports %s: what package %s reads must stay data", file, imp, pkg)
			}
			if slices.Contains(reaches[pkg], imp) {
				t.Errorf("%s imports %s: what package %s reads must reach neither files nor the network", file, imp, pkg)
			}
		}
	}
}
