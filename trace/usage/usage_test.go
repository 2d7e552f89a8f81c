package usage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// sampled is the time of a record since the start, and its interval.
type sampled struct{ At, Interval time.Duration }

// run runs a sampler in simulated time while script acts, and returns what it published.
func run(t *testing.T, script func(*Sampler)) []sampled {
	t.Helper()
	var out []sampled
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		start := time.Now()
		s := New(Config{Bus: rec.Bus(), Root: t.TempDir()})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		script(s)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, r := range rec.OfKind("agent.usage") {
			u, _ := r.Event.(*trace.Usage)
			out = append(out, sampled{r.At().Sub(start), u.Interval})
		}
	})
	return out
}

func TestPace(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		script func(*Sampler)
		want   []sampled
	}{
		"idle": {func(*Sampler) { time.Sleep(35 * s) }, []sampled{{10 * s, 10 * s}, {20 * s, 10 * s}, {30 * s, 10 * s}}},
		"a pod": {
			func(u *Sampler) { time.Sleep(4 * s); u.Nudge(); time.Sleep(15 * s) },
			[]sampled{{4 * s, 4 * s}, {5 * s, s}, {6 * s, s}, {7 * s, s}, {10 * s, 3 * s}},
		},
		"a slow start": {
			func(u *Sampler) {
				time.Sleep(4 * s)
				done := u.Work()
				time.Sleep(7500 * time.Millisecond)
				done()
				time.Sleep(9 * s)
			},
			[]sampled{
				{4 * s, 4 * s},
				{5 * s, s},
				{6 * s, s},
				{7 * s, s},
				{8 * s, s},
				{9 * s, s},
				{10 * s, s},
				{11 * s, s},
				{12 * s, s},
				{13 * s, s},
				{14 * s, s},
				{15 * s, s},
				{20 * s, 5 * s},
			},
		},
		"pods go on": {
			func(u *Sampler) {
				for range 40 {
					u.Nudge()
					time.Sleep(50 * time.Millisecond)
				}
				time.Sleep(5 * s)
			},
			// The first interval is too short for a sample: the next one includes it.
			[]sampled{{s, s}, {2 * s, s}, {3 * s, s}, {4 * s, s}, {5 * s, s}},
		},
		"two pods far apart": {
			func(u *Sampler) {
				time.Sleep(s)
				u.Nudge()
				time.Sleep(5500 * time.Millisecond)
				u.Nudge()
				time.Sleep(s)
			},
			[]sampled{{s, s}, {2 * s, s}, {3 * s, s}, {4 * s, s}, {6500 * time.Millisecond, 2500 * time.Millisecond}, {7500 * time.Millisecond, s}},
		},
		"an old nudge": {
			func(u *Sampler) {
				time.Sleep(s)
				u.Nudge()
				u.Nudge()
				time.Sleep(500 * time.Millisecond)
				u.Nudge()
				time.Sleep(9 * s)
			},
			[]sampled{{s, s}, {2 * s, s}, {3 * s, s}, {4 * s, s}, {5 * s, s}, {10 * s, 5 * s}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, run(t, c.script)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLongest: a start that hangs does not keep the sampler awake forever.
func TestLongest(t *testing.T) {
	got := run(t, func(u *Sampler) {
		defer u.Work()()
		time.Sleep(Longest + time.Minute)
	})
	if n, most := len(got), int(Longest/Awake)+int(time.Minute/Idle)+5; n > most || n < int(Longest/Awake)-1 {
		t.Errorf("%d samples, want about one a second for %s, and then one each %s: at most %d", n, Longest, Idle, most)
	}
}

// TestStarting: a pod that is not ready keeps the sampler awake, also while no sync works on it, such as in a back-off or
// until a probe succeeds; when it is ready, the sampler lingers no longer.
func TestStarting(t *testing.T) {
	var out []sampled
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var asked time.Duration
		var ready atomic.Bool
		s := New(Config{
			Root:    t.TempDir(),
			Publish: func(u trace.Usage) { out = append(out, sampled{time.Since(start), u.Interval}) },
			Starting: func(within time.Duration) bool {
				asked = within
				return time.Since(start) >= 4*time.Second && !ready.Load()
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(4 * time.Second)
		s.Nudge()
		s.Work()() // a sync that fails at once
		time.Sleep(8500 * time.Millisecond)
		ready.Store(true)
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-done; err != nil || asked != Longest {
			t.Errorf("%v; asked about %s, want %s", err, asked, Longest)
		}
	})
	const s = time.Second
	want := []sampled{{4 * s, 4 * s}}
	for at := 5 * s; at <= 13*s; at += s {
		want = append(want, sampled{at, s})
	}
	if diff := cmp.Diff(append(want, sampled{20 * s, 7 * s}), out); diff != "" {
		t.Error(diff)
	}
}

// TestNobodyListens nudges a sampler that does not run, and a nil one.
func TestNobodyListens(*testing.T) {
	s := New(Config{})
	for range 100 {
		s.Nudge()
	}
	(*Sampler)(nil).Nudge()
	(*Sampler)(nil).Work()()
}

func TestRead(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/self/statm":            "3000 500 200 10 0 300 0\n",
		"proc/self/task/7/schedstat": "900 2000000 3\n",
		"proc/self/task/8/schedstat": "900 3000000 3\n",
		"proc/self/task/9/stat":      "9 (no schedstat)\n",
		"proc/stat":                  "cpu  100 10 50 900 40 5 5 2 30 0\ncpu0 50 5 25 450 20 2 3 1 15 0\ncpu1 50 5 25 450 20 3 2 1 15 0\nintr 12 0\ncpus 1\n",
		"proc/pressure/cpu":          "some avg10=0.09 avg60=0.71 avg300=2.55 total=4000\n",
		"proc/pressure/memory":       "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	none := func() int { return 0 }
	got := source{root: root, self: "self", cpu: func() time.Duration { return 42 }, rss: func() int64 { return 1 }, goroutines: none}.read()
	got.at = time.Time{}
	want := counters{
		cpu: 42, delay: map[string]time.Duration{"7": 2 * time.Millisecond, "8": 3 * time.Millisecond}, rss: 500 * int64(os.Getpagesize()), cpus: 2,
		busy: 1720 * time.Millisecond, stalls: map[trace.Resource]stall{trace.ResourceCPU: {some: 4 * time.Millisecond}, trace.ResourceMemory: {7 * time.Microsecond, 5 * time.Microsecond}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(counters{}, stall{})); diff != "" {
		t.Error(diff)
	}
}

// TestOther reads the figures of another process.
func TestOther(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/7/statm": "3000 500 200 10 0 300 0\n", "proc/7/task/7/schedstat": "900 2000000 3\n", "proc/7/task/9/schedstat": "900 1000000 3\n",
		"proc/7/stat": "7 (ku) be) S 1 7 7 0 -1 4194560 2043 0 0 0 150 30 0 0 20 0 14 0 100 1 2\n",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got := other(root, 7).read()
	if got.cpu != 1800*time.Millisecond || got.rss != 500*int64(os.Getpagesize()) || got.delay["7"]+got.delay["9"] != 3*time.Millisecond || got.goroutines != 0 {
		t.Errorf("%+v", got)
	}
	if got := other(root, 8).read(); got.cpu != 0 || got.rss != 0 || got.delay != nil {
		t.Errorf("a process that is not there: %+v", got)
	}
}

func TestReadNothing(t *testing.T) {
	got := source{root: t.TempDir(), self: "self", cpu: func() time.Duration { return 0 }, rss: func() int64 { return 5 }, goroutines: func() int { return 0 }}.read()
	if got.rss != 5 || got.cpus < 1 || got.delay != nil || len(got.stalls) != 0 || got.busy != 0 {
		t.Errorf("%+v", got)
	}
}

func TestBetween(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := counters{
		at: at, cpu: 10, delay: map[string]time.Duration{"1": 100, "2": 50, "3": 7}, busy: 1000,
		stalls: map[trace.Resource]stall{trace.ResourceCPU: {some: 5}, trace.ResourceIO: {some: 100, full: 40}},
	}
	b := counters{
		at: at.Add(time.Second), cpu: 15, delay: map[string]time.Duration{"1": 130, "3": 2, "4": 9}, rss: 77, goroutines: 3, cpus: 2, busy: 1500,
		stalls: map[trace.Resource]stall{trace.ResourceIO: {some: 160, full: 70}, trace.ResourceMemory: {some: 9}},
	}
	want := trace.Usage{
		Interval: time.Second, CPU: 5, RunDelay: 39, RSS: 77, Goroutines: 3, CPUs: 2, Busy: 500,
		Stalls: []trace.Stall{{Resource: trace.ResourceIO, Some: 60, Full: 30}},
	}
	if diff := cmp.Diff(want, between(a, b)); diff != "" {
		t.Error(diff)
	}
}

// TestReal reads this machine.
func TestReal(t *testing.T) {
	s := New(Config{})
	a := s.read()
	for end := a.at.Add(20 * time.Millisecond); time.Now().Before(end); {
	}
	u := between(a, s.read())
	if u.CPU <= 0 || u.RSS <= 0 || u.CPUs < 1 || u.Interval <= 0 || u.Goroutines < 1 {
		t.Errorf("%+v", u)
	}
}

// What is read later than due says so, where it is this process that did not run.
func TestLate(t *testing.T) {
	for _, c := range []struct {
		pid         int
		after, want time.Duration
	}{{0, 3 * time.Second, 2 * time.Second}, {0, 1500 * time.Millisecond, 0}, {0, time.Minute, 59 * time.Second}, {1, time.Minute, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var got trace.Usage
			s := New(Config{PID: c.pid, Root: t.TempDir(), Publish: func(u trace.Usage) { got = u }})
			s.last, s.due = s.read(), time.Now().Add(Awake)
			time.Sleep(c.after)
			s.sample()
			if got.Late != c.want || got.Interval != c.after {
				t.Errorf("process %d after %s: %s late in %s, want %s", c.pid, c.after, got.Late, got.Interval, c.want)
			}
		})
	}
}
