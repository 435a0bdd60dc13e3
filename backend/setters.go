package backend

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
)

// What one value alone can be wrong about is refused here, where it is known
// who gave it; what depends on several is for Validate.

func (c *Config) setAddr(text string) error {
	_, port, err := net.SplitHostPort(text)
	if n, convErr := strconv.Atoi(port); err != nil || convErr != nil || n < 0 || n > 65535 {
		return errors.New("must be HOST:PORT such as 127.0.0.1:8000")
	}
	c.Addr = text
	return nil
}

func (c *Config) setDB(text string) error {
	if scheme, _, ok := strings.Cut(text, "://"); ok && scheme != "postgres" && scheme != "postgresql" {
		return errors.New("is no database we know: give a file, or a URL that begins with postgres://")
	}
	c.DB = text
	return nil
}

const maxWorkers = 1024

func (c *Config) setWebhook(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("must be a URL such as https://example.com/ktrdr")
	}
	c.Webhook = text
	return nil
}

func (c *Config) setKernel(text string) error {
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

func kernelNames() string { return text.Join(text.Map(neural.Kernels(), neural.Kernel.Name)) }

func (c *Config) setHosts(text string) error {
	c.Hosts = list(text)
	if slices.ContainsFunc(c.Hosts, func(name string) bool { return strings.ContainsAny(name, "/ @*") }) {
		return errors.New("must be names like lab.example or lab.example:8443, separated by commas")
	}
	return nil
}

func (c *Config) setFetchNetworks(text string) error {
	c.Fetch.Networks = list(text)
	_, err := fetch.ParseNetworks(c.Fetch.Networks)
	return err
}

func (c *Config) setFetchSources(text string) error {
	c.Fetch.Sources = map[string]ktrdr.Secret{}
	for item := range strings.FieldsSeq(text) { // an address may hold a comma
		name, address, ok := strings.Cut(item, "=")
		if !ok {
			return errors.New("must be NAME=ADDRESS, several separated by spaces")
		}
		c.Fetch.Sources[name] = ktrdr.Secret(address)
	}
	_, err := Fetch{Sources: c.Fetch.Sources}.Open()
	return err
}

func (c *Config) setBlobs(text string) error {
	if strings.Contains(text, "://") {
		if _, err := blob.ParseS3(text); err != nil {
			return err
		}
	}
	c.Blobs = text
	return nil
}

// setOneOf sets what a word that is one of the names means.
func setOneOf(set func(word string), names ...string) func(string) error {
	return func(text string) error {
		if !slices.Contains(names, text) {
			return noSuchValue(text, names...)
		}
		set(text)
		return nil
	}
}

func (c *Config) setLevel(text string) error {
	if c.LogLevel.UnmarshalText([]byte(text)) != nil {
		return noSuchValue(text, "debug", "info", "warn", "error")
	}
	return nil
}

func (c *Config) setReserve(text string) error {
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

func (c *Config) setHoldout(text string) error {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= research.MinHoldout && share <= research.MaxHoldout) { // so that NaN is refused too
		return fmt.Errorf("must be a share of the bars, from %v to %v", research.MinHoldout, research.MaxHoldout)
	}
	c.Holdout = share
	return nil
}

func (c *Config) setMaxConnections(text string) error {
	n, err := strconv.Atoi(text)
	if most := ConnectionLimit(); err == nil && n > most {
		return fmt.Errorf("needs %d open files and this process may have %d: raise that limit (ulimit -n, LimitNOFILE= of a unit), "+
			"or choose at most %d", 2*n, 2*most, most)
	}
	if err != nil || n < leastConnections {
		return fmt.Errorf("must be a whole number of at least %d", leastConnections)
	}
	c.MaxConnections = n
	return nil
}
