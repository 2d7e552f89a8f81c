package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// random sets v to random values. It supports every type in events and fails for others, so that no new type remains
// untested.
func random(t testing.TB, rng *rand.Rand, v reflect.Value) {
	t.Helper()
	if v.Type() == reflect.TypeFor[trace.Body]() {
		if rng.IntN(2) == 0 {
			v.Set(reflect.ValueOf(trace.BodyOf(json.RawMessage(`{"a":[1,"x"],"b":{"c":null}}`), 29)))
		}
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		if rng.IntN(3) > 0 {
			v.Set(reflect.ValueOf(time.Unix(rng.Int64N(1<<33), rng.Int64N(1e9)).UTC()))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			random(t, rng, field)
		}
	case reflect.Pointer:
		if rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			random(t, rng, v.Elem())
		}
	case reflect.Slice:
		if n := rng.IntN(4); n > 0 { // an empty slice is the same as none
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				random(t, rng, v.Index(i))
			}
		}
	case reflect.String:
		words := []string{"", "RunPodSandbox", "shop/cart", "ünï \"q\" \\ \n\t\x00\x1b <&>", "\u2028\u202e\u009b\x7f\u200d\U000e0041", strings.Repeat("x", 300), "日本"}
		v.SetString(words[rng.IntN(len(words))])
	case reflect.Float64:
		v.SetFloat(rng.NormFloat64())
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := rng.Int64()
		if rng.IntN(2) == 0 {
			n = -n
		}
		if rng.IntN(4) == 0 {
			n = 0
		}
		v.SetInt(n >> (64 - v.Type().Bits()))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(rng.Uint64() >> (64 - v.Type().Bits()))
	default:
		t.Fatalf("events hold a %s: teach this test to make one", v.Type())
	}
}

func randomRecord(t testing.TB, rng *rand.Rand, kind string) trace.Record {
	t.Helper()
	e, ok := trace.New(kind)
	if !ok {
		t.Fatalf("no kind %q", kind)
	}
	random(t, rng, reflect.ValueOf(e).Elem())
	r := trace.Record{
		Seq: rng.Uint64(), Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() + rng.Int64N(1<<60),
		Edge: trace.Edge(rng.IntN(3)), Event: e,
	}
	if r.Edge == trace.EdgeEnd {
		r.Dur = time.Duration(rng.Int64N(1 << 40))
	}
	if rng.IntN(4) > 0 {
		r.Trace, r.Span, r.Parent = trace.NewTraceID(), trace.NewSpanID(), trace.NewSpanID()
	}
	random(t, rng, reflect.ValueOf(&r.Pod).Elem())
	return r
}

// compareRecords compares bodies by their JSON.
var compareRecords = cmp.Comparer(func(a, b trace.Body) bool {
	x, errX := a.MarshalJSON()
	y, errY := b.MarshalJSON()
	return errX == nil && errY == nil && a.IsZero() == b.IsZero() && bytes.Equal(x, y)
})

