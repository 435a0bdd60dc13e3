package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/report"
)

// TestTable_MadeUpPricesAreAlwaysMarked lays out every table that says of what kind
// the prices are, in rows of long texts, for terminals of every width.
func TestTable_MadeUpPricesAreAlwaysMarked(t *testing.T) {
	for _, head := range []string{
		strings.Join(report.LeaderHead, "\t"),
		"OPERATION\tSTRATEGY\tMARKET\tPRICES\tRUN\tSHARPE\tALPHA\tRETURN\tTRADES\tTRIALS\tLOOKS\tAT\tRESULT",
		"RESEARCH\tSTRATEGY\tPRICES\tVERDICT\t" + strings.Join(evidenceHead, "\t") + "\tRETURN\tTRADES\tAT\tRESULT",
		ModelHead,
		"RUN\tSTATE\tPRICES\tCREATED\tRESEARCHES\tOPEN\tFAILED\tFINALISTS\tLOOKS\tCLAIMS\tGOAL",
		"SYMBOL\tTIMEFRAME\tBARS\tFIRST\tLAST\tSIZE\tHASH\tPRICES\tFROM\tMARKET\tHOLDOUT FROM\tTRIALS\tLOOKS",
	} {
		names := strings.Split(head, "\t")
		row := make([]string, len(names))
		for i, name := range names {
			row[i] = strings.Repeat("x", 18)
			switch name {
			case "PRICES":
				row[i] = "made up"
			case "RESULT":
				row[i] = "no edge: too few trades"
			}
		}
		for room := term.NoCutsBelow; room < 260; room++ {
			text := strings.Join(term.LayOut([][]string{names, row}, room), "")
			if !strings.Contains(text, "made up") || room >= 40 && slices.Contains(names, "RESULT") && !strings.Contains(text, "no edge: ") {
				t.Errorf("at %d columns the mark or the result is not to be seen:\n%s", room, text)
				break
			}
		}
	}
}
