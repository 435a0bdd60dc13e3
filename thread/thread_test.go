package thread

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktrdr/ktrdr"
)

func TestCanonical_EqualValuesHaveOneText(t *testing.T) {
	for want, texts := range map[string][]string{
		`1`:                              {"1", "1.0", "10e-1", "0.1E+1", "1.000e0", "100e-2"},
		`1e3`:                            {"1000", "1e3", "1.0E3", "1000.000"},
		`-25e-1`:                         {"-2.5", "-25e-1", "-2.50"},
		`0`:                              {"0", "-0", "0.0", "0e99", "-0.00e-7"},
		`123456789012345678901234567891`: {"123456789012345678901234567891", "123456789012345678901234567891.0"},
		`123456789012345678901234567892`: {"123456789012345678901234567892"},
		`1e9223372036854775808`:          {"1e9223372036854775808"},
		`"é"`:                            {`"é"`, `"\u00e9"`, ` "\u00E9"`},
		`{"a":[1,{}],"b":null}`:          {`{"b":null,"a":[1.0,{}]}`, "{ \"a\" : [ 1 ,{ }],\n\"b\":null }", `{"b":7,"b":null,"a":[1,{}]}`},
	} {
		for _, text := range texts {
			if got, err := Canonical(json.RawMessage(text)); err != nil || got != want {
				t.Errorf("Canonical(%s) = %s, %v; want %s", text, got, err, want)
			}
		}
	}
}

// A name that no address holds, such as "..", is one all the same: the body of a
// request names threads, and prune deletes them.
func TestCheckThread_TakesAnyNameOfABoundedLength(t *testing.T) {
	for thread, fine := range map[string]bool{
		".": true, "..": true, "": false, "...": true, ".a": true, strings.Repeat("t", 256): true, strings.Repeat("t", 257): false,
	} {
		if err := CheckThread("", thread); (err == nil) != fine || err != nil && ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("CheckThread(%.20q) = %v, want fine: %v", thread, err, fine)
		}
	}
}

// Whether the one who holds the lease has written is not known here.
func TestCheckLease_NamesTheHolder(t *testing.T) {
	err := CheckLease("t", &LeaseToken{Token: 3}, Lease{Token: 4, Holder: "bob"})
	if want := `thread "t" has no live lease 3: its lease is 4, of "bob", so stop writing`; ktrdr.CodeOf(err) != ktrdr.CodeStaleEpoch ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestCanonical_RefusesWhatIsNotOneValue(t *testing.T) {
	for _, text := range []string{"", " ", "1 2", "{", "[1,]", "nul", "\"\xff\"", "01", "NaN"} {
		if got, err := Canonical(json.RawMessage(text)); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("Canonical(%q) = %s, %v; want code invalid", text, got, err)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`1.50e-3`, `{"b":[1,2.0],"a":"x"}`, `-0`, `1e99999999999999999999`, `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := Canonical(text)
		if err != nil {
			return
		}
		if twice, err := Canonical(json.RawMessage(once)); err != nil || twice != once {
			t.Errorf("Canonical(%s) = %s, %v; want itself", once, twice, err)
		}
	})
}

// What members finds is what encoding/json finds, and so is what it refuses.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[{"c":"}]"},2], "a" : "twice" }`, ` { } `, `{"a\u0062\\":"\"","":-1.5e3}`, `{"a":true,"b":null}`, "{\"a\"\t:\n{}\r}",
		`null`, ` null `, `[]`, `"x"`, `7`, ``, `{`, `{"a"}`, `{"a":1}}`, `{"a":01}`, `{"\ud800":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !utf8.Valid(raw) {
			return // its callers refuse it
		}
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(raw, &want)
		got := make(map[string]json.RawMessage)
		err := members(raw, func(name string, value json.RawMessage) { got[name] = value })
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("members(%q) = %v, want %v", raw, err, wantErr)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err == nil && diff != "" {
			t.Errorf("members of %q (-want +got):\n%s", raw, diff)
		}
	})
}

func FuzzParsePut(f *testing.F) {
	f.Add([]byte(`{"id":"1","v":4,"channel_versions":{"a":1}}`), []byte(`{"a":1}`), []byte(`{"run_id":"r"}`))
	f.Add([]byte(`{"id":1}`), []byte(`null`), []byte(`{"counters_since_delta_snapshot":{"a":[1,1]}}`))
	f.Fuzz(func(t *testing.T, checkpoint, news, metadata []byte) {
		p := Put{Thread: "t", Checkpoint: checkpoint, Metadata: metadata}
		if json.Unmarshal(news, &p.NewVersions) != nil {
			return
		}
		DeltaChannels(metadata)
		d, err := ParsePut(p)
		switch {
		case err != nil && ktrdr.CodeOf(err) != ktrdr.CodeInvalid:
			t.Errorf("error %v has code %s, want invalid", err, ktrdr.CodeOf(err))
		case err == nil && (d.Ref.Checkpoint == "" || CheckRef(d.Ref) != nil):
			t.Errorf("accepted a checkpoint that cannot be stored: %+v", d)
		}
	})
}

func TestFilter_FindsTheRunItAsksFor(t *testing.T) {
	for text, want := range map[string]string{
		`{"run_id":"r"}`: "r", `{"run_id":""}`: "", `{"run_id":7}`: "none", `{"run_id":null}`: "none", `{}`: "none",
		`{"run_id":"\u0000"}`: "none",
	} {
		var q Query
		if err := json.Unmarshal([]byte(text), &q.Filter); err != nil {
			t.Fatal(err)
		}
		f, err := ParseFilter(q)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if run, ok := f.Run(); ok {
			got = run
		}
		if got != want {
			t.Errorf("run of %s = %q, want %q", text, got, want)
		}
	}
}

func TestHistoryWalk_TakesTheWritesOfTheCheckpointThatHoldsTheSeed(t *testing.T) {
	walk := NewHistoryWalk([]string{"a", "b"})
	write := func(channel, value string) PendingWrite {
		return PendingWrite{Task: "t", Channel: channel, Value: Value{Bytes: []byte(value)}}
	}
	none := func(string) *Value { return nil }
	seed := &Value{Bytes: []byte("seed")}
	walk.Visit([]PendingWrite{write("a", "a3"), write("a", "a4"), write("b", "b2")}, none)
	walk.Visit([]PendingWrite{write("a", "a1"), write("a", "a2"), write("c", "c1"), write("b", "b1")}, func(channel string) *Value {
		if channel == "a" {
			return seed
		}
		return nil
	})
	if diff := cmp.Diff([]string{"b"}, walk.Missing()); diff != "" {
		t.Errorf("open channels (-want +got):\n%s", diff)
	}
	walk.Visit([]PendingWrite{write("a", "older than the seed"), write("b", "b0")}, none)
	want := map[string]ChannelHistory{
		"a": {Seed: seed, Writes: []PendingWrite{write("a", "a1"), write("a", "a2"), write("a", "a3"), write("a", "a4")}},
		"b": {Writes: []PendingWrite{write("b", "b0"), write("b", "b1"), write("b", "b2")}},
	}
	if diff := cmp.Diff(want, walk.Histories()); diff != "" {
		t.Errorf("histories (-want +got):\n%s", diff)
	}
}
