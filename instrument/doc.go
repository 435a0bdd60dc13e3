// Package instrument knows what a symbol names and what trading it costs.
//
//	symbol ──▶ instruments.yaml, else rules about names ──▶ Class ──▶ default Costs
//	       ──▶ Table (--costs, KTRDR_COSTS) or instruments.yaml ──▶ Costs that a user set
//
// It decides nothing about researches: which of the costs a strategy pays, and
// at least how much, package research decides.
package instrument
