package main

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/neural"
)

// container is what a manifest says of a container of ours. Whether Kubernetes
// knows the rest is tested in deploy/kubernetes.
type container struct {
	Args []string `yaml:"args"`
	Env  []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
}

func (c container) environment() map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	return env
}

// containers are those of the manifests, by the name of what makes their pods.
func containers(t *testing.T) map[string]container {
	t.Helper()
	all := map[string]container{}
	for _, file := range []string{"20-backend.yaml", "30-workers.yaml"} {
		for document := range strings.SplitSeq(deployed(t, "kubernetes/"+file), "\n---\n") {
			var m struct {
				Metadata struct {
					Name string `yaml:"name"`
				} `yaml:"metadata"`
				Spec struct {
					Template struct {
						Spec struct {
							Containers []container `yaml:"containers"`
						} `yaml:"spec"`
					} `yaml:"template"`
				} `yaml:"spec"`
			}
			if err := yaml.Unmarshal([]byte(document), &m); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, c := range m.Spec.Template.Spec.Containers {
				all[m.Metadata.Name] = c
			}
		}
	}
	return all
}

func TestKubernetes_ContainersRunWhatTheProgramUnderstands(t *testing.T) {
	all := containers(t)
	if len(all) != 3 {
		t.Errorf("%d containers, want a backend and two workers", len(all))
	}
	for name, c := range all {
		command := "worker"
		if name == "ktrdr-backend" {
			command = "serve"
		}
		cmd, err := understood(t, c.environment(), c.Args...)
		if err != nil || cmd.Name() != command {
			t.Errorf("%s runs %v: %v, want a command line of %s", name, c.Args, err, command)
		}
		if _, err := (workerFlags{types: cmdTypes(c.Args), slots: 1}).runners(neural.Kernel{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for env := range c.environment() {
			if !knownEnv(env) {
				t.Errorf("%s sets %s, which nothing reads", name, env)
			}
		}
	}
}

// The backend must answer to the names that workers call it by.
func TestKubernetes_TheBackendAnswersToItsNames(t *testing.T) {
	all := containers(t)
	served := all["ktrdr-backend"]
	cfg, err := backend.ReadConfig(nil, "", func(n string) string { return served.environment()[n] })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, c := range all {
		if name == "ktrdr-backend" {
			continue
		}
		u, err := url.Parse(c.environment()["KTRDR_URL"])
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, u.Hostname())
	}
	for _, name := range names {
		if !slices.Contains(cfg.Hosts, name) {
			t.Errorf("it is called %q, and answers to %v", name, cfg.Hosts)
		}
	}
	if len(names) != 2 {
		t.Errorf("it is called by %v", names)
	}
}
