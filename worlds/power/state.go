package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// read reads the worlds that are done. A last line that was cut off is not one.
func read(path string) (all []record, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue
		}
		all = append(all, r)
	}
	return all, lines.Err()
}

// done writes one world down.
func (m *measuring) done(r record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	if err != nil {
		m.err = fmt.Errorf("%s %g, world %d: %w", r.Kind, r.Strength, r.World, err)
		return
	}
	text, err := json.Marshal(r)
	if err == nil {
		// A line of its own even behind one that was cut off.
		_, err = m.to.Write(append(append([]byte{'\n'}, text...), '\n'))
	}
	m.known, m.err = append(m.known, r), err
}

// The lines of a document between which the table stands.
const tableBegin, tableEnd = "<!-- power table: begin, written by go run ./worlds/power -->\n", "<!-- power table: end -->\n"

// replace puts the table between its lines.
func replace(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return fmt.Errorf("%s has no lines %q and %q, between which the table is written", path, tableBegin, tableEnd)
	}
	return os.WriteFile(path, []byte(before+tableBegin+"\n"+table+"\n"+tableEnd+after), 0o644)
}
