package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
)

// ourVersion is what the linker was told, else the commit the binary was built
// from, else "dev".
func ourVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			return v
		}
	}
	return "dev"
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	v := struct {
		Version  string `json:"version"`
		Protocol int    `json:"protocol"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{ourVersion(), ktrdr.Protocol, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	return a.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "ktrdr %s (worker protocol %d, %s, %s)\n", v.Version, v.Protocol, v.Go, v.Platform)
	})
}
