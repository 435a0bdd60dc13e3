package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/strategy"
)

const validateHelp = `Check strategy files. Each problem is printed with file, line and column. "-" reads
standard input. A warning is about something that is allowed but probably not meant.
The exit code is 1 when a strategy is not valid, and 2 when a file cannot be read.`

func newValidate(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE…", Short: "Check strategy files", Long: validateHelp,
		Args: atLeastOne("strategy FILE"),
		RunE: func(cmd *cobra.Command, files []string) error {
			results := make([]validated, len(files))
			failed, unread := false, false
			for i, file := range files {
				results[i] = validate(file, cmd.InOrStdin())
				failed, unread = failed || !results[i].Valid, unread || results[i].unread
			}
			err := a.print(results, func(w io.Writer) {
				for _, r := range results {
					a.printValidated(w, r)
				}
			})
			switch {
			case err == nil && unread:
				return &exitError{code: exitUsage}
			case err == nil && failed:
				return &exitError{code: exitFailed}
			}
			return err
		},
	}
}

// validated is what there is to say about one strategy file.
type validated struct {
	File     string         `json:"file"`
	Valid    bool           `json:"valid"`
	Error    string         `json:"error,omitempty"` // why the file could not be read
	Problems []placed       `json:"problems"`
	Warnings []placed       `json:"warnings"`
	Strategy *strategyFacts `json:"strategy,omitempty"`

	unread bool // there is no such file, or it cannot be read
}

// placed is a problem or a warning and its place.
type placed struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path,omitempty"` // the key
	Message string `json:"message"`
}

func (p placed) String() string {
	return strategy.Problem{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message}.String()
}

// maxStrategyFile is more than any strategy takes; the grammar's own limit is
// lower, and says so with figures.
const maxStrategyFile = 1 << 20

// readBounded reads a file that should be small.
func readBounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxStrategyFile+1))
	if err == nil && len(text) > maxStrategyFile {
		err = fmt.Errorf("it is larger than %d KB, which no strategy is", maxStrategyFile>>10)
	}
	return text, err
}

func validate(file string, stdin io.Reader) validated {
	name := file
	var text []byte
	var err error
	if file == "-" {
		name = "stdin"
		text, err = readBounded(stdin)
	} else {
		var f *os.File
		if f, err = (backend.UserFile{
			What: "strategy file", Name: file, Next: "name one that exists, or - for standard input",
		}).Open(); err == nil {
			text, err = readBounded(f)
			_ = f.Close()
		}
	}
	if err != nil {
		return validated{File: name, Error: err.Error(), Problems: []placed{}, Warnings: []placed{}, unread: true}
	}
	return validateText(text, name)
}

func validateText(text []byte, name string) validated {
	r := validated{File: name, Problems: []placed{}, Warnings: []placed{}}
	s, warnings, err := strategy.Parse(text, name)
	for _, x := range warnings {
		r.Warnings = append(r.Warnings, placed(x))
	}
	if problems, ok := errors.AsType[strategy.Problems](err); ok {
		for _, x := range problems {
			r.Problems = append(r.Problems, placed(x))
		}
		return r
	}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Valid, r.Strategy = true, factsOf(s)
	return r
}

func (a *app) printValidated(w io.Writer, r validated) {
	p := a.palette()
	for _, x := range r.Problems {
		fmt.Fprintln(w, term.Plain(x.String()))
	}
	for _, x := range r.Warnings {
		fmt.Fprintln(w, "warning:", term.Plain(x.String()))
	}
	switch {
	case r.Error != "":
		fmt.Fprintf(w, "%s %s: %s\n", p.Bad("✗"), term.Plain(r.File), term.Plain(r.Error))
	case !r.Valid && len(r.Problems) == strategyProblems:
		fmt.Fprintf(w, "%s %s: not valid: the first %d problems are listed\n", p.Bad("✗"), term.Plain(r.File), len(r.Problems))
	case !r.Valid:
		fmt.Fprintf(w, "%s %s: not valid: %s\n", p.Bad("✗"), term.Plain(r.File), text.Counted(len(r.Problems), "problem"))
	default:
		f := r.Strategy
		fmt.Fprintf(w, "%s %s: %s is valid: %s, %d features, %d weights\n", p.Good("✔"), term.Plain(r.File), term.Plain(f.Name), f.Model,
			len(f.Features), f.Weights)
	}
}

// strategyProblems is how many problems of one file package strategy lists.
const strategyProblems = 20
