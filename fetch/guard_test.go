package fetch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

var errDialled = errors.New("dialled")

// guarded is a client whose names resolve as the test says, and which dials nothing.
func guarded(allow []netip.Prefix, answers map[string][]string) (*Client, *[]string) {
	var dialled []string
	asked := map[string]int{}
	g := &Guard{Allow: allow, lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
		if a, err := netip.ParseAddr(host); err == nil {
			return []netip.Addr{a}, nil
		}
		list := answers[host]
		if len(list) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		words := strings.Fields(list[min(asked[host], len(list)-1)])
		asked[host]++
		var all []netip.Addr
		for _, w := range words {
			all = append(all, netip.MustParseAddr(w))
		}
		return all, nil
	}, dial: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, ktrdr.Errorf(ktrdr.CodeFailed, "%w", errDialled)
	}}
	return newClient(&http.Transport{DialContext: g.Dial}), &dialled
}

func TestGuard_RefusesWhatIsNotPublic(t *testing.T) {
	refused := map[string]string{
		"loopback": "127.0.0.1", "loopback elsewhere": "127.8.9.10", "loopback v6": "::1", "unspecified": "0.0.0.0", "this network": "0.1.2.3",
		"unspecified v6": "::", "private 10": "10.1.2.3", "private 172": "172.16.0.1", "private 172 end": "172.31.255.255",
		"private 192": "192.168.1.1", "carrier NAT": "100.64.1.1", "link-local": "169.254.1.1", "metadata": "169.254.169.254",
		"metadata of containers": "169.254.170.2", "metadata of Alibaba": "100.100.100.200", "metadata of Azure": "168.63.129.16",
		"metadata of Oracle": "192.0.0.192", "metadata v6": "fd00:ec2::254", "link-local v6": "fe80::1", "link-local with zone": "fe80::1%eth0",
		"site-local v6": "fec0::1", "unique local v6": "fd12:3456::1", "multicast": "224.0.0.1", "multicast v6": "ff02::1",
		"broadcast": "255.255.255.255", "reserved": "240.0.0.1", "benchmark": "198.18.0.1", "documentation": "192.0.2.1",
		"documentation v6": "2001:db8::1", "mapped loopback": "::ffff:127.0.0.1", "mapped private": "::ffff:10.0.0.1",
		"mapped metadata": "::ffff:169.254.169.254", "compatible loopback": "::127.0.0.1", "NAT64 loopback": "64:ff9b::7f00:1",
		"NAT64 metadata": "64:ff9b::a9fe:a9fe", "NAT64 private": "64:ff9b::a00:1", "local NAT64": "64:ff9b:1::a00:1",
		"6to4 of loopback": "2002:7f00:1::", "6to4 of metadata": "2002:a9fe:a9fe::1", "6to4 of private": "2002:c0a8:101::1",
		"Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2", "discard": "100::1", "ORCHID": "2001:20::1",
	}
	for name, address := range refused {
		t.Run(name, func(t *testing.T) {
			c, dialled := guarded(nil, map[string][]string{"prices.example": {address}})
			hosts := []string{"prices.example"}
			if !strings.Contains(address, "%") {
				hosts = append(hosts, strings.Join([]string{"[", address, "]"}, ""))
			}
			if netip.MustParseAddr(address).Is4() {
				hosts[len(hosts)-1] = address
			}
			for _, host := range hosts {
				_, err := c.get(t.Context(), ask{url: "https://" + host + "/x", what: "test"})
				if ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
					t.Errorf("%s: %v, want it forbidden", host, err)
				}
			}
			if len(*dialled) > 0 {
				t.Errorf("dialled %v", *dialled)
			}
		})
	}
}

