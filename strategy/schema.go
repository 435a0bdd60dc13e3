package strategy

import (
	"bytes"
	"encoding/json"
)

// schema is a JSON Schema, as far as the grammar needs it.
type schema struct {
	Schema               string             `json:"$schema,omitempty"`
	Title                string             `json:"title,omitempty"`
	Description          string             `json:"description,omitempty"`
	Type                 string             `json:"type,omitempty"`
	Const                any                `json:"const,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	MaxLength            int                `json:"maxLength,omitempty"`
	Minimum              *float64           `json:"minimum,omitempty"`
	ExclusiveMinimum     *float64           `json:"exclusiveMinimum,omitempty"`
	Maximum              *float64           `json:"maximum,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	MaxItems             int                `json:"maxItems,omitempty"`
	UniqueItems          bool               `json:"uniqueItems,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	PropertyNames        *schema            `json:"propertyNames,omitempty"`
	MinProperties        int                `json:"minProperties,omitempty"`
	MaxProperties        int                `json:"maxProperties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // false or a *schema
	AnyOf                []*schema          `json:"anyOf,omitempty"`
	OneOf                []*schema          `json:"oneOf,omitempty"`
	Default              any                `json:"default,omitempty"`
}

// Schema is the grammar as a JSON Schema (draft 2020-12), for editors and for
// programs that write strategies. It knows keys, types and bounds; rules that
// join several keys are Parse's.
func Schema() []byte {
	var s Strategy
	s.setDefaults()
	top := s.grammar().schema()
	top.Schema = "https://json-schema.org/draft/2020-12/schema"
	top.Title = "ktrdr strategy " + Version
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(top); err != nil {
		panic("strategy: the schema is not JSON: " + err.Error()) // it holds only what JSON can
	}
	return out.Bytes()
}
