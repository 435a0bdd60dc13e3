package backtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEncode_SurvivesAndIsDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		want := d.run(rt)
		b := encode(rt, want)
		if !bytes.Equal(b, encode(rt, d.run(rt))) {
			rt.Fatal("the same run encodes to other bytes")
		}
		got, err := Decode(b)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("the result read differs from the one written:\n%s", diff)
		}
		if h, err := hashOf(want); err != nil || h != sha256.Sum256(b[:len(b)-sha256.Size]) {
			rt.Fatalf("hash is %x, %v; want that of the bytes", h, err)
		}
	})
}

func TestHash_CoversEverything(t *testing.T) {
	hash := func(r *Result) [sha256.Size]byte {
		h, err := hashOf(r)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	want := hash(handMade().run(t))
	for name, change := range map[string]func(*Result){
		"config":   func(r *Result) { r.Config.Commission += 1e-16 },
		"metrics":  func(r *Result) { r.Metrics.TotalTrades++ },
		"ended":    func(r *Result) { r.Ended = OnRuin },
		"trades":   func(r *Result) { r.Trades[4].MFE += 1e-16 },
		"time":     func(r *Result) { r.Time[3]++ },
		"equity":   func(r *Result) { r.Equity[5] += 1e-11 },
		"position": func(r *Result) { r.Position[1]++ },
	} {
		r := handMade().run(t)
		change(r)
		if hash(r) == want {
			t.Errorf("a change of %s leaves the hash", name)
		}
	}
}

// A change of this hash is a change of the format or of the arithmetic, on this
// machine or on all: stored results no longer compare.
func TestHash_IsTheSameOnEveryMachine(t *testing.T) {
	d := handMade()
	d.bars.Timeframe = "" // nothing per year: that arithmetic has tests of its own
	h, err := hashOf(d.run(t))
	const want = "e068b6ca8aea20b0ecd63032321b82c660177d55f616079b9c5bcb8408897888"
	if got := hex.EncodeToString(h[:]); err != nil || got != want {
		t.Errorf("hash is %s, %v; want %s", got, err, want)
	}
}

// sealed puts the right digest under a body, so that what lies behind it is
// reached.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

func TestDecode_RefusesDamage(t *testing.T) {
	good := encode(t, handMade().run(t))
	body := good[:len(good)-sha256.Size]
	at := func(name string) int { return bytes.Index(body, []byte(name+"\x00")) + columnHead }
	set := func(i int, x byte) []byte {
		b := bytes.Clone(body)
		b[i] = x
		return sealed(b)
	}
	infinite := bytes.Clone(body)
	binary.LittleEndian.PutUint64(infinite[at("equity"):], math.Float64bits(math.Inf(1)))
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"another file":          bytes.Repeat([]byte("x"), 500),
		"a flipped bit":         append([]byte{good[0] ^ 1}, good[1:]...),
		"a cut":                 good[:len(good)-1],
		"a wrong digest":        append(bytes.Clone(body), make([]byte, sha256.Size)...),
		"another version":       set(7, 2),
		"another kind":          set(8, kindState),
		"fewer columns":         set(12, body[12]-1),
		"a column too long":     set(at("equity")-2, 1),
		"a column's other name": set(at("equity")-columnHead, 'E'),
		"a column's other type": set(at("equity")-columnHead+nameSize, 3),
		"no padding":            set(at("ended")+1, 1),
		"an impossible end":     set(at("ended"), byte(OnStop)),
		"an infinite equity":    sealed(infinite),
		"JSON out of its form":  sealed(bytes.Replace(body, []byte(`"commission":0.01,`), []byte(`"commission":.010,`), 1)),
		"JSON in another form":  sealed(bytes.Replace(body, []byte(`"slippage":0.01,`), []byte(`"slippage":1e-2,`), 1)),
		"an impossible side":    set(at("side"), 0),
		"an impossible reason":  set(at("reason"), 9),
		"an exit before entry":  set(at("exit_bar"), 0),
		"an exit past the end":  set(at("exit_bar"), 12),
		"something behind":      sealed(append(bytes.Clone(body), make([]byte, 8)...)),
	} {
		if r, err := Decode(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v; want ErrCorrupt", name, r, err)
		}
	}
}

