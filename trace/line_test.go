package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var lines = []string{
	`{"v":2,"seq":1,"time":"2026-03-01T12:00:00.000000001Z","kind":"agent","event":{"state":"ready"}}`,
	`{"v":2,"seq":0,"time":"1970-01-01T00:00:00.000000005Z","kind":"pod.sync","edge":"end","dur_ns":5,` +
		`"trace":"000000000000000a000000000000000b","span":"000000000000000c","parent":"000000000000000d",` +
		`"pod":{"namespace":"shop","name":"web","uid":"u"},"event":{"why":"sync","n":2}}`,
	`{"v":2,"seq":7,"time":"2026-03-01T12:00:00.000000000Z","kind":"pod.sync","edge":"begin","pod":{"name":"web"},"event":{"why":"","n":3}}`,
	`{"v":2,"seq":9,"time":"2026-03-01T12:00:00.000000000Z","kind":"pod.sync","observer":"kubelet-log","precision_ns":1000,"event":{"why":"","n":3}}`,
	`{"v":2,"seq":9,"time":"2026-03-01T12:00:00.000000000Z","kind":"runtime.span","event":{"name":"","start_ns":0,"dur_ns":0}}`,
	`{"v":2,"seq":9,"time":"2026-03-01T12:00:00.000000000Z","kind":"runtime.span","observer":"agent","event":{"name":"","start_ns":0,"dur_ns":0}}`,
	`{"v":2,"seq":8,"time":"2026-03-01T12:00:00.000000000Z","kind":"pod.sync","pod":{"name":"we\u003cb"},"event":{"why":"","n":3}}`,
}

func TestAppendAndParse(t *testing.T) {
	for _, line := range lines {
		var r Record
		if err := r.ParseJSON([]byte(line + "\n")); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got, err := r.AppendJSON([]byte("> "))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("> "+line, string(got)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseOtherForms(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"another order", `{"kind":"agent","event":{"state":"ready"},"time":"2026-03-01T12:00:00.000000000Z","seq":4}`, ""},
		{"a field of a newer version", `{"seq":4,"time":"2026-03-01T12:00:00.000000000Z","kind":"agent","event":{"state":"ready","mood":1},"more":[1]}`, ""},
		{"a new field before", `{"seq":4,"time":"2026-03-01T12:00:00.000000000Z","zone":"a","kind":"agent","event":{"state":"ready"}}`, ""},
		{"no comma", `{"seq":4,"time":"2026-03-01T12:00:00.000000000Z","kind":"agent","pod":{"name":"a""uid":"b"},"event":{}}`, "record: invalid"},
		{"before 1970", `{"seq":4,"time":"1969-12-31T23:59:59.999999999Z","kind":"agent","event":{}}`, "record 4, field time: 1969-12-31T23:59:59.999999999Z: want a time from 1970 to 2199"},
		{"after 2199", `{"seq":4,"time":"2200-01-01T00:00:00.000000000Z","kind":"agent","event":{}}`, "record 4, field time: 2200-"},
		{"lasts less than nothing", `{"seq":4,"time":"2026-03-01T12:00:00.000000000Z","kind":"agent","edge":"end","dur_ns":-1,"event":{}}`, "record 4, field dur_ns: -1: want 0 or more"},
		{"began before 1970", `{"seq":4,"time":"2026-03-01T12:00:00.000000000Z","kind":"agent","edge":"end","dur_ns":9223372036854775807,"event":{}}`, "record 4, field dur_ns: 9223372036854775807"},
		{"an unknown observer", `{"seq":4,"time":"2026-03-01T12:00:00.000000000Z","kind":"agent","observer":"a dream","event":{}}`, `record: observer "a dream": want one of [agent runtime-span`},
		{"less than exact", `{"seq":4,"time":"2026-03-01T12:00:00.000000000Z","kind":"agent","precision_ns":-1,"event":{}}`, "record 4, field precision_ns: -1: want 0 or more"},
		{"unknown kind", `{"seq":4,"time":"2026-03-01T12:00:00.000000000Z","kind":"dream","event":{}}`, `record 4, field kind: unknown kind "dream"`},
	} {
		var r Record
		err := r.ParseJSON([]byte(c.line))
		switch {
		case c.want == "" && (err != nil || r.Seq != 4 || r.Event == nil):
			t.Errorf("%s: %v, %+v", c.name, err, r)
		case c.want != "" && (err == nil || !bytes.HasPrefix([]byte(err.Error()), []byte(c.want))):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		case c.name == "unknown kind" && !errors.Is(err, ErrUnknownKind):
			t.Errorf("%v is not ErrUnknownKind", err)
		}
	}
}

// FuzzParseJSON: the fast parser's results are equal to the slow one's.
func FuzzParseJSON(f *testing.F) {
	for _, line := range lines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var fast, slow Record
		errFast, errSlow := fast.ParseJSON(line), json.Unmarshal(line, &slow)
		if (errFast == nil) != (errSlow == nil) && !errors.Is(errFast, ErrUnknownKind) {
			t.Fatalf("%q: %v and %v", line, errFast, errSlow)
		}
		if errFast != nil {
			return
		}
		a, errA := json.Marshal(fast)
		b, errB := json.Marshal(slow)
		if !bytes.Equal(a, b) || (errA == nil) != (errB == nil) {
			t.Fatalf("%q:\n%s %v\n%s %v", line, a, errA, b, errB)
		}
	})
}

