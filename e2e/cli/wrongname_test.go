package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// A data folder that is a file is said in one sentence by every command.
func TestUsage_ADataFolderThatIsAFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	name := file(t, "lab", "")
	backup := file(t, "backup", "")
	for _, args := range [][]string{
		{"status"},
		{"ops"},
		{"token", "list"},
		{"data", "list"},
		{"data", "show", "EURUSD", "1h"},
		{"strategies"},
		{"data", "list", "--json"},
		{"status", "--json"},
		{"worker"},
		{"backup", backup + ".new"},
		{"data", "synth", "--symbol", "EURUSD"},
		{"serve"},
	} {
		l.refused(exitUsage, "data folder "+name+": it or a part of its path is a file and no directory; choose another with --data",
			append(args, "--data", name)...)
	}
}

// A name of another kind than the command takes is said to be one, with the command
// that takes it.
func TestUsage_ANameOfAnotherKind(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	l.serve("--workers", "0")
	for _, command := range []string{"backtest", "predict"} {
		l.refused(exitUsage, "rsi_mean_reversion is a strategy, not a model: train it with `ktrdr train rsi_mean_reversion`",
			command, "rsi_mean_reversion")
		l.refused(exitUsage, "no operation begins with", command, "nothing_of_this_name")
	}
	made := decode[research.Triggered](t, l.must("research", "trend", "--force", "--json"))
	for _, run := range []string{made.Run, ktrdr.ShortRun(made.Run)} {
		l.refused(exitUsage, "is a run, not an operation: `ktrdr status "+ktrdr.ShortRun(made.Run)+"` shows it", "results", run)
	}
	l.refused(exitUsage, "no such token", "token", "revoke", "zzz")

	prices := filepath.Join(t.TempDir(), "EURUSD_1h.csv")
	l.must("data", "export", "EURUSD", "1h", "--csv", prices)
	l.refused(exitUsage, prices+" is no strategy file", "train", prices)
	text, err := os.ReadFile(prices)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(prices, text[:bytes.LastIndexByte(text[:len(text)/2], '\n')+1], 0o600); err != nil {
		t.Fatal(err)
	}
	l.refused(exitUsage, "--append", "data", "import", prices)
	l.refused(exitUsage, "--append", "data", "import", prices, "--json")
}
