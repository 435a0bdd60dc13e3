package fetch

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

var keyName = regexp.MustCompile(`(?i)(key|token|secret|passw|pwd|auth|^sig$|sign|credential|jwt|access)`)

// keyLength is from which length on a written-out part of an address is taken for a key, whatever its name.
const keyLength = 16

// query is the parameters of an address, also those that url.Values leaves out because they are not well formed.
func query(u *url.URL, each func(name, value string)) {
	for part := range strings.FieldsFuncSeq(u.RawQuery, func(c rune) bool { return c == '&' || c == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		each(name, value)
	}
}

// secretsOf are the parts of an address that no person may see, the longest first: passwords, keys and
// what is as long as a key.
func secretsOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var all []string
	add := func(part string, sure bool) {
		if len(part) < 4 || braces.MatchString(part) || !sure && len(part) < keyLength {
			return // "1" is no secret, and would be taken out of every number
		}
		all = append(all, part)
		if plain, err := url.QueryUnescape(part); err == nil {
			all = append(all, plain, url.QueryEscape(plain))
		}
		if plain, err := url.PathUnescape(part); err == nil {
			all = append(all, plain)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		add(password, true)
		add(u.User.Username(), password == "")
		all = append(all, base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	query(u, func(name, value string) { add(value, keyName.MatchString(name)) })
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		add(part, false)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

// hide takes the secrets of the source out of a text: servers repeat the key that they were asked with.
func (s *source) hide(said string) string {
	for _, secret := range s.secrets {
		said = strings.ReplaceAll(said, secret, ktrdr.Secret(secret).String())
	}
	return said
}

// hidden is an error without the secrets of the source.
func (s *source) hidden(err error) error {
	if err == nil {
		return nil
	}
	if said := err.Error(); s.hide(said) != said {
		return ktrdr.Errorf(ktrdr.CodeOf(err), "%s", s.hide(said))
	}
	return err
}
