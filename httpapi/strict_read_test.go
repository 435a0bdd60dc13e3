package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// everyKind has a field of each kind that a body may be read into.
type everyKind struct {
	Text    string                     `json:"text"`
	Named   ktrdr.Status               `json:"named"`
	Bytes   []byte                     `json:"bytes"`
	Raw     json.RawMessage            `json:"raw"`
	Raws    map[string]json.RawMessage `json:"raws"`
	Values  map[string]thread.Value    `json:"values"`
	Counts  map[int]int                `json:"counts"`
	List    []everyKind                `json:"list"`
	Texts   []string                   `json:"texts"`
	Pair    [2]int                     `json:"pair"`
	Pointer *string                    `json:"pointer"`
	Inner   *everyKind                 `json:"inner"`
	RawAt   *json.RawMessage           `json:"raw_at"`
	Hash    ktrdr.Hash                 `json:"hash"`
	Time    time.Time                  `json:"time"`
	Number  json.Number                `json:"number"`
	Int     int                        `json:"int"`
	Float   float64                    `json:"float"`
	Bool    bool                       `json:"bool"`
	Quoted  struct {
		N int `json:"n,string"`
	} `json:"quoted"`
	Any any `json:"any"`
	thread.Ref
}

func TestReadJSON_ReadsWhatEncodingJSONReads(t *testing.T) {
	for _, body := range readable {
		sameReading(t, []byte(body))
	}
}

// readable are bodies that fit, and some that do not.
var readable = []string{
	`{}`,
	`{"text":"a\u00e9\n","named":"RUNNING","int":-3,"float":1e3,"bool":true,"number":12.50,"any":{"a":[1,null]}}`,
	`{"bytes":"aGk=","raw": {"a" : 1 } ,"raws":{"a":1,"b":null,"c":" x "},"raw_at":[1]}`,
	`{"bytes":"aG\u006b="}`, `{"bytes":""}`, `{"bytes":null}`, `{"bytes":"a"}`, `{"bytes":[104,105]}`, `{"bytes":"aGk=\u000a"}`,
	`{"values":{"a":{"t":"json","b":"d2hhdA=="},"b":{"t":"x"},"c":{"b":null}}}`, `{"values":{}}`, `{"values":null}`,
	`{"counts":{"1":2}}`, `{"pair":[1,2]}`, `{"pair":[1]}`, `{"texts":[]}`, `{"texts":["a",null,"b"]}`, `{"texts":null}`,
	`{"list":[{"text":"a"},{"list":[{}]},null]}`, `{"inner":{"inner":{"text":"deep"},"pointer":"p"}}`,
	`{"pointer":"x"}`, `{"pointer":null}`, `{"inner":null}`, `{"raw":null}`, `{"raw_at":null}`, `{"text":null,"int":null,"quoted":null}`,
	`{"hash":"0000000000000000000000000000000000000000000000000000000000000001"}`, `{"hash":"short"}`, `{"time":"2026-01-02T03:04:05Z"}`,
	`{"quoted":{"n":"5"}}`, `{"quoted":{"n":5}}`, `{"thread_id":"t","checkpoint_ns":"n"}`,
	`{"text":1}`, `{"text":{}}`, `{"text":[]}`, `{"int":"1"}`, `{"int":1.5}`, `{"list":{}}`, `{"values":[]}`, `{"inner":1}`, `{"number":"no"}`,
	`{"text":true,"thread_id":"read on"}`,
}

// FuzzReadJSON holds the reader to encoding/json: what the text is apart, both
// read the same or neither does.
func FuzzReadJSON(f *testing.F) {
	for _, body := range readable {
		f.Add([]byte(body))
	}
	f.Fuzz(sameReading)
}

func sameReading(t *testing.T, body []byte) {
	var got, want everyKind
	err := readJSON(body, &got)
	if err != nil && !strings.Contains(err.Error(), "does not fit") {
		return // for encoding/json it may do
	}
	wantErr := json.Unmarshal(body, &want)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, want %v", body, err, wantErr)
	}
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		t.Errorf("%s (-encoding/json +ours):\n%s", body, diff)
	}
}

func TestReadJSON_KeepsNothingOfTheBody(t *testing.T) {
	body := []byte(`{"text":"abc","bytes":"aGk=","raw":{"a":1}}`)
	var got everyKind
	if err := readJSON(body, &got); err != nil {
		t.Fatal(err)
	}
	clear(body)
	if got.Text != "abc" || string(got.Bytes) != "hi" || string(got.Raw) != `{"a":1}` {
		t.Errorf("after the body was used again: %+v", got)
	}
}
