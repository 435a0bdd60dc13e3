package local

import (
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/strategy"
)

// Validated is what there is to say about one strategy file.
type Validated struct {
	strategy.Validation
	Unread bool `json:"-"` // there is no such file, or it cannot be read
}

// ValidateFile checks a strategy file, or standard input.
func ValidateFile(file string, stdin io.Reader) Validated {
	text, err := []byte(nil), error(nil)
	if file == "-" {
		file = "stdin"
		text, err = readBounded(stdin)
	} else {
		f, open := backend.UserFile{What: "strategy file", Name: file, Next: "name one that exists, or - for standard input"}.Open()
		if err = open; err == nil {
			text, err = readBounded(f)
			_ = f.Close() // it was only read
		}
	}
	if err != nil {
		v := strategy.Validation{File: file, Error: err.Error(), Problems: []strategy.Problem{}, Warnings: []strategy.Warning{}}
		return Validated{v, true}
	}
	return Validated{Validation: strategy.Validate(text, file)}
}

// Print prints the result for people.
func (r Validated) Print(w io.Writer, p term.Palette) {
	for _, x := range r.Problems {
		fmt.Fprintln(w, term.Plain(x.String()))
	}
	for _, x := range r.Warnings {
		fmt.Fprintln(w, "warning:", term.Plain(x.String()))
	}
	said := r.Error
	switch {
	case r.Error != "":
	case !r.Valid && len(r.Problems) == strategy.MaxProblems:
		said = fmt.Sprintf("not valid: the first %d problems are listed", len(r.Problems))
	case !r.Valid:
		said = "not valid: " + text.Counted(len(r.Problems), "problem")
	default:
		f := r.Strategy
		said = fmt.Sprintf("%s is valid: %s, %d features, %d weights", f.Name, f.Model, len(f.Features), f.Weights)
	}
	fmt.Fprintf(w, "%s %s: %s\n", p.Mark(r.Valid), term.Plain(r.File), term.Plain(said))
}
