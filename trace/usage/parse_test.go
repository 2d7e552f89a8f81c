package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestParseSchedstat(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		"204164053 58497724 853\n": 58497724, "0 0 1\n": 0, "": -1, "1 2\n": -1, "1 x 3\n": -1, "1 -2 3\n": -1,
	} {
		got, ok := parseSchedstat([]byte(raw))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", raw, got, want)
		}
	}
}

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		raw  string
		busy time.Duration
		cpus int
	}{
		{"cpu  1 1 1 100 100 1 1 1 50 50\ncpu0 1 1 1 100 100 1 1 1 50 50\nintr 7\n", 60 * time.Millisecond, 1},
		{"cpu  1 1 1 100\n", 30 * time.Millisecond, 0}, // an old kernel
		{"", 0, 0},
		{"cpu  1 x 1 100\ncpu0 1\n", 0, 1},
		{"cpu", 0, 0},
		{"intr 1 2 3\ncpu 1 2 3 4\n", 0, 0},
	} {
		busy, cpus := parseStat([]byte(c.raw))
		if busy != c.busy || cpus != c.cpus {
			t.Errorf("%q: %s, %d processors; want %s, %d", c.raw, busy, cpus, c.busy, c.cpus)
		}
	}
}

func TestParsePressure(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want stall
		ok   bool
	}{
		{"some avg10=0.09 avg60=0.71 avg300=2.55 total=9272908370\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2\n", stall{9272908370000, 2000}, true},
		{"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", stall{}, true},
		{"full avg10=0.00 avg60=0.00 avg300=0.00 total=3\n", stall{full: 3000}, false},
		{"some avg10=0.00 total=x\n", stall{}, false},
		{"some avg10=0.00 total=99999999999999999999\n", stall{}, false},
		{"", stall{}, false},
		{"some\n", stall{}, false},
	} {
		if got, ok := parsePressure([]byte(c.raw)); got != c.want || ok != c.ok {
			t.Errorf("%q: %+v %t, want %+v %t", c.raw, got, ok, c.want, c.ok)
		}
	}
}

func TestParseMemory(t *testing.T) {
	const info = "MemTotal:       1000 kB\nMemFree:         1 kB\nMemAvailable:    300 kB\n"
	for name, c := range map[string]struct {
		info, stat string
		want       *trace.Memory
	}{
		"by zone":          {info, "pgscan_direct 9\nallocstall_normal 3\nallocstall_movable 4\n", &trace.Memory{Total: 1000 << 10, Available: 300 << 10, Reclaims: 7}},
		"old kernel":       {info, "allocstall 0\n", &trace.Memory{Total: 1000 << 10, Available: 300 << 10}},
		"no reclaims":      {info, "pgscan_direct 9\n", nil},
		"nothing":          {"", "", nil},
		"no available":     {"MemTotal: 1000 kB\n", "allocstall 0\n", nil},
		"not a number":     {"MemTotal: x kB\nMemAvailable: 3 kB\n", "allocstall 0\n", nil},
		"a negative count": {"MemTotal: 9 kB\nMemAvailable: 3 kB\n", "allocstall -1\n", nil},
	} {
		if diff := cmp.Diff(c.want, parseMemory([]byte(c.info), []byte(c.stat))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// FuzzParse checks that no file makes a parser panic or a figure negative.
func FuzzParse(f *testing.F) {
	f.Add([]byte("cpu  1 1 1 100 100 1 1 1 50 50\ncpu0 1\nintr 7\n"))
	f.Add([]byte("some avg10=0.09 avg60=0.71 avg300=2.55 total=9272908370\n"))
	f.Add([]byte("1 2 3\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		pages, _ := parseStatm(raw)
		delay, _ := parseSchedstat(raw)
		busy, cpus := parseStat(raw)
		p, _ := parsePressure(raw)
		if m := parseMemory(raw, raw); m != nil && (m.Total <= 0 || m.Available < 0 || m.Reclaims < 0) {
			t.Errorf("%+v", m)
		}
		if pages < 0 || delay < 0 || cpus < 0 || p.some < 0 || p.full < 0 {
			t.Errorf("%d %d %d %d %+v", pages, delay, busy, cpus, p)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	s := New(Config{})
	for b.Loop() {
		s.read()
	}
}
