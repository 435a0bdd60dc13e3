package strategy

import (
	"slices"

	"github.com/ktrdr/ktrdr/market"
)

// FeatureID names a feature: {timeframe}_{fuzzy set}_{membership}, or
// {timeframe}_{indicator.output}_raw. A model keeps the list it was trained on.
type FeatureID string

const maxFeatures = 1024

// Column is a feature and where it comes from.
type Column struct {
	ID            FeatureID
	Symbol        string // the context symbol whose bars are read; empty: the symbol that is traded
	Timeframe     market.Timeframe
	Ref           Ref
	Member        *Member // nil for a raw feature
	Normalization Normalization
}

// Columns lists the features in their order: that of nn_inputs, in each by timeframe, in each by membership.
func (s *Strategy) Columns() []Column {
	var out []Column
	for _, in := range s.Inputs {
		for _, tf := range in.Timeframes {
			if in.IsRaw() {
				id := FeatureID(string(tf) + "_" + in.Raw.Name + "_raw")
				out = append(out, Column{id, s.symbolOf(in.Raw), tf, in.Raw, nil, in.Normalization})
				continue
			}
			set := &s.FuzzySets[in.Set]
			for i := range set.Members {
				m := &set.Members[i]
				id := FeatureID(string(tf) + "_" + set.ID + "_" + m.Name)
				out = append(out, Column{id, s.symbolOf(set.Ref), tf, set.Ref, m, NoNorm})
			}
		}
	}
	return out
}

func (s *Strategy) symbolOf(r Ref) string { return s.Indicators[r.Indicator].Symbol }

// Series names bars of one symbol.
type Series struct {
	Symbol    string
	Timeframe market.Timeframe
}

// ContextSeries lists the bars of context symbols that the inputs read, by symbol
// and then by timeframe, in the order of the strategy.
func (s *Strategy) ContextSeries() []Series {
	var list []Series
	columns := s.Columns()
	for _, symbol := range s.Data.Context {
		for _, tf := range s.Data.Timeframes {
			if slices.ContainsFunc(columns, func(c Column) bool { return c.Symbol == symbol && c.Timeframe == tf }) {
				list = append(list, Series{symbol, tf})
			}
		}
	}
	return list
}

// Features lists the features in their order.
func (s *Strategy) Features() []FeatureID {
	columns := s.Columns()
	out := make([]FeatureID, len(columns))
	for i, c := range columns {
		out[i] = c.ID
	}
	return out
}

// Outputs is the number of outputs of the network.
func (s *Strategy) Outputs() int { return max(1, len(s.Training.Labels.Classes())) }

// checkFeatures refuses two features of one name, which would be one input
// seen twice or two that no report could tell apart.
func (s *Strategy) checkFeatures(r *reader) {
	ids := s.Features()
	if len(ids) > maxFeatures {
		r.problemOn("nn_inputs", "they make %d features; at most %d are allowed", len(ids), maxFeatures)
		return
	}
	seen := make(map[FeatureID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			r.problemOn("nn_inputs", "two inputs are called %s; name an input once, and fuzzy sets and memberships so that they differ", id)
			return
		}
		seen[id] = true
	}
}
