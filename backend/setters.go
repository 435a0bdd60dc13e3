package backend

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/neural"
)

// What one value alone can be wrong about is refused here, where it is known
// who gave it; what depends on several is for Validate.

func setAddr(c *Config, text string) error {
	_, port, err := net.SplitHostPort(text)
	if n, convErr := strconv.Atoi(port); err != nil || convErr != nil || n < 0 || n > 65535 {
		return errors.New("must be HOST:PORT such as 127.0.0.1:8000")
	}
	c.Addr = text
	return nil
}

func setDB(c *Config, text string) error {
	if scheme, _, ok := strings.Cut(text, "://"); ok && scheme != "postgres" && scheme != "postgresql" {
		return errors.New("is no database we know: give a file, or a URL that begins with postgres://")
	}
	c.DB = text
	return nil
}

const maxWorkers = 1024

func setWorkers(c *Config, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxWorkers {
		return fmt.Errorf("must be a whole number from 0 to %d", maxWorkers)
	}
	c.Workers = n
	return nil
}

func setAgents(c *Config, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxWorkers {
		return fmt.Errorf("must be a whole number from 0 to %d", maxWorkers)
	}
	c.Agents = n
	return nil
}

func setWebhook(c *Config, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("must be a URL such as https://example.com/ktrdr")
	}
	c.Webhook = text
	return nil
}

func setKernel(c *Config, text string) error {
	c.Kernel = text
	_, err := KernelNamed(text)
	return err
}

// KernelNamed is the arithmetic of a name; that of none is the fastest.
func KernelNamed(name string) (neural.Kernel, error) {
	if name == "" {
		return neural.Best(), nil
	}
	return neural.KernelByName(name)
}

// kernelNames lists the kernels of this CPU.
func kernelNames() string {
	var names []string
	for _, k := range neural.Kernels() {
		names = append(names, k.Name())
	}
	return strings.Join(names, ", ")
}

func setHosts(c *Config, text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); strings.ContainsAny(name, "/ @*") {
			return errors.New("must be names like lab.example or lab.example:8443, separated by commas")
		}
		if name != "" {
			c.Hosts = append(c.Hosts, name)
		}
	}
	return nil
}

func setBlobs(c *Config, text string) error {
	if strings.Contains(text, "://") {
		if _, err := blob.ParseS3(text); err != nil {
			return err
		}
	}
	c.Blobs = text
	return nil
}

func setThreads(c *Config, text string) error {
	switch text {
	case ThreadsMemory, ThreadsSQLite, threadsPostgres:
		c.Threads.Backend = text
		return nil
	}
	return noSuchValue(text, ThreadsMemory, ThreadsSQLite, threadsPostgres)
}

func setAuth(c *Config, text string) error {
	if text != "token" && text != "none" {
		return noSuchValue(text, "token", "none")
	}
	c.NoAuth = text == "none"
	return nil
}

func setLevel(c *Config, text string) error {
	if c.LogLevel.UnmarshalText([]byte(text)) != nil {
		return noSuchValue(text, "debug", "info", "warn", "error")
	}
	return nil
}

func setLogFormat(c *Config, text string) error {
	if text != "text" && text != "json" {
		return noSuchValue(text, "text", "json")
	}
	c.LogJSON = text == "json"
	return nil
}

func setRestartPolicy(c *Config, text string) error {
	c.Engine.RestartPolicy = engine.RestartPolicy(text)
	return nil
}

func setReserve(c *Config, text string) error {
	mb, err := strconv.ParseInt(text, 10, 64)
	if err != nil || mb < 0 || mb > math.MaxInt64>>20 {
		return errors.New("must be a whole number of megabytes, 0 or more")
	}
	c.Engine.DiskReserve = mb << 20
	if mb == 0 {
		c.Engine.DiskReserve = -1
	}
	return nil
}

// noSuchValue is what a setting says to a word that is not one of its values.
func noSuchValue(word string, names ...string) error {
	return fmt.Errorf("there is no such value; %s", text.Choices(word, names))
}
