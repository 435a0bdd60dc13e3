package strategy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Problem is one thing that is wrong with a strategy, and where.
type Problem struct {
	File    string `json:"file"` // as given to Parse
	Line    int    `json:"line"` // from 1, as the column
	Column  int    `json:"column"`
	Path    string `json:"path,omitempty"` // the key, as in training.labels.source; empty for the whole document
	Message string `json:"message"`        // a sentence that says what is wrong and what to do
}

// String reads as compilers write it.
func (p Problem) String() string {
	where := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path == "" {
		return where + p.Message
	}
	return where + p.Path + ": " + p.Message
}

// Warning is something that is allowed and probably not meant.
type Warning Problem

// String reads as compilers write it.
func (w Warning) String() string { return Problem(w).String() }

// MaxProblems is how many are told at once: who has more than that to mend will ask again.
const MaxProblems = 20

// Problems is the error of a strategy that is not valid: all that is wrong
// with it, in the order of the text, the first twenty.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := text.Map(p, Problem.String)
	if len(p) == MaxProblems {
		lines = append(lines, fmt.Sprintf("(the first %d problems are listed)", MaxProblems))
	}
	return strings.Join(lines, "\n")
}

func sorted(list []Problem) []Problem {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return list
}
