package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/neural"
)

// deployed is a file of deploy/.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// understood parses a command line as the program would, and says what is wrong
// with it and with the environment it runs in.
func understood(t *testing.T, env map[string]string, args ...string) (*cobra.Command, error) {
	t.Helper()
	a := &app{out: io.Discard, err: io.Discard, getenv: func(name string) string { return env[name] }}
	cmd, rest, err := newRoot(a).Find(args)
	if err != nil {
		return nil, err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return cmd, err
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return cmd, err
	}
	if cmd.Name() == "serve" {
		_, err = a.serveConfig(cmd, "")
	}
	return cmd, err
}

// unit reads a unit file: the values of each key, by section.
func unit(t *testing.T, text string) map[string][]string {
	t.Helper()
	values := map[string][]string{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			name = strings.Trim(line, "[]")
		case !ok:
			t.Errorf("%q is no line of a unit", line)
		default:
			values[name+"."+key] = append(values[name+"."+key], value)
		}
	}
	return values
}

func TestUnits_StartWhatTheProgramUnderstands(t *testing.T) {
	for file, command := range map[string]string{"ktrdr.service": "serve", "ktrdr-worker.service": "worker"} {
		t.Run(file, func(t *testing.T) {
			u := unit(t, deployed(t, file))
			line := strings.Fields(u["Service.ExecStart"][0])
			if cmd, err := understood(t, nil, line[1:]...); err != nil || cmd.Name() != command {
				t.Errorf("ExecStart %v: %v, want a command line of %s", line, err, command)
			}
			state := u["Service.StateDirectory"][0]
			if i := slices.Index(line, "--data"); i < 0 || line[i+1] != "%S/"+state {
				t.Errorf("ExecStart %v: what it writes must be below %%S/%s, which is all that it may write to", line, state)
			}
			if types := cmdTypes(line); types != nil {
				if _, err := (workerFlags{types: types, slots: 1}).runners(neural.Kernel{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// cmdTypes are the types that a worker's command line names.
func cmdTypes(line []string) []string {
	if i := slices.Index(line, "--types"); i >= 0 {
		return strings.Split(line[i+1], ",")
	}
	return nil
}

// A supervisor must not take an asked-for end for a crash, must not restart what
// no restart mends, and must forget restarts after a healthy while.
func TestUnits_RestartCrashesAndNothingElse(t *testing.T) {
	for _, file := range []string{"ktrdr.service", "ktrdr-worker.service"} {
		t.Run(file, func(t *testing.T) {
			u := unit(t, deployed(t, file))
			for key, want := range map[string]string{
				"Service.Restart": "on-failure", "Service.RestartPreventExitStatus": "2", "Service.KillMode": "mixed",
				"Service.DynamicUser": "yes", "Service.ProtectSystem": "strict", "Service.NoNewPrivileges": "yes",
				"Install.WantedBy": "multi-user.target",
			} {
				if got := u[key]; !slices.Equal(got, []string{want}) {
					t.Errorf("%s=%v, want %s", key, got, want)
				}
			}
			stop, err := time.ParseDuration(u["Service.TimeoutStopSec"][0])
			if err != nil || stop <= 25*time.Second {
				t.Errorf("TimeoutStopSec=%v (%v): a graceful stop may take 25 s", stop, err)
			}
			if u["Unit.StartLimitIntervalSec"] == nil || u["Unit.StartLimitBurst"] == nil {
				t.Error("no start limit: the system's own gives up after five crashes in ten seconds")
			}
			if got := u["Service.Environment"]; !slices.Equal(got, []string{"GOTRACEBACK=crash"}) ||
				!slices.Equal(u["Service.LimitCORE"], []string{"0"}) {
				t.Errorf("Environment=%v: a panic must be told from wrong settings and leave no core file; secrets belong into the EnvironmentFile, "+
					"which root alone reads", got)
			}
		})
	}
}

// service is what a compose file says of one of its services.
type service struct {
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Restart     string            `yaml:"restart"`
	Grace       string            `yaml:"stop_grace_period"`
	Volumes     []string          `yaml:"volumes"`
	Ports       []string          `yaml:"ports"`
	Health      struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

// variable is how a compose file takes a value from its .env.
var variable = regexp.MustCompile(`\$\{[A-Z_]+(?::-([^}]*)|:\?[^}]*)?\}`)

func composed(t *testing.T) map[string]service {
	t.Helper()
	var file struct {
		Services map[string]service `yaml:"services"`
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, s := range file.Services {
		for name, value := range s.Environment {
			s.Environment[name] = variable.ReplaceAllString(value, "$1")
		}
	}
	return file.Services
}

func TestCompose_ServicesRunWhatTheProgramUnderstands(t *testing.T) {
	services := composed(t)
	for name, command := range map[string]string{"backend": "serve", "training-worker": "worker", "backtest-worker": "worker"} {
		s, ok := services[name]
		if !ok {
			t.Errorf("there is no service %s", name)
			continue
		}
		cmd, err := understood(t, s.Environment, s.Command...)
		if err != nil || cmd.Name() != command {
			t.Errorf("%s runs %v: %v, want a command line of %s", name, s.Command, err, command)
		}
		if _, err := (workerFlags{types: cmdTypes(s.Command), slots: 1}).runners(neural.Kernel{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if grace, err := time.ParseDuration(s.Grace); s.Restart != "unless-stopped" || err != nil || grace <= 25*time.Second {
			t.Errorf("%s: restart %q, grace %q: it must come back with the machine, and have 25 s to stop", name, s.Restart, s.Grace)
		}
		for env := range s.Environment {
			if !knownEnv(env) {
				t.Errorf("%s sets %s, which nothing reads", name, env)
			}
		}
	}
	if _, ok := services["postgres"]; !ok || len(services) != 4 {
		t.Errorf("%d services, want postgres and three of ours", len(services))
	}
}

// knownEnv says whether the program reads a variable: PGPASSWORD is read by the
// database's driver.
func knownEnv(name string) bool {
	return slices.ContainsFunc(backend.Settings(), func(s backend.Setting) bool { return s.Env == name }) ||
		slices.Contains([]string{"KTRDR_URL", "KTRDR_TOKEN", "KTRDR_CA", "PGPASSWORD"}, name)
}

func TestCompose_ShowsNothingToTheNetworkAndKeepsItsData(t *testing.T) {
	volumes := map[string]string{}
	for name, s := range composed(t) {
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s beyond this machine", name, port)
			}
		}
		for _, v := range s.Volumes {
			if other, taken := volumes[v]; taken {
				t.Errorf("%s and %s share %s", name, other, v)
			}
			volumes[v] = name
		}
		if len(s.Volumes) == 0 {
			t.Errorf("%s keeps nothing over a restart", name)
		}
	}
	service := composed(t)["backend"]
	if health := strings.Join(service.Health.Test, " "); !strings.Contains(health, "/api/v1/health") {
		t.Errorf("the backend's health is asked by %q", health)
	}
	if cfg, err := backend.ReadConfig(nil, "", func(n string) string { return service.Environment[n] }); err != nil ||
		!slices.Contains(cfg.Hosts, "backend") {
		t.Errorf("workers call it backend, which it does not answer to: %v %v", cfg.Hosts, err)
	}
}

// Restarts are counted over a time that passes, so that a healthy while forgets
// them; and they come so seldom that the count can be reached at all.
func TestUnits_CrashesAreCountedAndForgotten(t *testing.T) {
	for _, file := range []string{"ktrdr.service", "ktrdr-worker.service"} {
		u := unit(t, deployed(t, file))
		one := func(key string) string {
			if len(u[key]) != 1 {
				t.Fatalf("%s: %s=%v", file, key, u[key])
			}
			return u[key][0]
		}
		span, err1 := time.ParseDuration(one("Unit.StartLimitIntervalSec"))
		pause, err2 := time.ParseDuration(one("Service.RestartSec"))
		most, err3 := strconv.Atoi(one("Unit.StartLimitBurst"))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if tried := time.Duration(most) * pause; span <= 0 || tried < 10*time.Minute || 2*tried > span {
			t.Errorf("%s: %d restarts every %v within %v: want some minutes of trying, and half of the time at most", file, most, pause, span)
		}
	}
}
