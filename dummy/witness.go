package dummy

import (
	"fmt"
	"os"
	"time"

	"github.com/ktrdr/ktrdr/worker"
)

// WitnessEnv names the environment variable whose file gets a line for every
// step done, "operation epoch step unix-nanoseconds pid": an account of what
// ran that does not pass through the system under test.
const WitnessEnv = "KTRDR_EXEC_LOG"

// witness appends to that file; the zero one writes nowhere.
type witness struct {
	file *os.File
	task *worker.Task
}

func openWitness(t *worker.Task) (witness, error) {
	path := os.Getenv(WitnessEnv)
	if path == "" {
		return witness{}, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the environment names the file, on purpose
	if err != nil {
		return witness{}, fmt.Errorf("%s: %w", WitnessEnv, err)
	}
	return witness{f, t}, nil
}

// step writes one line in one write, so that lines of several processes do not
// mix.
func (w witness) step(n int64) error {
	if w.file == nil {
		return nil
	}
	_, err := fmt.Fprintf(w.file, "%s %d %d %d %d\n", w.task.Operation, w.task.Epoch, n, time.Now().UnixNano(), os.Getpid())
	return err
}

func (w witness) close() {
	if w.file != nil {
		_ = w.file.Close()
	}
}