func BenchmarkRecordJSON(b *testing.B) {
	r := Record{
		Seq: 12345, Time: 1772366400123456789, Edge: EdgeEnd, Dur: 12 * time.Millisecond, Trace: NewTraceID(), Span: NewSpanID(), Parent: NewSpanID(),
		Pod: Pod{"shop", "web-7d4b9", "3b1f2c1e-8f0e-4d5b-9a34-0c2d6a1e7f55"}, Event: &Wait{For: WaitQueue, Target: Target{Kind: TargetOther, Name: "a place among 4 runtime calls"}},
	}
	line, err := r.AppendJSON(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			buf, _ = r.AppendJSON(buf[:0])
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			var out Record
			_ = out.ParseJSON(line)
		}
	})
}

// TestParseTime: the results of the fast parser are equal to time.Parse's, and it accepts all written times.
func TestParseTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{
		"1970-01-01T00:00:00.000000000Z", "2199-12-31T23:59:59.999999999Z", "2024-02-29T00:00:00.000000001Z", "2000-02-29T12:00:00.000000000Z",
	}
	for range 100_000 {
		texts = append(texts, time.Unix(0, rng.Int64N(latest+1)).UTC().Format(timeLayout))
	}
	for _, text := range texts {
		want, err := time.Parse(timeLayout, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := parseTime([]byte(text)); !ok || got != want.UnixNano() {
			t.Fatalf("%s: got %d, %t, want %d", text, got, ok, want.UnixNano())
		}
	}
	for _, text := range []string{
		"2023-02-29T00:00:00.000000000Z", "2100-02-29T00:00:00.000000000Z", "2026-04-31T00:00:00.000000000Z", "2026-13-01T00:00:00.000000000Z",
		"2026-00-01T00:00:00.000000000Z", "2026-01-00T00:00:00.000000000Z", "2026-12-32T00:00:00.000000000Z", "2026-01-01T24:00:00.000000000Z",
		"2026-01-01T00:60:00.000000000Z", "2026-01-01T00:00:60.000000000Z", "1969-12-31T23:59:59.999999999Z", "2200-01-01T00:00:00.000000000Z",
		"2026-01-01 00:00:00.000000000Z", "2026-01-01T00:00:00,000000000Z", "2026-01-01T00:00:00.00000000-Z", "2026-01-01T00:00:00.000000000z",
	} {
		if at, ok := parseTime([]byte(text)); ok {
			t.Errorf("%s is read as %d", text, at)
		}
	}
}
