package fetch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/fetch/fetchtest"
)

// A server that says the key that it was asked with gets it into no error.
func TestFetch_KeepsTheKeyThatAServerRepeats(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"in a refusal": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the API key hidden is not valid", http.StatusForbidden)
		},
		"in JSON with status 200": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"Information": "We have detected your API key as hidden and our limit is 25 requests a day"}`)
		},
		"as text": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "API key hidden,is,not,valid\nhidden,hidden,hidden,1\n")
		},
		"in a redirect that cannot be read": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://x.example/%zz?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		},
		"in a redirect to another scheme": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.Query().Get("key")+"://x.example/")
			w.WriteHeader(http.StatusFound)
		},
		"in a redirect to a host": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://"+r.URL.Query().Get("key")+".example:x/")
			w.WriteHeader(http.StatusFound)
		},
		"in its encoding": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", r.URL.Query().Get("key"))
		},
		"in a table": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "time,open,high,low,close\n2025-01-02 10:00,1,2,1,hidden")
		},
	} {
		t.Run(name, func(t *testing.T) {
			at(t, &fetchtest.Server{Before: func(w http.ResponseWriter, r *http.Request, _ int) bool {
				answer(w, r)
				return true
			}}, func(t *testing.T, f *Fetcher) {
				_, notes, err := fetched(t, f, ask1h("mine", "EURUSD"))
				if err == nil || strings.Contains(err.Error()+notes, "hidden") {
					t.Errorf("%v %s, want an error without the key", err, notes)
				}
			})
		})
	}
}

// A server to which another redirects is not told the address with the key.
func TestClient_TellsNoKeyToWhereARedirectLeads(t *testing.T) {
	var told string
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told = fmt.Sprint(r.Header, r.URL) }))
	defer other.Close()
	first := httptest.NewTLSServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer first.Close()
	allow, _ := ParseNetworks([]string{"127.0.0.1"})
	c := NewClient(allow)
	defer c.Close()
	c.http.Transport.(*http.Transport).TLSClientConfig = other.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	if _, err := c.get(t.Context(), ask{url: first.URL + "/x?key=hidden", what: "test"}); err != nil || told == "" {
		t.Fatalf("%v, told %q", err, told)
	}
	if strings.Contains(told, "hidden") {
		t.Errorf("the other server was told %s", told)
	}
}

func TestSources_FindAKeyHoweverItIsWritten(t *testing.T) {
	f, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"a=1;apikey=hidden", "apikey=%zz", "a=%zz&token=hidden", "API-KEY=x", "pwd=x", "sig=x", "jwt=x", "access=x", "api%6bey=x",
	} {
		r := ask1h("url:https://x.example/{symbol}?"+query, "EURUSD")
		if _, err := f.Pieces(r); err == nil || !strings.Contains(err.Error(), "KTRDR_FETCH_SOURCES") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", query, err)
		}
	}
}
