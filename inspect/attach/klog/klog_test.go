package klog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
)

func clock() *klog.Clock {
	return &klog.Clock{Zone: time.UTC, Latest: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// TestNoDate reads headers that lost what comes before the time of day.
func TestNoDate(t *testing.T) {
	c := clock()
	for _, l := range []struct{ text, want string }{
		{"23:59:59.500000       9 a.go:1] SyncLoop", "2026-11-22T23:59:59.5Z"},
		{"00:00:01.000000       9 a.go:1] SyncLoop", "2026-11-23T00:00:01Z"},
		{"E1123 00:00:02.000000       9 a.go:1] SyncLoop", "2026-11-23T00:00:02Z"},
		{"00:00:03.000000       9 a.go:1] SyncLoop", "2026-11-23T00:00:03Z"},
	} {
		if e, ok := klog.ParseText(l.text, c); !ok || !e.Time.Equal(at(l.want)) || e.Msg != "SyncLoop" {
			t.Errorf("%s: %v %+v, want %s", l.text, ok, e, l.want)
		}
	}
	for _, s := range []string{"12:00:00.000000 a.go:1] x", "12:00:00 1 a.go:1] long enough", "1:00:00.000000 1 a.go:1] x"} {
		if klog.HeaderAt(s) == 0 {
			t.Errorf("%q is taken for a header", s)
		}
	}
}

// TestNoTime reads headers of which the source file alone is left.
func TestNoTime(t *testing.T) {
	c := clock()
	for _, text := range []string{"pod_workers.go:1298] \"m\" a=\"b\"", "E1122 08:00:00.000000 1 a.go:1] \"m\" a=\"b\"", "a.go:1] \"m\" a=\"b\""} {
		e, ok := klog.ParseText(text, c)
		if !ok || e.Msg != "m" || e.Get("a") != "b" || e.Time.IsZero() {
			t.Errorf("%s: %v %+v", text, ok, e)
		}
	}
	for _, s := range []string{"proc.go:304 +0xe0", "a b.go:1] x", "A.go:1] x", "a.go:] x", "see a.go:1] x", "a.go:1]x", ".go:1x] y"} {
		if klog.HeaderAt(s) >= 0 {
			t.Errorf("%q is taken for a header", s)
		}
	}
}

func TestParseText(t *testing.T) {
	const head = "I1122 08:38:19.533699   30016 kubelet.go:2760] "
	base := klog.Entry{Time: at("2026-11-22T08:38:19.533699Z"), Severity: klog.Info, PID: 30016, File: "kubelet.go", Line: 2760, V: -1}
	for name, c := range map[string]struct {
		body string
		want klog.Entry
	}{
		"structured": {`"SyncLoop ADD" source="file" pods=["shop/a","shop/b"]`, klog.Entry{Msg: "SyncLoop ADD", Fields: []klog.Field{{Key: "source", Value: "file"}, {Key: "pods", Value: `["shop/a","shop/b"]`}}}},
		"no keys":    {`"SyncLoop (housekeeping)"`, klog.Entry{Msg: "SyncLoop (housekeeping)"}},
		"escapes":    {`"volume \"e\" of\tit" err="a \"b\"\nc"`, klog.Entry{Msg: "volume \"e\" of\tit", Fields: []klog.Field{{Key: "err", Value: "a \"b\"\nc"}}}},
		"values": {`"m" n=30 ok=true event={"ID":"u","Type":"a } b"} old=&{ID:u Type:X} obj={"name":"web","namespace":"shop"} none= logger="a.b" after="x"`, klog.Entry{Msg: "m", Logger: "a.b", Fields: []klog.Field{
			{Key: "n", Value: "30"},
			{Key: "ok", Value: "true"},
			{Key: "event", Value: `{"ID":"u","Type":"a } b"}`},
			{Key: "old", Value: "&{ID:u Type:X}"},
			{Key: "obj", Value: "shop/web"},
			{Key: "none"},
			{Key: "after", Value: "x"},
		}}},
		"several lines":      {"\"m\" text=<\n\tone\n\t two\n > pod=\"a/b\"\n", klog.Entry{Msg: "m", Fields: []klog.Field{{Key: "text", Value: "one\n two"}, {Key: "pod", Value: "a/b"}}}},
		"several lines, cut": {"\"m\" text=<\n\tone", klog.Entry{Msg: "m", Cut: true, Fields: []klog.Field{{Key: "text", Value: "one"}}}},
		"cut in a value":     {`"m" pod="a/b" err="it wa`, klog.Entry{Msg: "m", Cut: true, Fields: []klog.Field{{Key: "pod", Value: "a/b"}, {Key: "err", Value: "it wa"}}}},
		"cut in a list":      {`"m" pods=["a/b","c`, klog.Entry{Msg: "m", Cut: true, Fields: []klog.Field{{Key: "pods", Value: `["a/b","c`}}}},
		"cut in the message": {`"SyncLoop A`, klog.Entry{Msg: "SyncLoop A", Cut: true}},
		"free":               {"Added container: \"/a\" (aliases: [])\nmore", klog.Entry{Msg: "Added container: \"/a\" (aliases: [])\nmore", Free: true}},
		"quote, then free":   {`"web": 3 of 4`, klog.Entry{Msg: `"web": 3 of 4`, Free: true}},
		"terminal":           {"\"m\" err=\"\\x1b[2J\\u202e\" a=\x1b]0;x\x07", klog.Entry{Msg: "m", Fields: []klog.Field{{Key: "err", Value: `\u001b[2J\u202e`}, {Key: "a", Value: `\u001b]0;x\u0007`}}}},
		"too deep":           {`"m" a=` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + ` b=1`, klog.Entry{Msg: "m", Cut: true, Fields: []klog.Field{{Key: "a", Value: strings.Repeat("[", 100) + strings.Repeat("]", 100) + " b=1"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.want
			want.Time, want.Severity, want.PID, want.File, want.Line, want.V = base.Time, base.Severity, base.PID, base.File, base.Line, base.V
			got, ok := klog.ParseText(head+c.body, clock())
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("ok %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestNoText(t *testing.T) {
	for _, s := range []string{
		"", "I", "hello", "I1322 08:38:19.533699   30016 kubelet.go:2760] m", "I1122 08:38:19.533699 kubelet.go:2760] m", "X1122 08:38:19.533699   30016 kubelet.go:2760] m",
		"I1122 25:38:19.533699   30016 kubelet.go:2760] m", "I1122 08:38:19.533699   30016 kubelet.go] m", "I1122 08:38:19.533699   30016 kube let.go:1] m",
	} {
		if e, ok := klog.ParseText(s, clock()); ok {
			t.Errorf("%q: %+v, want no entry", s, e)
		}
	}
}

func TestHeaderAt(t *testing.T) {
	const entry = `I0917 10:01:34.875534    2310 a.go:245] "m"`
	for prefix, want := range map[string]int{
		"": 0, "Sep 17 10:01:34 minikube kubelet[2310]: ": 40, "2024-09-17T10:01:34.875534Z stderr F ": 37, `time="2024" level=info msg="`: 28,
		strings.Repeat("x", 600) + " ": -1, "x": -1,
	} {
		if got := klog.HeaderAt(prefix + entry); got != want {
			t.Errorf("behind %q: %d, want %d", prefix, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	line := func(stamp string) string { return "I" + stamp + "       1 a.go:1] m" }
	for name, c := range map[string]struct {
		latest, known string
		stamps, want  []string
	}{
		"this year":        {"2026-11-22T12:00:00Z", "", []string{"1122 11:00:00.000000"}, []string{"2026-11-22T11:00:00Z"}},
		"last year":        {"2026-01-03T12:00:00Z", "", []string{"1231 23:59:59.000000", "0101 00:00:00.000001"}, []string{"2025-12-31T23:59:59Z", "2026-01-01T00:00:00.000001Z"}},
		"years in a row":   {"2026-01-03T12:00:00Z", "2021-12-31T12:00:00Z", []string{"1231 23:59:59.000000", "0101 00:00:00.000001", "1231 23:59:59.000000"}, []string{"2021-12-31T23:59:59Z", "2022-01-01T00:00:00.000001Z", "2021-12-31T23:59:59Z"}},
		"the journal says": {"2026-01-03T12:00:00Z", "2021-01-20T11:00:00Z", []string{"0120 11:42:15.701101"}, []string{"2021-01-20T11:42:15.701101Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := &klog.Clock{Zone: time.UTC, Latest: at(c.latest)}
			if c.known != "" {
				k.Knows(at(c.known))
			}
			for i, s := range c.stamps {
				e, ok := klog.ParseText(line(s), k)
				if !ok || !e.Time.Equal(at(c.want[i])) {
					t.Errorf("%s: %v, want %v", s, e.Time, c.want[i])
				}
			}
		})
	}
}

// TestSummerTime reads a log without a zone through the hour that there is twice, and through the one that there is not.
func TestSummerTime(t *testing.T) {
	for zone, all := range map[string][][2]string{
		"Europe/Berlin": {
			{"1025 01:59:59.900000", "2026-10-24T23:59:59.9Z"},
			{"1025 02:00:00.100000", "2026-10-25T00:00:00.1Z"},
			{"1025 02:00:00.000000", "2026-10-25T00:00:00Z"}, // goroutines write side by side
			{"1025 02:59:59.900000", "2026-10-25T00:59:59.9Z"},
			{"1025 02:00:00.100000", "2026-10-25T01:00:00.1Z"},
			{"1025 02:00:00.000000", "2026-10-25T01:00:00Z"},
			{"1025 02:40:00.000000", "2026-10-25T01:40:00Z"},
			{"1025 02:10:00.000000", "2026-10-25T01:10:00Z"}, // the clock was set back
			{"1025 03:00:00.000000", "2026-10-25T02:00:00Z"},
		},
		"Australia/Lord_Howe": { // half an hour
			{"0405 01:59:59.900000", "2026-04-04T14:59:59.9Z"},
			{"0405 01:30:00.100000", "2026-04-04T15:00:00.1Z"},
			{"0405 02:00:00.000000", "2026-04-04T15:30:00Z"},
		},
		"America/New_York": {
			{"0308 01:59:59.900000", "2026-03-08T06:59:59.9Z"},
			{"0308 03:00:00.100000", "2026-03-08T07:00:00.1Z"},
		},
	} {
		t.Run(zone, func(t *testing.T) {
			in, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			c := &klog.Clock{Zone: in, Latest: at("2026-11-22T12:00:00Z")}
			for _, l := range all {
				if e, ok := klog.ParseText("I"+l[0]+"       1 a.go:1] m", c); !ok || !e.Time.Equal(at(l[1])) {
					t.Errorf("%s: %v, want %s", l[0], e.Time.UTC().Format(time.RFC3339Nano), l[1])
				}
			}
		})
	}
}

func TestParseJSON(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want klog.Entry
	}{
		"info": {
			`{"ts":1700000000123.457,"caller":"kubelet/kubelet.go:2760","msg":"SyncLoop ADD","v":2,"source":"api","pods":[{"name":"a","namespace":"shop"},{"name":"b","namespace":"shop"}]}`,
			klog.Entry{Time: time.UnixMicro(1700000000123457), Severity: klog.Info, File: "kubelet.go", Line: 2760, Msg: "SyncLoop ADD", V: 2, Fields: []klog.Field{
				{Key: "source", Value: "api"}, {Key: "pods", Value: `[{"name":"a","namespace":"shop"},{"name":"b","namespace":"shop"}]`},
			}},
		},
		"error": {
			`{"ts":1700000000123,"caller":"a/b.go:1","msg":"m","logger":"x.y","err":"no \u001b[31m","pod":{"name":"a","namespace":"shop"},"n":3}`,
			klog.Entry{Time: time.UnixMilli(1700000000123), Severity: klog.Error, File: "b.go", Line: 1, Msg: "m", V: -1, Logger: "x.y", Fields: []klog.Field{
				{Key: "err", Value: `no \u001b[31m`}, {Key: "pod", Value: "shop/a"}, {Key: "n", Value: "3"},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := klog.ParseJSON(c.line)
			if diff := cmp.Diff(c.want, got); diff != "" || !ok {
				t.Errorf("ok %v (-want +got):\n%s", ok, diff)
			}
		})
	}
	for _, line := range []string{"", "{", "{}", `{"msg":"m"}`, `{"ts":"x","msg":"m"}`, `{"ts":1e300,"msg":"m"}`, `{"ts":1,"msg":"m","a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}"} {
		if e, ok := klog.ParseJSON(line); ok {
			t.Errorf("%q: %+v, want no entry", line, e)
		}
	}
}

func TestList(t *testing.T) {
	for value, want := range map[string][]string{
		`["a/b","c/d"]`: {"a/b", "c/d"}, `[a/b c/d]`: {"a/b", "c/d"}, `[{"name":"b","namespace":"a"}]`: {"a/b"}, `[]`: nil, `x`: nil, `["a/b","c`: {"a/b", "c"},
	} {
		e := klog.Entry{Fields: []klog.Field{{Key: "pods", Value: value}}}
		if diff := cmp.Diff(want, e.List("pods")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
	}
}
