package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Guard decides which addresses may be dialled. The decision is made on the address
// itself at the moment of dialling: a name is resolved once, every address of the answer
// is checked, and one of exactly these is dialled. So it does not matter what the name
// resolves to a moment later, nor where a redirect leads.
type Guard struct {
	Allow  []netip.Prefix // networks that are allowed although they are not public: an intranet, a test
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// forbidden are the networks that no public server has.
var forbidden = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

// metadata are the addresses at which clouds give their machines credentials. They are
// refused even inside a network that is allowed.
var metadata = prefixes(
	"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
	"fd00:ec2::/32", "fd20:ce::254/128",
)

// publicV6 is the only part of IPv6 from which public addresses are given out.
var publicV6 = netip.MustParsePrefix("2000::/3")

// Prefixes of IPv6 addresses that hold an IPv4 address, and the byte at which it begins.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
}

func prefixes(all ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(all))
	for i, p := range all {
		list[i] = netip.MustParsePrefix(p)
	}
	return list
}

func within(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Check refuses an address with a sentence that says why.
func (g *Guard) Check(a netip.Addr) error {
	if a.Zone() != "" {
		return g.refused(a, "is an address of the local link")
	}
	inner := a.Unmap()
	for _, e := range embedding {
		if b := inner.As16(); inner.Is6() && e.prefix.Contains(inner) {
			inner = netip.AddrFrom4([4]byte(b[e.at : e.at+4]))
		}
	}
	switch {
	case within(metadata, inner):
		return ktrdr.Errorf(ktrdr.CodeForbidden, "%s is where a cloud gives its machines credentials: it is never read", a)
	case within(g.Allow, a.Unmap()):
		return nil
	case within(forbidden, inner), inner.Is6() && !publicV6.Contains(inner):
		return g.refused(a, "is not a public address")
	}
	return nil
}

func (g *Guard) refused(a netip.Addr, why string) error {
	return ktrdr.Errorf(ktrdr.CodeForbidden,
		"%s %s: prices are fetched from public addresses only; KTRDR_FETCH_NETWORKS allows a network of your own", a, why)
}

// Dial connects to an address that is allowed. An answer of the name server that holds
// one that is not is refused as a whole.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	lookup, dial := g.lookup, g.dial
	if lookup == nil {
		lookup = lookupHost
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: 15 * time.Second}).DialContext
	}
	all, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	for _, a := range all {
		if err := g.Check(a); err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
	}
	var conn net.Conn
	for _, a := range all {
		if conn, err = dial(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func lookupHost(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// ParseNetworks reads a list of networks such as 10.1.0.0/16 or single addresses.
func ParseNetworks(list []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, word := range list {
		p, err := netip.ParsePrefix(word)
		if a, single := netip.ParseAddr(word); err != nil && single == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no network: give one like 10.1.0.0/16 or 127.0.0.1", word)
		}
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 { // addresses are compared as IPv4
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}
