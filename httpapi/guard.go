package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
)

// guard decides whether a request may reach its handler. It stands before the
// mux, so that what is not allowed is refused, not what is not forbidden: a
// path that does not exist asks for a token too.
func (s *Server) guard(c *call) error {
	if !c.inside {
		if err := s.checkHost(c.Request); err != nil {
			return err
		}
		if err := checkOrigin(c.Request); err != nil {
			return err
		}
	}
	query, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return malformed("the URL's query cannot be read")
	}
	c.query = query
	if query.Has("token") || query.Has("access_token") {
		return ktrdr.Errorf(ktrdr.CodeUnauthorized,
			"a token does not belong into a URL, where logs and histories keep it; send the header Authorization: Bearer …")
	}
	if c.spec.Public {
		return nil
	}
	if c.inside {
		c.token, _ = api.Caller(c.Context())
	} else if c.token, err = s.authenticate(c.Request); err != nil {
		return err
	}
	if !c.spec.Admits(c.token.Scope) {
		return ktrdr.Errorf(ktrdr.CodeForbidden, "a token of scope %s may not do this; use one of scope %s", c.token.Scope,
			text.List(scopeNames(c.spec), "or"))
	}
	return c.admitAssistant()
}

// scopeNames are the scopes that may call a route.
func scopeNames(sp *api.Spec) []string {
	names := text.Strings(append([]ktrdr.Scope{ktrdr.ScopeAdmin}, sp.Scopes...))
	if sp.AdmitsAssistants() {
		names = append(names, string(ktrdr.ScopeAssistant))
	}
	return names
}

// setSecurityHeaders keeps answers out of caches, frames and other sites'
// hands, and browsers from guessing what they are.
func setSecurityHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
}

// checkHost refuses names that are not ours. A page of another site can make a
// browser call us under that site's name (DNS rebinding); its Host gives it
// away on every method, also where no Origin is sent.
func (s *Server) checkHost(r *http.Request) error {
	if s.knownHost(strings.ToLower(r.Host), localAddr(r), r.TLS != nil) {
		return nil
	}
	return refuse(http.StatusMisdirectedRequest, ktrdr.CodeForbidden,
		"this server does not answer to the Host %.100q; if it should, add the name to KTRDR_HOSTS", r.Host)
}

// knownHost compares text with text. Nothing is resolved or normalised, so
// that two spellings of one address are two hosts and only ours is known.
func (s *Server) knownHost(host string, local netip.AddrPort, tls bool) bool {
	if host == "" {
		return false
	}
	if s.hosts[host] {
		return true
	}
	if !local.IsValid() {
		return false
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil { // no port: the scheme's own
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "80"
		if tls {
			port = "443"
		}
	}
	if port != strconv.Itoa(int(local.Port())) {
		return false
	}
	switch name {
	case "localhost", "127.0.0.1", "::1", local.Addr().String():
		return true
	}
	return s.hosts[name]
}

// localAddr is the address the connection came in on.
func localAddr(r *http.Request) netip.AddrPort {
	tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// checkOrigin refuses what a page of another site asks for, with any method:
// http.CrossOriginProtection lets GET pass, but a stream of events is a GET.
func checkOrigin(r *http.Request) error {
	foreign := refuse(http.StatusForbidden, ktrdr.CodeForbidden, "requests from pages of other sites are not answered")
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return foreign
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		o, err := url.Parse(origin)
		if err != nil || o.Scheme != "http" && o.Scheme != "https" || o.User != nil || !strings.EqualFold(o.Host, r.Host) {
			return foreign
		}
	}
	return nil
}