func encode(t testing.TB, recs ...trace.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, r := range recs {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func readAll(t testing.TB, r io.Reader) []trace.Record {
	t.Helper()
	var out []trace.Record
	for rec, err := range Read(r) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

func TestRoundTripOfEveryKind(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var recs []trace.Record
	for _, kind := range trace.Kinds() {
		for range 50 {
			recs = append(recs, randomRecord(t, rng, kind))
		}
	}
	text := encode(t, recs...)
	if n := bytes.Count(text, []byte("\n")); n != len(recs) {
		t.Fatalf("%d lines for %d records", n, len(recs))
	}
	if diff := cmp.Diff(recs, readAll(t, iotest.OneByteReader(bytes.NewReader(text))), compareRecords); diff != "" {
		t.Errorf("decode(encode(x)) is not x (-want +got):\n%s", diff)
	}
}

func FuzzRoundTrip(f *testing.F) {
	for i := range uint64(8) {
		f.Add(i, i*i)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		rng := rand.New(rand.NewPCG(a, b))
		kinds := trace.Kinds()
		want := randomRecord(t, rng, kinds[rng.IntN(len(kinds))])
		got := readAll(t, bytes.NewReader(encode(t, want)))
		if diff := cmp.Diff([]trace.Record{want}, got, compareRecords); diff != "" {
			t.Errorf("decode(encode(x)) is not x (-want +got):\n%s", diff)
		}
	})
}

// FuzzRead reads any input: it must not panic, and what it accepts must be encodable again.
func FuzzRead(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, kind := range trace.Kinds() {
		line := encode(f, randomRecord(f, rng, kind))
		f.Add(line)
		f.Add(line[:len(line)/2])
	}
	f.Add([]byte("null\n{}\n[]\n\"x\"\n{\"kind\":\"log\",\"time\":\"2026-01-01T00:00:00.000000000Z\",\"event\":null}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		n := 0
		for rec, err := range Read(bytes.NewReader(in)) {
			if n++; n > len(in)+1 {
				t.Fatal("more records than bytes")
			}
			if err != nil {
				var bad *Error
				if !errors.As(err, &bad) || bad.Line < 1 {
					t.Fatalf("error without its line: %v", err)
				}
				continue
			}
			if _, err := json.Marshal(rec); err != nil {
				t.Errorf("a record that was read does not encode: %v", err)
			}
		}
	})
}

func TestErrorsNameTheLine(t *testing.T) {
	good := string(encode(t, trace.Record{Seq: 1, Event: &trace.Log{Message: "hello"}}))
	type result struct {
		Seq  uint64
		Line int
		Torn bool
	}
	for _, c := range []struct {
		name, in string
		want     []result
	}{
		{"nothing", "", nil},
		{"blank lines", "\n\n" + good + "  \n", []result{{Seq: 1}}},
		{"no newline at the end", strings.TrimSuffix(good, "\n"), []result{{Seq: 1}}},
		{"rubbish in between", good + "rubbish\n" + good, []result{{Seq: 1}, {Line: 2}, {Seq: 1}}},
		{"a torn tail", good + good[:20], []result{{Seq: 1}, {Line: 2, Torn: true}}},
		{"unknown kind", strings.Replace(good, `"log"`, `"logg"`, 1), []result{{Line: 1}}},
		{"no time", `{"seq":1,"kind":"log","event":{}}` + "\n", []result{{Line: 1}}},
		{"windows line ends", strings.ReplaceAll(good, "\n", "\r\n"), []result{{Seq: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []result
			for rec, err := range Read(strings.NewReader(c.in)) {
				var bad *Error
				switch {
				case err == nil:
					got = append(got, result{Seq: rec.Seq})
				case errors.As(err, &bad):
					got = append(got, result{Line: bad.Line, Torn: errors.Is(err, ErrTorn)})
				default:
					t.Errorf("untyped error %v", err)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadErrorEnds(t *testing.T) {
	broken := errors.New("broken")
	n := 0
	for _, err := range Read(iotest.ErrReader(broken)) {
		n++
		if !errors.Is(err, broken) {
			t.Errorf("err %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d results, want 1", n)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

func TestTooLong(t *testing.T) {
	n := 0
	for _, err := range Read(endless{}) {
		n++
		if !errors.Is(err, ErrTooLong) {
			t.Errorf("err %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d results, want 1", n)
	}
}

func TestStopsWhenTold(t *testing.T) {
	text := encode(t, trace.Record{Event: &trace.Log{}}, trace.Record{Event: &trace.Log{}})
	n := 0
	for range Read(bytes.NewReader(text)) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d", n)
	}
}

// TestBothWaysAgree: a line in the written format is parsed by another library than other lines. For every line, both
// return the same, or both fail.
func TestBothWaysAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	parts := []string{`"`, `\`, `\u0041`, `\ud83d`, "\xff", "\x00", "{}", "[]", "null", "true", "1e3", "1.0", "-0", "01", ",", ":", " ", `"Name":`, `"name":`, "999999999999999999999"}
	for _, kind := range trace.Kinds() {
		for range 60 {
			line := bytes.TrimSpace(encode(t, randomRecord(t, rng, kind)))
			for range rng.IntN(4) {
				at := rng.IntN(len(line))
				with := parts[rng.IntN(len(parts))]
				line = slices.Replace(line, at, min(at+rng.IntN(4), len(line)), []byte(with)...)
			}
			var fast, slow trace.Record
			errFast, errSlow := fast.ParseJSON(line), slow.UnmarshalJSON(line)
			if (errFast == nil) != (errSlow == nil) {
				t.Fatalf("%q: ParseJSON: %v, UnmarshalJSON: %v", line, errFast, errSlow)
			}
			if diff := cmp.Diff(slow, fast, compareRecords); diff != "" {
				t.Fatalf("%q: ParseJSON is not UnmarshalJSON (-want +got):\n%s", line, diff)
			}
		}
	}
}