func TestGuard_DialsTheAddressThatItChecked(t *testing.T) {
	for name, c := range map[string]struct {
		allow   string
		answers []string
		want    string // dialled; "": refused
	}{
		"public":                            {"", []string{"93.184.216.34"}, "93.184.216.34:443"},
		"public v6":                         {"", []string{"2606:2800:220:1::1"}, "[2606:2800:220:1::1]:443"},
		"6to4 of a public address":          {"", []string{"2002:5db8:d822::1"}, "[2002:5db8:d822::1]:443"},
		"NAT64 of a public address":         {"", []string{"64:ff9b::5db8:d822"}, "[64:ff9b::5db8:d822]:443"},
		"mapped public":                     {"", []string{"::ffff:93.184.216.34"}, "93.184.216.34:443"},
		"one of several is private":         {"", []string{"93.184.216.34 10.0.0.1"}, ""},
		"changes its answer to private":     {"", []string{"93.184.216.34", "127.0.0.1"}, "93.184.216.34:443"},
		"an allowed network":                {"10.1.0.0/16", []string{"10.1.2.3"}, "10.1.2.3:443"},
		"beside an allowed network":         {"10.1.0.0/16", []string{"10.2.2.3"}, ""},
		"metadata in an allowed network":    {"169.254.0.0/16", []string{"169.254.169.254"}, ""},
		"mapped address of allowed network": {"127.0.0.1", []string{"::ffff:127.0.0.1"}, "127.0.0.1:443"},
	} {
		t.Run(name, func(t *testing.T) {
			allow, err := ParseNetworks(strings.Fields(c.allow))
			if err != nil {
				t.Fatal(err)
			}
			client, dialled := guarded(allow, map[string][]string{"prices.example": c.answers})
			_, err = client.get(t.Context(), ask{url: "https://prices.example/x", what: "test"})
			switch got := strings.Join(*dialled, " "); {
			case c.want != got:
				t.Errorf("dialled %q, want %q: %v", got, c.want, err)
			case c.want == "" && ktrdr.CodeOf(err) != ktrdr.CodeForbidden, c.want != "" && !errors.Is(err, errDialled):
				t.Errorf("%v", err)
			}
		})
	}
}

// A name that resolves to a public address and then to a private one is refused at the second connection.
func TestGuard_ChecksEveryConnection(t *testing.T) {
	client, dialled := guarded(nil, map[string][]string{"prices.example": {"93.184.216.34", "10.0.0.1"}})
	for range 2 {
		_, err := client.get(t.Context(), ask{url: "https://prices.example/x", what: "test"})
		if len(*dialled) != 1 {
			t.Fatalf("dialled %v", *dialled)
		}
		if errors.Is(err, errDialled) {
			continue
		}
		if ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
			t.Errorf("the second connection: %v, want it forbidden", err)
		}
	}
}

func TestClient_RefusesOtherSchemes(t *testing.T) {
	for _, address := range []string{
		"http://93.184.216.34/x", "file:///etc/passwd", "ftp://93.184.216.34/x", "gopher://93.184.216.34/x", "HTTP://example.com/",
		"//example.com/x", "/x",
	} {
		client, dialled := guarded(nil, nil)
		_, err := client.get(t.Context(), ask{url: address, what: "test"})
		if ktrdr.CodeOf(err) != ktrdr.CodeForbidden || len(*dialled) > 0 {
			t.Errorf("%s: %v, dialled %v; want it forbidden", address, err, *dialled)
		}
	}
}

func TestClient_ChecksWhereARedirectLeads(t *testing.T) {
	for to, want := range map[string]string{
		"http://127.0.0.1/x":                       "by https only",
		"https://10.0.0.1/x":                       "10.0.0.1 is not a public address",
		"https://169.254.169.254/latest/meta-data": "credentials",
		"https://[::ffff:192.168.0.1]/":            "not a public address",
		"file:///etc/passwd":                       "by https only",
		"again":                                    "redirects more than 5 times",
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to, http.StatusFound)
		}))
		allow, _ := ParseNetworks([]string{"127.0.0.1"})
		c := NewClient(allow)
		via := c.http.Transport.(*http.Transport)
		via.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		_, err := c.get(t.Context(), ask{url: server.URL + "/start?key=hidden", what: "test"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("redirect to %s: %v, want %q and no key", to, err, want)
		}
		c.Close()
		server.Close()
	}
}

// A network may be written as one of mapped addresses.
func TestParseNetworks_ReadsMappedAddresses(t *testing.T) {
	for _, word := range []string{"::ffff:10.1.0.0/112", "::ffff:10.1.2.3"} {
		allow, err := ParseNetworks([]string{word})
		if err != nil {
			t.Fatal(err)
		}
		g := Guard{Allow: allow}
		for _, a := range []string{"10.1.2.3", "::ffff:10.1.2.3"} {
			if err := g.Check(netip.MustParseAddr(a)); err != nil {
				t.Errorf("%s: %v", word, err)
			}
		}
	}
}
