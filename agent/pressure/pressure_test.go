package pressure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		free, asked := int64(400), 0
		marks := []trace.Threshold{{Kind: trace.ThresholdImageGC, Percent: 85, DownTo: 80}}
		where := func(context.Context) (string, error) {
			asked++
			if asked < 3 {
				return "", errors.New("the runtime is not up")
			}
			return "/images", nil
		}
		info := func(path string) (gc.FS, error) {
			if path != "/images" {
				t.Errorf("path %q", path)
			}
			free -= 100
			return gc.FS{Capacity: 1000, Available: free}, nil
		}
		w, err := New(Config{Bus: rec.Bus(), Signals: []Signal{Disk(trace.SignalImageFS, marks, where, info)}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4*Period-time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		want := []trace.Pressure{
			{Signal: trace.SignalImageFS, Thresholds: marks, Used: 700, Capacity: 1000},
			{Signal: trace.SignalImageFS, Thresholds: marks, Used: 800, Capacity: 1000},
		}
		if d := cmp.Diff(want, tracetest.Events[trace.Pressure](rec)); d != "" {
			t.Error(d)
		}
		if logs := tracetest.Events[trace.Log](rec); len(logs) != 1 || logs[0].Message != "cannot measure imagefs: the runtime is not up" {
			t.Errorf("logs %+v", logs)
		}
		if asked != 3 {
			t.Errorf("asked %d times for the directory", asked)
		}
	})
}

func TestParseMeminfo(t *testing.T) {
	tests := map[string]struct {
		raw  string
		want Usage
		err  string
	}{
		"usual":          {"MemTotal:       100 kB\nMemFree:  5 kB\nMemAvailable:     40 kB\n", Usage{60 << 10, 100 << 10}, ""},
		"more than all":  {"MemTotal: 1 kB\nMemAvailable: 2 kB", Usage{0, 1 << 10}, ""},
		"empty":          {"", Usage{}, "no line MemTotal"},
		"an old kernel":  {"MemTotal: 1 kB\n", Usage{}, "no line MemAvailable"},
		"another unit":   {"MemTotal: 1 MB\n", Usage{}, `cannot read line "MemTotal: 1 MB"`},
		"not a number":   {"MemTotal: x kB\n", Usage{}, `line "MemTotal: x kB": strconv.ParseInt: parsing "x": invalid syntax`},
		"nothing at all": {"MemTotal:\n", Usage{}, `cannot read line "MemTotal:"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseMeminfo([]byte(tt.raw))
			msg := ""
			if err != nil {
				msg = err.Error()
			}
			if got != tt.want || msg != tt.err {
				t.Errorf("got %+v, %q; want %+v, %q", got, msg, tt.want, tt.err)
			}
		})
	}
}

func TestRealFigures(t *testing.T) {
	for _, s := range []Signal{Memory(Meminfo, nil), Disk(trace.SignalNodeFS, nil, At(t.TempDir()), nil)} {
		u, err := s.Measure(t.Context())
		if s.Name == trace.SignalMemory && err != nil {
			t.Skip("no meminfo here:", err)
		}
		if err != nil || u.Used <= 0 || u.Used > u.Capacity {
			t.Errorf("%s: %+v, %v", s.Name, u, err)
		}
	}
}

func TestNewRejects(t *testing.T) {
	if _, err := New(Config{Signals: []Signal{{Name: trace.SignalMemory}}}); err == nil {
		t.Error("no error for a signal that cannot be measured")
	}
}
