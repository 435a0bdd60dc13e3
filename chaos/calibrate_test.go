package chaos_test

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// A calibration whose backend and worker are killed again and again ends with the
// numbers of one that ran undisturbed. The soak kills a larger one ten times.
func TestCalibration_KilledGivesTheSameNumbers(t *testing.T) {
	t.Parallel()
	request, kills := research.CalibrationRequest{Symbol: "EURUSD", Timeframe: "1h", Worlds: 6, Researches: 2, Seed: new(uint64(11))}, 2
	request.Costs = "*=0.1/0/0"
	if os.Getenv("KTRDR_SOAK") == "1" {
		request.Worlds, request.Researches, request.Power, kills = 20, 8, true, 10
	}
	result := func(l *labtest.Lab, id ktrdr.OperationID) (c research.Calibration) {
		if err := json.Unmarshal(copiesEnd(l, id).Result, &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	calm.MarketWith("EURUSD", 4000, 7, 0)
	calm.ServeWith(2)
	want := result(calm, calm.Calibrate(request))

	rough := labtest.New(t, labtest.SQLite, labtest.Calm)
	rough.MarketWith("EURUSD", 4000, 7, 0)
	backend := rough.ServeWith(1)
	outside := rough.WorkerNamed("outside", string(ktrdr.CalibrationPart))
	id := rough.Calibrate(request)
	killed, parts := 0, partsOf(rough, id)
	for ; killed < kills && parts.further(); killed++ {
		backend.Kill()
		outside.Kill()
		backend = rough.ServeWith(1)
		outside = rough.WorkerNamed("outside", string(ktrdr.CalibrationPart))
	}
	if killed < 2 {
		t.Errorf("%d kills before it ended: too few to show anything", killed)
	}
	got := result(rough, id)
	if got.Hash != want.Hash || got.Rate != want.Rate || got.Worlds != request.Worlds || len(got.Sharpes) != len(want.Sharpes) {
		t.Errorf("killed: %+v\nundisturbed: %+v", got, want)
	}
	t.Log(got.Summary)
	if out, code := rough.Command("memory", "trials"); code != 0 || strings.Contains(out, "EURUSD") {
		t.Errorf("copies are in the ledger: %s", out)
	}
}

// TestCalibration_KilledAtEveryStepGivesTheSameNumbers kills the backend with SIGKILL at every durable step of
// the part that searches copies.
func TestCalibration_KilledAtEveryStepGivesTheSameNumbers(t *testing.T) {
	t.Parallel()
	request := research.CalibrationRequest{Symbol: "EURUSD", Timeframe: "1h", Worlds: 2, Researches: 1, Seed: new(uint64(11))}
	hash := func(l *labtest.Lab, id ktrdr.OperationID) ktrdr.Hash {
		var c research.Calibration
		if err := json.Unmarshal(copiesEnd(l, id).Result, &c); err != nil {
			t.Fatal(err)
		}
		return c.Hash
	}
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	calm.MarketWith("EURUSD", 4000, 7, 0)
	undisturbed := calm.ServeWith(2)
	want := hash(calm, calm.Calibrate(request))
	undisturbed.End(syscall.SIGTERM)
	for _, point := range points("worker.") {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			lab := labtest.New(t, labtest.SQLite, labtest.Calm)
			lab.MarketWith("EURUSD", 4000, 7, 0)
			id := lab.Accepted(func() ktrdr.OperationID { return lab.Calibrate(request) })
			lab.Killed(2, string(point))
			lab.ServeWith(2)
			if got := hash(lab, id); got != want {
				t.Errorf("the result hash is %s, undisturbed %s", got, want)
			}
		})
	}
}
