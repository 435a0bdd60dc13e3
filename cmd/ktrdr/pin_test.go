package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pinned runs deploy/pin.sh in a folder of its own, with a docker that answers as
// the script says.
func pinned(t *testing.T, dir, docker string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\n"+docker+"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, "pin.sh"))
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	said, err := cmd.CombinedOutput()
	return string(said), err
}

func TestPin_WritesTheDigestOfEveryImageOfOthers(t *testing.T) {
	dir := t.TempDir()
	files := []string{"Dockerfile", "compose.yaml"}
	for _, name := range append(files, "pin.sh") {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(deployed(t, name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (all string) {
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all += string(text)
		}
		return all
	}
	before := read()
	for what, docker := range map[string]string{"no registry": "exit 1", "another answer": "echo not a digest"} {
		if said, err := pinned(t, dir, docker); err == nil || read() != before {
			t.Errorf("with %s: %v, %s; the files changed: %v", what, err, said, read() != before)
		}
	}
	image := regexp.MustCompile(`(?m)^(?:FROM|\s+image:) (\S+)`)
	for _, digit := range []string{"a", "b"} { // the second time digests are renewed
		digest := "sha256:" + strings.Repeat(digit, 64)
		if said, err := pinned(t, dir, "echo "+digest); err != nil {
			t.Fatal(err, said)
		}
		var others int
		for _, m := range image.FindAllStringSubmatch(read(), -1) {
			if m[1] != "ktrdr" { // ours
				others++
				if !strings.HasSuffix(m[1], "@"+digest) || strings.Count(m[1], "@") != 1 {
					t.Errorf("%s is not pinned by %s", m[1], digest)
				}
			}
		}
		if others != 3 {
			t.Errorf("%d images of others, want golang, alpine and postgres", others)
		}
	}
	digests := regexp.MustCompile(`@sha256:\w+`)
	if rest := digests.ReplaceAllString(read(), ""); rest != digests.ReplaceAllString(before, "") {
		t.Errorf("more than digests changed: %.2000s", rest)
	}
}
