package blob

import (
	"errors"
	"net/url"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// S3Config says which bucket, where, and with what right.
type S3Config struct {
	Bucket    string
	Prefix    string // before every key; may be empty
	Endpoint  string // http(s)://host[:port]; empty means Amazon's
	Region    string // empty asks the server
	PathStyle bool   // bucket in the path instead of the host name

	AccessKey    string
	SecretKey    ktrdr.Secret
	SessionToken ktrdr.Secret // of temporary credentials

	MaxSize  int64  // largest blob accepted; 0 means DefaultMaxSize
	SpoolDir string // where an upload waits until its hash is known; empty means the system's own
}

const s3Form = "s3://bucket/prefix?endpoint=http://host:port&region=name&path_style=1"

// ParseS3 reads a location of the form s3Form. It refuses what it does not
// know, and credentials, which have no place in something that is shown.
func ParseS3(location string) (S3Config, error) {
	invalid := func(what string) (S3Config, error) {
		return S3Config{}, ktrdr.Errorf(ktrdr.CodeInvalid, "blob location %s; it has the form %s", what, s3Form)
	}
	u, err := url.Parse(location)
	if err != nil {
		ue, _ := errors.AsType[*url.Error](err)
		return invalid("is no URL: " + ue.Err.Error()) // without the location itself, which may hold a secret
	}
	switch {
	case u.Scheme != "s3":
		return invalid("does not begin with s3://")
	case u.User != nil:
		return invalid("holds credentials; put them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Host == "":
		return invalid("names no bucket")
	case u.Fragment != "":
		return invalid("has a # part")
	}
	c := S3Config{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return invalid("has settings that cannot be read: " + err.Error())
	}
	for key, values := range query {
		if len(values) != 1 {
			return invalid("has the setting " + key + " more than once")
		}
		switch key {
		case "endpoint":
			c.Endpoint = values[0]
		case "region":
			c.Region = values[0]
		case "path_style":
			if c.PathStyle = values[0] == "1"; !c.PathStyle && values[0] != "0" {
				return invalid("has a path_style that is neither 0 nor 1")
			}
		default:
			return invalid("has the unknown setting " + key)
		}
	}
	if _, _, err := c.endpoint(); err != nil {
		return S3Config{}, err
	}
	return c, nil
}

// endpoint returns host and port, and whether to use TLS.
func (c S3Config) endpoint() (host string, secure bool, err error) {
	if c.Endpoint == "" {
		return "s3.amazonaws.com", true, nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, ktrdr.Errorf(ktrdr.CodeInvalid, "blob endpoint is not of the form http://host:port or https://host")
	}
	return u.Host, u.Scheme == "https", nil
}
