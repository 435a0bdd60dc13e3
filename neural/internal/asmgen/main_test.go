package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIsCommittedIsWhatIsGenerated(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what asmgen writes; run go generate in package neural", name)
		}
	}
}
