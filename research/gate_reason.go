package research

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
)

// GateReasons are the checks that a gate refuses for. Values and limits are
// fractions where the text shows percentages.
type GateReasons []evidence.Reason

// UnmarshalJSON also reads the texts of earlier versions, which begin with a code.
func (g *GateReasons) UnmarshalJSON(data []byte) error {
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return err
	}
	*g = make(GateReasons, len(entries))
	for i, entry := range entries {
		r := &(*g)[i]
		if len(entry) == 0 || entry[0] != '"' {
			if err := json.Unmarshal(entry, r); err != nil {
				return err
			}
			continue
		}
		if err := json.Unmarshal(entry, &r.Text); err != nil {
			return err
		}
		code, _, _ := strings.Cut(r.Text, " ")
		r.Code = evidence.Code(code)
	}
	return nil
}

// String lists the texts.
func (g GateReasons) String() string {
	return strings.Join(text.Map(g, func(r evidence.Reason) string { return r.Text }), "; ")
}

type checks struct {
	gate    string
	reasons GateReasons
}

// check adds a reason unless ok. The text compares the value with the limit.
func (c *checks) check(ok bool, code evidence.Code, value float64, relation string, limit float64, show func(float64) string) {
	if !ok {
		text := fmt.Sprintf("%s (%s %s %s)", code, show(value), relation, show(limit))
		c.reasons = append(c.reasons, evidence.Reason{Code: code, Text: text, Value: &value, Limit: &limit})
	}
}

func (c *checks) result() GateResult {
	if len(c.reasons) == 0 {
		return GateResult{Gate: c.gate, Passed: true, Reason: "passed"}
	}
	return GateResult{Gate: c.gate, Reason: c.reasons.String(), Reasons: c.reasons}
}

// How a figure of a gate is shown.
func share(x float64) string      { return fmt.Sprintf("%.1f%%", 100*x) }
func smallShare(x float64) string { return fmt.Sprintf("%.2f%%", 100*x) }
func digits(x float64) string     { return fmt.Sprintf("%.4g", x) }
func ratio(x float64) string      { return fmt.Sprintf("%.2f", x) }
func number(x float64) string     { return fmt.Sprintf("%.0f", x) }
