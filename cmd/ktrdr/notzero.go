package main

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// notZero lets flags refuse a 0 that would silently mean their default.
func notZero(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := flags.Lookup(name)
		f.Value = nonZero{f.Value}
	}
}

// nonZero is the value of such a flag.
type nonZero struct{ pflag.Value }

// Set implements pflag.Value.
func (v nonZero) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	d, notDuration := time.ParseDuration(text)
	if err == nil && x == 0 || notDuration == nil && d == 0 {
		return errors.New("it must be above 0; leave the flag out for the default")
	}
	return v.Value.Set(text)
}
