package ktrdr

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// ParseSpec reads the spec of an operation and refuses what does not belong into
// it: a spec that was written for another version must not half work.
func ParseSpec[T interface{ Validate() error }](text json.RawMessage) (spec T, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&spec); err != nil {
		return spec, Errorf(CodeInvalid, "spec: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return spec, Errorf(CodeInvalid, "spec: there is more after the JSON object")
	}
	if err := spec.Validate(); err != nil {
		return spec, Errorf(CodeInvalid, "spec: %w", err)
	}
	return spec, nil
}

// SpecOf says what is wrong with a spec that ParseSpec reads as a T.
func SpecOf[T interface{ Validate() error }](text json.RawMessage) error {
	_, err := ParseSpec[T](text)
	return err
}
