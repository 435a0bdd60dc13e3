package backend

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestConfig_SaysWhereEachSettingComesFrom(t *testing.T) {
	cfg, err := configOf(t, map[string]Given{"workers": {"3", "--workers"}}, map[string]string{
		"KTRDR_WORKERS": "4", "KTRDR_DB": "postgres://lab:hunter2@db.example/lab", "KTRDR_WEBHOOK": "https://hooks.example/T0/hunter2",
		"KTRDR_HOLDOUT": "0.2",
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]ktrdr.EffectiveSetting{}
	for _, s := range cfg.Effective {
		got[s.Key] = s
		if strings.Contains(s.Value, "hunter2") {
			t.Errorf("%s shows a secret: %s", s.Key, s.Value)
		}
	}
	if len(got) != len(Settings()) {
		t.Errorf("%d settings, want %d", len(got), len(Settings()))
	}
	for key, want := range map[string]struct {
		value, from string
		changed     bool
	}{
		"workers": {"3", "--workers", true},
		"db":      {"postgres://…", "KTRDR_DB", true},
		"webhook": {"https://…", "KTRDR_WEBHOOK", true},
		"holdout": {"0.2", "KTRDR_HOLDOUT", false},
		"agents":  {"2", "default", false},
	} {
		if s := got[key]; s.Value != want.value || s.From != want.from || s.Changed != want.changed {
			t.Errorf("%s = %q from %q, changed %v; want %q from %q, %v", key, s.Value, s.From, s.Changed, want.value, want.from, want.changed)
		}
	}
}
