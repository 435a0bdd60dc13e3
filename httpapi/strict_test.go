package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
)

func TestStrictJSON_RefusesWhatIsNotPlain(t *testing.T) {
	st := serve(t, &fakeEngine{})
	deep := strings.Repeat(`{"children":[`, 40) + strings.Repeat(`]}`, 40)
	for name, tc := range map[string]struct{ body, want string }{
		"unknown field": {`{"steps":1,"stepz":2}`, `"stepz"`},
		"unknown field inside": {
			`{"children":[{"steps":1},{"setps":1}]}`, `no field "setps" here; did you mean steps? (at children[1], line 1`,
		},
		"name in another case":      {`{"Steps":1}`, `"Steps"`},
		"name twice":                {`{"steps":1,"steps":2}`, "twice"},
		"name twice, escaped":       {`{"steps":1,"st\u0065ps":2}`, "twice"},
		"more after it":             {`{"steps":1} {"steps":2}`, "more after"},
		"garbage after it":          {`{"steps":1}]`, "more after"},
		"too deep":                  {deep, "deeper than 64"},
		"NaN":                       {`{"step_ms":NaN}`, "at start of value"},
		"Infinity":                  {`{"step_ms":Infinity}`, "at start of value"},
		"1e400":                     {`{"step_ms":1e400}`, "too large"},
		"-1e400":                    {`{"step_ms":-1e400}`, "too large"},
		"invalid UTF-8":             {"{\"steps\":1,\"\xff\":2}", "UTF-8"},
		"byte order mark":           {"\xef\xbb\xbf{\"steps\":1}", "byte order mark"},
		"NUL escaped":               {`{"a\u0000b":1}`, "NUL"},
		"NUL as it is":              {"{\"a\x00b\":1}", "control character"},
		"half a surrogate pair":     {`{"\ud800":1}`, "surrogate"},
		"two low surrogates":        {`{"\udc00\udc00":1}`, "surrogate"},
		"newline in a string":       {"{\"a\nb\":1}", "control character"},
		"not an object":             {`[1]`, "must be a JSON object"},
		"null":                      {`null`, "must be a JSON object"},
		"cut off":                   {`{"steps":`, "ends too early"},
		"cut off in a string":       {`{"ste`, "ends too early"},
		"trailing comma":            {`{"steps":1,}`, "at start of value"},
		"trailing comma in a list":  {`{"children":[{},]}`, "at start of value"},
		"comment":                   {`{"steps":1 /* one */}`, "expecting ','"},
		"single quotes":             {`{'steps':1}`, "at start of value"},
		"leading zero":              {`{"steps":01}`, "expecting ','"},
		"plus sign":                 {`{"steps":+1}`, "at start of value"},
		"bad escape":                {`{"\x41":1}`, "escape"},
		"text for a number":         {`{"steps":"1"}`, "steps cannot hold a JSON string"},
		"fraction for a count":      {`{"steps":1.5}`, "steps cannot hold"},
		"count too large for int64": {`{"steps":9223372036854775808}`, "steps cannot hold"},
		"second line":               {"{\"steps\": 1,\n  \"x\": 2}", "line 2, column 3"},
		"nothing":                   {" ", "must be a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			a := st.send(t, http.MethodPost, "/api/v1/dummy/start", tc.body)
			refusedWith(t, name, a, "", http.StatusBadRequest, ktrdr.CodeInvalid)
			if a.parsed.Error != nil && !strings.Contains(a.parsed.Error.Message, tc.want) {
				t.Errorf("message = %q, want it to say %q", a.parsed.Error.Message, tc.want)
			}
		})
	}
	refusedWith(t, "no body", st.send(t, http.MethodPost, "/api/v1/dummy/start", ""), "", http.StatusBadRequest, ktrdr.CodeInvalid)
	refusedWith(t, "refused value", st.send(t, http.MethodPost, "/api/v1/dummy/start", `{"steps":-1}`), "",
		http.StatusUnprocessableEntity, ktrdr.CodeInvalid)
}

// strictJSON only asks whether a body fits a type.
func strictJSON(body []byte, t reflect.Type) error {
	return readJSON(body, reflect.New(t).Interface())
}

func TestStrictJSON_RawPartsAreCheckedButNotNamed(t *testing.T) {
	typ := reflect.TypeFor[ktrdr.NewCheckpoint]()
	for body, ok := range map[string]bool{
		`{"state":{"anything":[1,{"goes":null}]}}`:              true,
		`{"fingerprint":{"any":"name"},"state":"\ud83d\ude00"}`: true,
		`{"state":{"a":1,"a":2}}`:                               false,
		`{"state":{"a":1e999}}`:                                 false,
		`{"state":"\u0000"}`:                                    false,
	} {
		if err := strictJSON([]byte(body), typ); (err == nil) != ok {
			t.Errorf("strictJSON(%s) = %v, want ok = %v", body, err, ok)
		}
	}
}

// FuzzStrictJSON holds the scanner to encoding/json: what passes is valid
// there too and decodes, and what it refuses is invalid there or one of the
// things we refuse on purpose.
func FuzzStrictJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"steps":1,"children":[{"step_ms":0.5e-3}]}`, `{"a":[true,false,null,"\u00e9\ud83d\ude00\n"]}`,
		`{"a":{"a":{"a":-0.0}}}`, `{"a":1,"a":1}`, `{"a":1e400}`, "{\"\xff\":1}", `{"\ud800":1}`, `{"a":"\u0000"}`, `{"a":01}`, ` {"a" : [ ] } `,
	} {
		f.Add([]byte(seed))
	}
	raw := reflect.TypeFor[map[string]json.RawMessage]()
	f.Fuzz(func(t *testing.T, body []byte) {
		valid := json.Valid(body)
		err := strictJSON(body, raw)
		if err == nil && !valid {
			t.Fatalf("%q passed, but is not JSON", body)
		}
		if err == nil {
			var v map[string]any
			if err := json.Unmarshal(body, &v); err != nil {
				t.Fatalf("%q passed, but does not decode: %v", body, err)
			}
			again, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("%q passed, but cannot be written: %v", body, err)
			}
			if err := strictJSON(again, raw); err != nil {
				t.Fatalf("%q passed, but not when written again as %s: %v", body, again, err)
			}
		}
		if err != nil && valid && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) && !onPurpose(err) {
			t.Fatalf("%q is JSON, but refused: %v", body, err)
		}
		var spec dummy.Spec
		if strictJSON(body, reflect.TypeFor[dummy.Spec]()) == nil {
			_ = json.Unmarshal(body, &spec) // must not panic; types may still not fit
		}
	})
}

func onPurpose(err error) bool {
	for _, reason := range []string{"twice", "deeper", "too large", "UTF-8", "NUL", "surrogate", "byte order"} {
		if strings.Contains(err.Error(), reason) {
			return true
		}
	}
	return false
}

func TestReadJSON_KeepsNothingOfTheBody(t *testing.T) {
	body := []byte(`{"operation_id":"op_abc","state":{"a":1},"fingerprint":{"any":"name"}}`)
	var got ktrdr.NewCheckpoint
	if err := readJSON(body, &got); err != nil {
		t.Fatal(err)
	}
	clear(body)
	if got.Operation != "op_abc" || string(got.State) != `{"a":1}` {
		t.Errorf("after the body was used again: %+v", got)
	}
}
