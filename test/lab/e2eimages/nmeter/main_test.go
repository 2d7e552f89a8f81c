package main

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 27, 3, 4, 5, 67_890_000, time.UTC)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		args  []string
		every time.Duration
		bad   bool
	}{
		{[]string{"-d0", "%3t"}, 0, false},
		{[]string{"-d", "20", "%3t"}, 20 * time.Millisecond, false},
		{[]string{"-d-1", "%3t"}, once, false},
		{[]string{"%3t"}, time.Second, false},
		{[]string{"-d0"}, 0, true},
		{[]string{"-d"}, 0, true},
		{[]string{"-dx", "%3t"}, 0, true},
		{[]string{"-d-2", "%3t"}, 0, true},
		{[]string{"a", "b"}, 0, true},
		{nil, 0, true},
	} {
		every, format, err := parse(tc.args)
		if (err != nil) != tc.bad || err == nil && (every != tc.every || format != "%3t") {
			t.Errorf("%q: %s, %q, %v", tc.args, every, format, err)
		}
	}
}

func TestRender(t *testing.T) {
	for format, want := range map[string]string{
		"%3t": "03:04:05.067", "%t": "03:04:05", "%0t": "03:04:05", "a%6t%%b": "a03:04:05.067890%b", "": "", "%c": "", "%": "", "%7t": "", "%3": "",
	} {
		got, err := render(format, at)
		if got != want || (err != nil) != (want == "" && format != "") {
			t.Errorf("%q: %q, %v; want %q", format, got, err, want)
		}
	}
}

// full takes some lines, then fails as a pipe whose reader ended.
type full struct {
	got   []byte
	lines int
}

var errFull = errors.New("nobody reads")

func (f *full) Write(p []byte) (int, error) {
	if f.lines == 0 {
		return 0, errFull
	}
	f.lines--
	f.got = append(f.got, p...)
	return len(p), nil
}

// Lines follow each other until nobody reads them, or there is one.
func TestMeter(t *testing.T) {
	for _, tc := range []struct {
		every time.Duration
		lines int
		err   error
	}{{0, 3, errFull}, {once, 1, nil}} {
		out := &full{lines: 3}
		err := meter(out, tc.every, "%3t", func() time.Time { return at })
		if want := bytes.Repeat([]byte("03:04:05.067\n"), tc.lines); !errors.Is(err, tc.err) || !bytes.Equal(out.got, want) {
			t.Errorf("%s: %q, %v", tc.every, out.got, err)
		}
	}
}