func TestState_RefusesWhatNoRunLeft(t *testing.T) {
	d := handMade()
	stop := func(change func(*RunState)) []byte {
		var st RunState
		if err := Run(d.bars, d.signals, d.cfg, &st, 8); err != nil {
			t.Fatal(err)
		}
		change(&st)
		b, err := st.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, change := range map[string]func(*RunState){
		"another bar":          func(st *RunState) { st.Bar = 7 },
		"an unknown order":     func(st *RunState) { st.Pending = 3 },
		"an exit from none":    func(st *RunState) { st.Pending, st.Holding.Units = timeUp, 0 },
		"a signal to come":     func(st *RunState) { st.Holding.Held = 8 },
		"a fill to come":       func(st *RunState) { st.LastFill = 8 },
		"an entry to come":     func(st *RunState) { st.Holding.Bar = 8 },
		"infinite cash":        func(st *RunState) { st.Cash = math.Inf(1) },
		"a stop of NaN":        func(st *RunState) { st.Holding.Stop = math.NaN() },
		"defaults left out":    func(st *RunState) { st.Config.SizeMode, st.Config.PositionSize = "", 0 },
		"a bad configuration":  func(st *RunState) { st.Config.Commission = 1 },
		"no configuration":     func(st *RunState) { st.Config = Config{} },
		"ruin with a position": func(st *RunState) { st.Ruined = true },
	} {
		st := RunState{Bar: 3}
		if err := st.UnmarshalBinary(stop(change)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error is %v, want ErrCorrupt", name, err)
		}
		if st.Bar != 3 {
			t.Errorf("%s: the state was changed", name)
		}
	}
	var st RunState
	if err := st.UnmarshalBinary(stop(func(*RunState) {})); err != nil || st.Bar != 8 {
		t.Errorf("the unchanged state: %v at bar %d", err, st.Bar)
	}
	if b, err := (&RunState{}).MarshalBinary(); err != nil || st.UnmarshalBinary(b) != nil {
		t.Errorf("a run that has not begun does not survive storage: %v", err)
	}
}

// The fuzzers seal what they are given, or no input would come past the
// digest. Accepted bytes must encode to themselves.
func FuzzDecode(f *testing.F) {
	for _, d := range []drawn{handMade(), {walk(1, 3, 0.01), chatter(1, 3, 0), Config{AllowShort: true}}} {
		b := encode(f, d.run(f))
		f.Add(b[:len(b)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := sealed(body)
		r, err := Decode(b)
		if err != nil {
			return
		}
		if again := encode(t, r); !bytes.Equal(again, b) {
			t.Fatalf("decoded and encoded again: %x, was %x", again, b)
		}
	})
}

func FuzzState(f *testing.F) {
	d := handMade()
	for _, until := range []int{0, 5, 8, 12} {
		var st RunState
		if err := Run(d.bars, d.signals, d.cfg, &st, until); err != nil {
			f.Fatal(err)
		}
		b, err := st.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:len(b)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := sealed(body)
		var st RunState
		if st.UnmarshalBinary(b) != nil {
			return
		}
		if again, err := st.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("read and written again: %x, %v, was %x", again, err, b)
		}
		// What was accepted may be wrong but must not break the engine.
		if err := Run(d.bars, d.signals, st.Config, &st, d.bars.Len()); err == nil {
			_, _ = Finish(d.bars, &st)
		}
	})
}

func hashOf(r *Result) ([sha256.Size]byte, error) {
	return (&Portfolio{Accounts: []Account{{Result: r}}}).Hash()
}
