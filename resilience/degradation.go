package resilience

import (
	"cmp"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Service is one of the things that the system stands on.
type Service struct {
	Name     string
	Weight   float64 // beside the others; 0 means 1
	Critical bool    // nothing works while it is down
	Start    Health  // what it is held to be before its first report; empty means unknown
}

// Thresholds are shares of the full health.
type Thresholds struct {
	Degraded, Minimal float64
}

// DegradationConfig is what a Degradation is made of.
type DegradationConfig struct {
	Services []Service
	Enter    Thresholds          // a level is entered below it; 0.9 and 0.5
	Leave    Thresholds          // and left at or above it; 0.95 and 0.6
	Hold     time.Duration       // for which health must be good enough before a better level; 0 means 30 s, negative none
	Sheds    map[Level][]Feature // what each level switches off, worse levels too; nil means the product's own
	OnChange func(LevelChange)   // told in order, while no lock is held; a panic of its own is logged
	Log      *slog.Logger        // nil discards
}

// LevelChange is one line of the history.
type LevelChange struct {
	From   Level     `json:"from"`
	To     Level     `json:"to"`
	Score  float64   `json:"score"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

const maxHistory = 100

// Degradation sheds what the system can do without while parts of it are ill,
// so that the rest still works. Code that offers a feature asks Allows first.
//
// It needs no goroutine: a better level is taken at the next question or report.
type Degradation struct {
	config DegradationConfig
	first  map[Feature]Level // the best level that sheds it
	news   notices[LevelChange]

	mu      sync.Mutex
	health  map[string]Health
	level   Level
	since   time.Time
	better  time.Time // since when a better level is deserved; zero when it is not
	history []LevelChange
}

// NewDegradation checks the configuration; CodeInvalid says what cannot be
// used. It begins at the level that the services' Start amounts to.
func NewDegradation(c DegradationConfig) (*Degradation, error) {
	c.Enter.Degraded, c.Enter.Minimal = cmp.Or(c.Enter.Degraded, 0.9), cmp.Or(c.Enter.Minimal, 0.5)
	c.Leave.Degraded, c.Leave.Minimal = cmp.Or(c.Leave.Degraded, 0.95), cmp.Or(c.Leave.Minimal, 0.6)
	c.Hold = cmp.Or(c.Hold, 30*time.Second)
	if c.Sheds == nil {
		c.Sheds = defaultSheds
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Services = slices.Clone(c.Services)
	d := &Degradation{
		config: c, first: sheddings(c.Sheds), news: notices[LevelChange]{listen: c.OnChange, log: c.Log},
		health: map[string]Health{}, since: time.Now(),
	}
	if err := d.config.validate(); err != nil {
		return nil, err
	}
	for i := range d.config.Services {
		s := &d.config.Services[i]
		s.Weight = cmp.Or(s.Weight, 1)
		d.health[s.Name] = cmp.Or(s.Start, HealthUnknown)
	}
	d.level = d.target(Full)
	return d, nil
}

func (c DegradationConfig) validate() error {
	bad := func(format string, args ...any) error {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "degradation: "+format, args...)
	}
	if len(c.Services) == 0 {
		return bad("name at least one service")
	}
	seen := map[string]bool{}
	for _, s := range c.Services {
		_, known := cmp.Or(s.Start, HealthUnknown).value()
		switch {
		case s.Name == "" || seen[s.Name]:
			return bad("services need names of their own; %q is empty or there twice", s.Name)
		case !(s.Weight >= 0) || math.IsInf(s.Weight, 1): // NaN is neither
			return bad("service %s cannot weigh %v", s.Name, s.Weight)
		case !known:
			return bad("service %s cannot start %q", s.Name, s.Start)
		}
		seen[s.Name] = true
	}
	e, l := c.Enter, c.Leave
	if !(0 < e.Minimal && e.Minimal <= e.Degraded && e.Minimal <= l.Minimal && e.Degraded <= l.Degraded && l.Degraded <= 1 &&
		l.Minimal <= l.Degraded) {
		return bad("thresholds must lie between 0 and 1, minimal not above degraded, enter not above leave; not enter %v and leave %v", e, l)
	}
	return nil
}

// Report tells how a service is. An unknown service or health is CodeInvalid: else a
// misspelled service would not be watched.
func (d *Degradation) Report(service string, h Health) error {
	if _, known := h.value(); !known {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "service %s cannot be %q: say %s, %s, %s or %s",
			service, h, HealthGood, HealthDegraded, HealthDown, HealthUnknown)
	}
	d.mu.Lock()
	if _, known := d.health[service]; !known {
		d.mu.Unlock()
		return ktrdr.Errorf(ktrdr.CodeInvalid, "there is no service %q to report on; there are %s",
			service, strings.Join(slices.Sorted(maps.Keys(d.health)), ", "))
	}
	d.health[service] = h
	d.settle()
	d.mu.Unlock()
	d.news.deliver()
	return nil
}

// Level is how much service there is now.
func (d *Degradation) Level() Level {
	d.mu.Lock()
	d.settle()
	level := d.level
	d.mu.Unlock()
	d.news.deliver()
	return level
}

// Allows says in a sentence why a feature is switched off; nil when it is not.
// A feature that no level sheds is always allowed.
func (d *Degradation) Allows(f Feature) error {
	level := d.Level()
	shed, ok := d.first[f]
	if !ok || shed.worse(level) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return ktrdr.Errorf(ktrdr.CodeUnavailable, "%s is switched off while the service is %s (%s); it returns by itself", f, level, d.ill())
}

// ill names the services that are not well. Its caller holds mu.
func (d *Degradation) ill() string {
	var ill []string
	for _, s := range d.config.Services {
		if h := d.health[s.Name]; h != HealthGood {
			ill = append(ill, s.Name+" is "+string(h))
		}
	}
	if len(ill) == 0 {
		return "all services have just recovered"
	}
	return strings.Join(ill, ", ")
}

// settle moves to the level that the services amount to: to a worse one at
// once, to a better one when it has been deserved for the whole of Hold. Its
// caller holds mu.
func (d *Degradation) settle() {
	target := d.target(d.level)
	now := time.Now()
	switch {
	case target.worse(d.level):
		d.move(target, now)
	case target == d.level:
		d.better = time.Time{}
	case d.better.IsZero() && d.config.Hold > 0:
		d.better = now
	case now.Sub(d.better) >= d.config.Hold:
		d.move(target, now)
	}
}

func (d *Degradation) move(to Level, now time.Time) {
	change := LevelChange{From: d.level, To: to, Score: d.score(), Reason: d.ill(), At: now.UTC()}
	d.level, d.since, d.better = to, now, time.Time{}
	d.history = append(d.history[max(0, len(d.history)+1-maxHistory):], change)
	d.news.add(change)
}

// target is the level that the services amount to, seen from the present one:
// the thresholds to leave a level are higher than those to enter it.
func (d *Degradation) target(from Level) Level {
	for _, s := range d.config.Services {
		if s.Critical && d.health[s.Name] == HealthDown {
			return Offline
		}
	}
	minimal, degraded := d.config.Enter.Minimal, d.config.Enter.Degraded
	if !Minimal.worse(from) {
		minimal = d.config.Leave.Minimal
	}
	if !Degraded.worse(from) {
		degraded = d.config.Leave.Degraded
	}
	switch score := d.score(); {
	case score < minimal:
		return Minimal
	case score < degraded:
		return Degraded
	}
	return Full
}

// score is the weighted mean of the services' health.
func (d *Degradation) score() float64 {
	var sum, weight float64
	for _, s := range d.config.Services {
		v, _ := d.health[s.Name].value()
		sum += v * s.Weight
		weight += s.Weight
	}
	return sum / weight
}
