package nodelogs

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	at := func(s string) *time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return &v
	}
	for _, c := range []struct {
		params string
		want   *Query
	}{
		{"", nil},
		{"unknown=1", nil},
		{"sinceTime=&untilTime=&boot=&tailLines=&pattern=", nil},
		{"query=kubelet", &Query{Services: []string{"kubelet"}}},
		{"query=kubelet&query=&query=containerd", &Query{Services: []string{"kubelet", "containerd"}}},
		{"query=getty@tty1", &Query{Services: []string{"getty@tty1"}}},
		{"query=-svc:a_b.c", &Query{Services: []string{"-svc:a_b.c"}}},
		{"query=/syslog", &Query{File: "syslog"}},
		{"query=/", &Query{File: "/"}},
		{"query=pods/a/0.log", &Query{File: "pods/a/0.log"}},
		{"query=//../etc/passwd", &Query{File: "../etc/passwd"}}, // its directory does not let it out
		{
			"query=kubelet&sinceTime=2026-11-26T20:00:00Z&untilTime=2026-11-26T22:00:00%2B01:00&tailLines=100&boot=-1&pattern=a%7Cb",
			&Query{Services: []string{"kubelet"}, Options: Options{
				Since: at("2026-11-26T20:00:00Z"), Until: at("2026-11-26T22:00:00+01:00"), Tail: new(100), Boot: new(-1), Pattern: "a|b",
			}},
		},
		{"query=kubelet&tailLines=0&boot=0", &Query{Services: []string{"kubelet"}, Options: Options{Tail: new(0), Boot: new(0)}}},
	} {
		params, err := url.ParseQuery(c.params)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(params)
		if err != nil {
			t.Errorf("%s: %v", c.params, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.params, d)
		}
	}
}

func TestRefused(t *testing.T) {
	long := strings.Repeat("a", maxName+1)
	for params, want := range map[string]string{
		"query=":                  "query: Invalid value",
		"query=%20&query=%09":     "may not be empty",
		"query=a;reboot":          "", // a parameter ends there
		"query=a%3Breboot":        `query: Invalid value: "a;reboot": input contains unsupported characters`,
		"query=a%0A":              "input contains unsupported characters",
		"query=a%00":              "input contains unsupported characters",
		"query=$(reboot)":         "input contains unsupported characters",
		"query=a b":               "input contains unsupported characters",
		"query=a&query=b%60id%60": "input contains unsupported characters",
		"query=--root%3D%40a":     "input contains unsupported characters",
		"query=%C3%A4":            "input contains unsupported characters",
		"query=" + long:           "length must be less than 256",
		"query=a&query=b&query=c&query=d&query=e": "query: Too many: 5: must have at most 4 items",
		"query=a&query=/b":                        "cannot specify a file and service",
		"query=/a&query=/b":                       "cannot specify more than one file",
		"query=/a&tailLines=1":                    "cannot specify file with options",
		"tailLines=1":                             "query: Required value: cannot be empty with options",
		"query=a&sinceTime=yesterday":             `sinceTime: Invalid value: "yesterday": invalid time format`,
		"query=a&untilTime=2026-11-26":            "untilTime: Invalid value",
		"query=a&sinceTime=2026-11-26T20:00:01Z&untilTime=2026-11-26T20:00:00Z": "must be after `sinceTime`",
		"query=a&boot=1":           "boot: Invalid value: 1: must be less than 1",
		"query=a&boot=x":           "boot: Invalid value",
		"query=a&tailLines=-1":     "must be between 0 and 100000, inclusive",
		"query=a&tailLines=100001": "must be between 0 and 100000, inclusive",
		"query=a&pattern=(":        "pattern: Invalid value",
		"query=a&pattern=" + strings.Repeat("x", maxPattern+1): "length must not exceed 4096",
	} {
		values, err := url.ParseQuery(strings.ReplaceAll(params, " ", "%20"))
		if (err != nil) != (want == "") {
			t.Fatalf("%s: %v", params, err)
		}
		if err != nil {
			continue
		}
		q, err := Parse(values)
		if q != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %+v, %v, want %q", params, q, err, want)
		}
		if err != nil && len(err.Error()) > 5000 {
			t.Errorf("%.80s: an error of %d bytes", params, len(err.Error()))
		}
	}
}

func TestArgs(t *testing.T) {
	at := time.Date(2026, 11, 26, 21, 0, 0, 999, time.FixedZone("", 3600))
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "--utc --no-pager --output=short-precise --unit=-a --unit=b"},
		{
			Options{Since: &at, Until: new(at.Add(time.Minute)), Tail: new(5), Boot: new(-1), Pattern: "--root=/ x"},
			"--utc --no-pager --output=short-precise --since=@1795723200 --until=@1795723260 --lines=5 --unit=-a --unit=b --grep=--root=/ x --boot=-1",
		},
	} {
		if got := strings.Join(c.o.args([]string{"-a", "b"}), " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// FuzzParse: whatever a client sends, what becomes an argument of journalctl has only known characters.
func FuzzParse(f *testing.F) {
	f.Add("query=kubelet&tailLines=5")
	f.Add("query=/a/b&query=c")
	f.Fuzz(func(t *testing.T, params string) {
		values, err := url.ParseQuery(params)
		if err != nil {
			t.Skip()
		}
		q, err := Parse(values)
		if q == nil || err != nil {
			return
		}
		if len(q.Services) > maxServices || (len(q.Services) == 0) == (q.File == "") {
			t.Errorf("%+v", q)
		}
		for _, s := range q.Services {
			if unsafeInName.MatchString(s) || len(s) > maxName {
				t.Errorf("%q", s)
			}
		}
	})
}
