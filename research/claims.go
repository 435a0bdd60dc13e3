package research

import (
	"context"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
)

// ClaimsList is every claim and what the bars after it have shown.
type ClaimsList struct {
	Claims    []ClaimRow `json:"claims"`
	Crosses   float64    `json:"crosses"`              // e-value at which one claim lives or is retired
	FDR       float64    `json:"fdr_level"`            // of the discoveries
	Next      float64    `json:"next_discovery_needs"` // adjusted e-value
	Discovers int        `json:"discoveries"`
}

// ClaimRow is a claim with what is known of it among all claims.
type ClaimRow struct {
	ktrdr.LivingClaim
	AdjustedE  float64 `json:"adjusted_e_value"` // see evidence.Adjusted
	Discovered bool    `json:"discovered"`       // it is not false, with the false-discovery rate of the list
}

// fdrLevel is the false-discovery rate across claims.
const fdrLevel = 0.05

// ClaimsOf puts claims beside each other.
func ClaimsOf(claims []ktrdr.LivingClaim) ClaimsList {
	list := ClaimsList{Claims: []ClaimRow{}, Crosses: evidence.Crosses, FDR: fdrLevel, Next: 1 / fdrLevel}
	if len(claims) == 0 {
		return list
	}
	largest := make([]float64, len(claims))
	for i, c := range claims {
		largest[i] = c.MaxE
	}
	found, needed := evidence.Discoveries(largest, fdrLevel)
	list.Next = needed
	for i, c := range claims {
		list.Claims = append(list.Claims, ClaimRow{LivingClaim: c, AdjustedE: evidence.Adjusted(c.MaxE), Discovered: found[i]})
		if found[i] {
			list.Discovers++
		}
	}
	return list
}

// Claims lists the claims.
func (v Views) Claims(ctx context.Context) (ClaimsList, error) {
	claims, err := v.Engine.Claims(ctx)
	if err != nil {
		return ClaimsList{}, err
	}
	return ClaimsOf(claims), nil
}
