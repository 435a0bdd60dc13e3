package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/page"
)

// htmlFlags are those of a command that can write an HTML file instead of
// printing.
type htmlFlags struct {
	file  string
	force *bool // replaces an existing file
}

func (f *htmlFlags) add(cmd *cobra.Command, force *bool) {
	f.force = force
	cmd.Flags().StringVar(&f.file, "html", "", "write one HTML `FILE` that opens offline, instead of printing; - is standard output")
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("html") {
			if err := f.check(); err != nil {
				return err
			}
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

// check refuses a file that cannot be written, before a server is called.
func (f *htmlFlags) check() error {
	switch f.file {
	case "-":
		return nil
	case "":
		return usagef("--html needs a FILE to write; - is standard output")
	}
	if err := backend.CheckWritable(f.file); err != nil {
		return err
	}
	if _, err := os.Lstat(f.file); !*f.force && !errors.Is(err, fs.ErrNotExist) {
		return usagef("%s exists: choose another name, or replace it with --force", f.file)
	}
	return nil
}

// writtenFile is what is said about a file that was written.
type writtenFile struct {
	File string `json:"file"`
	Size int64  `json:"size_bytes"`
}

// writeHTML writes the file, or prints it. It is read before the file is created,
// so that a server that does not answer leaves none.
func (a *app) writeHTML(f htmlFlags, c *client.Client, read func(page.Config, io.Writer) error) error {
	if f.file == "-" && a.json {
		return usagef("--json describes the file that is written: name it with --html FILE")
	}
	var html bytes.Buffer
	if err := read(page.Config{Lab: c, Version: ourVersion()}, &html); err != nil {
		return err
	}
	if f.file == "-" {
		_, err := a.out.Write(html.Bytes())
		return err
	}
	size, err := backend.WriteFile(f.file, func(w io.Writer) error {
		_, err := w.Write(html.Bytes())
		return err
	})
	return a.show(writtenFile{f.file, size}, err, func(w io.Writer) {
		fmt.Fprintf(w, "%s written, %s. It opens in a browser, without a network.\n", term.Plain(f.file), term.Bytes(size))
	})
}
