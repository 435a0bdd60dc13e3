package market

import "strings"

// Recognition is what was recognised of a file without being told.
type Recognition struct {
	Format  string   `json:"format"`            // the program or service that writes such files, or the kind of table
	Columns []string `json:"columns,omitempty"` // that are read, in the order of the file
	Zone    string   `json:"zone"`              // of its times
	Prices  string   `json:"prices"`            // their unit
	Notes   []string `json:"notes,omitempty"`   // choices that were made, each one fact
	Symbol  string   `json:"symbol,omitempty"`  // that the rows name
}

// String is one line.
func (r Recognition) String() string {
	parts := []string{r.Format}
	if len(r.Columns) > 0 {
		parts = append(parts, "columns "+strings.Join(r.Columns, ", "))
	}
	return strings.Join(append(append(parts, "times "+r.Zone, "prices "+r.Prices), r.Notes...), "; ")
}

func (r *Recognition) note(s string) { r.Notes = append(r.Notes, s) }
