package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/doctor"
)

const doctorHelp = `Check the installation: folder and permissions, free disk, database, blobs, clock,
operations without progress, and whether the server serves this lab. It finds every
problem that would stop "ktrdr serve" from starting. It changes nothing and needs no
running backend. Each ✗ says what to do. The exit code is 1 if there is one.`

func newDoctor(a *app) *cobra.Command {
	var deep bool
	cmd := &cobra.Command{Use: "doctor", Short: "Check the installation and say how to repair it", Long: doctorHelp, Args: noArgs}
	cmd.Flags().BoolVar(&deep, "deep", false, "read every blob to its end")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := a.configOf(cmd)
		if err != nil {
			return err
		}
		server := "the configured address"
		if u, err := a.serverURL(); err == nil {
			server = u.Redacted()
		}
		found := doctor.Examine(cmd.Context(), doctor.Options{
			Config: cfg, Deep: deep, Version: ourVersion(), Server: server, Health: a.askHealth,
		})
		err = a.print(found, func(w io.Writer) { doctor.Print(w, a.palette(), found) })
		return failedIf(err, slices.ContainsFunc(found, func(f doctor.CheckResult) bool { return !f.OK }))
	}
	return cmd
}
