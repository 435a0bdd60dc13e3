package compute

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestFollowedFolder_RefusesWhatIsNoPlaceForFiles(t *testing.T) {
	t.Parallel()
	data, outside := t.TempDir(), t.TempDir()
	within := filepath.Join(data, "inbox")
	link, file := filepath.Join(outside, "link"), filepath.Join(outside, "EURUSD_1h.csv")
	for _, err := range []error{os.Mkdir(within, 0o700), os.Symlink(within, link), os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for situation, c := range map[string]struct{ folder, says string }{
		"relative":                   {"prices", "is not absolute"},
		"not there":                  {filepath.Join(outside, "none"), "there is no folder"},
		"a file":                     {file, "is no folder"},
		"the data folder":            {data, "is in the data folder of the lab"},
		"inside the data folder":     {within, "is in the data folder of the lab"},
		"a link to the data folder":  {link, "is in the data folder of the lab"},
		"a way round to data folder": {filepath.Join(outside, "..", filepath.Base(outside), "link"), "is in the data folder of the lab"},
	} {
		if at, err := FollowedFolder(data, c.folder); ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v; want %q", situation, at, err, c.says)
		}
	}
	if _, err := FollowedFolder(data, outside); err != nil {
		t.Error(err)
	}
	if _, err := FollowedFolder(filepath.Join(data, "not", "made", "yet"), outside); err != nil {
		t.Errorf("before there is a lab: %v", err)
	}
}
