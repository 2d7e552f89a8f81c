package rank_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/rank"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const ms = time.Millisecond

// session has ten fast starts, two slow ones and one that continues.
func session(t testing.TB) []rank.Start {
	t.Helper()
	var out []rank.Start
	add := func(s tape.Start, upTo time.Duration) {
		tp := tape.New()
		tp.Start(s)
		recs := tp.Records()
		for upTo > 0 && len(recs) > 0 && recs[len(recs)-1].Time > tape.Epoch.Add(upTo).UnixNano() {
			recs = recs[:len(recs)-1]
		}
		f, err := waterfall.Build(recs, s.Pod)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rank.Of(f))
	}
	for i := range 10 {
		d := time.Duration(i) * ms
		add(tape.Start{
			Pod: trace.Pod{Namespace: "shop", Name: fmt.Sprintf("web-%02d", i), UID: fmt.Sprint(i)}, Image: "registry.local/shop/web:1.4", At: 300 * d,
			Queue: 10 * d, Sandbox: 180*ms + 7*d, Volumes: 40 * ms, Create: 38 * ms, Run: 60 * ms, Probe: 100 * ms,
		}, 0)
	}
	add(tape.Start{
		Pod: trace.Pod{Namespace: "shop", Name: "cart-7d4f-a1b", UID: "a"}, Image: "redis:7.2", Bytes: 68 << 20,
		Sandbox: 312 * ms, Volumes: 48 * ms, Pull: 4100 * ms, Create: 41 * ms, Run: 88 * ms, Probe: 430 * ms,
	}, 0)
	add(tape.Start{
		Pod: trace.Pod{Namespace: "kube-system", Name: "cni-with-a-name-that-is-longer-than-what-has-room-9xk", UID: "b"}, Image: "net/cni:3.1",
		Sandbox: 1800 * ms, Create: 41 * ms, Run: 88 * ms,
	}, 0)
	add(tape.Start{Pod: trace.Pod{Namespace: "shop", Name: "cart-7d4f-x2z", UID: "c"}, Image: "redis:7.2", Sandbox: 290 * ms, Pull: 9000 * ms}, 290*ms)
	return out
}

func TestGolden(t *testing.T) {
	starts := session(t)
	starts[3].Cause = "=1+1\n\x1b[31mred"
	for name, c := range map[string]struct {
		opt   rank.Options
		write func(io.Writer, *rank.Ranking) error
	}{
		"all-80.txt":    {rank.Options{Group: "image"}, func(w io.Writer, r *rank.Ranking) error { return rank.Text(w, r, 80) }},
		"pull-120.txt":  {rank.Options{By: "pull", N: 3, Group: "namespace"}, func(w io.Writer, r *rank.Ranking) error { return rank.Text(w, r, 120) }},
		"narrow-60.txt": {rank.Options{By: "ready", N: 5}, func(w io.Writer, r *rank.Ranking) error { return rank.Text(w, r, 20) }},
		"three.json":    {rank.Options{N: 3, Group: "source"}, rank.JSON},
		"all.csv":       {rank.Options{}, rank.CSV},
	} {
		r, err := rank.Rank(starts, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := c.write(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
		if err := c.write(broken{}, r); !errors.Is(err, errFull) {
			t.Errorf("%s: a writer that fails: got %v", name, err)
		}
		if _, cols, ok := strings.Cut(name, "-"); ok {
			var width int
			_, _ = fmt.Sscanf(cols, "%d.txt", &width)
			for line := range strings.Lines(b.String()) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
					t.Errorf("%s: %d columns: %s", name, n, line)
				}
			}
		}
		if strings.HasSuffix(name, ".csv") {
			if _, err := csv.NewReader(&b).ReadAll(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for want, opt := range map[string]rank.Options{
		`rank by "pul": no start has it; want one of started, ready, floor, create, pull, sandbox, start, unexplained, wait queue`: {By: "pul"},
		`group by "node": want image, namespace or source`:                                                                         {Group: "node"},
	} {
		if _, err := rank.Rank(session(t), opt); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestNoStarts(t *testing.T) {
	r, err := rank.Rank(nil, rank.Options{By: "pull", Group: "image"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := rank.Text(&b, r, 80); err != nil {
		t.Fatal(err)
	}
	if b.String() != "0 starts\n" {
		t.Errorf("got %q", b.String())
	}
}

// A start that a person held with step is listed last and is in no figure.
func TestStepped(t *testing.T) {
	pod := trace.Pod{Namespace: "shop", Name: "held", UID: "h"}
	tp := tape.New()
	tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	start := tp.Begin(0, pod, 0, &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
	gate := tp.Begin(0, pod, start, &trace.Wait{For: trace.WaitGate})
	tp.End(time.Minute, gate, nil)
	tp.End(time.Minute+ms, start, nil)
	tp.Point(time.Minute+ms, pod, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: time.Minute + ms})
	f, err := waterfall.Build(tp.Records(), pod)
	if err != nil {
		t.Fatal(err)
	}
	others := session(t)
	for _, by := range []string{"started", "floor", "create"} {
		want, err := rank.Rank(others, rank.Options{By: by, Group: "namespace"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := rank.Rank(append([]rank.Start{rank.Of(f)}, others...), rank.Options{By: by, Group: "namespace"})
		if err != nil {
			t.Fatal(err)
		}
		if got.Stepped != 1 || got.Started != want.Started || got.Starts[len(got.Starts)-1].Pod != pod {
			t.Errorf("by %s: %d stepped, %d started, last %s", by, got.Stepped, got.Started, got.Starts[len(got.Starts)-1].Pod)
		}
		if diff := cmp.Diff([]any{want.All, want.Phases, want.Groups}, []any{got.All, got.Phases, got.Groups}); diff != "" {
			t.Errorf("by %s: the figures differ (-without +with):\n%s", by, diff)
		}
	}
}

// TestPercentiles: nearest rank.
func TestPercentiles(t *testing.T) {
	for _, c := range []struct {
		n             int
		p50, p90, p99 time.Duration
	}{{1, 1, 1, 1}, {2, 1, 2, 2}, {10, 5, 9, 10}, {100, 50, 90, 99}, {101, 51, 91, 100}} {
		var starts []rank.Start
		for i := range c.n {
			starts = append(starts, rank.Start{Started: time.Duration(i + 1), SoFar: time.Duration(i + 1), Ready: -1})
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
		r, err := rank.Rank(starts, rank.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := rank.Spread{Name: "started", N: c.n, P50: c.p50, P90: c.p90, P99: c.p99, Max: time.Duration(c.n), Sum: time.Duration(c.n * (c.n + 1) / 2)}
		if diff := cmp.Diff(want, r.All); diff != "" {
			t.Errorf("%d starts (-want +got):\n%s", c.n, diff)
		}
	}
}

// many returns the starts of a big session.
func many(n int) []rank.Start {
	rnd := rand.New(rand.NewPCG(1, 1))
	out := make([]rank.Start, n)
	for i := range out {
		d := time.Duration(rnd.IntN(2000)+100) * ms
		out[i] = rank.Start{
			Pod: trace.Pod{Namespace: fmt.Sprint("ns-", i%20), Name: fmt.Sprint("pod-", i)}, Images: []string{fmt.Sprint("image-", i%50)},
			Seen: tape.Epoch, Started: d, SoFar: d, Ready: d, Cause: "pull",
			Phases: []rank.Phase{{Name: "pull", Dur: d / 2}, {Name: "sandbox", Dur: d / 4}, {Name: "create", Dur: d / 8}, {Name: "start", Dur: d / 8}},
		}
	}
	return out
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			starts := many(n)
			b.ReportAllocs()
			for b.Loop() {
				r, err := rank.Rank(starts, rank.Options{N: 20, Group: "image"})
				if err != nil {
					b.Fatal(err)
				}
				if err := rank.Text(io.Discard, r, 120); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

var errFull = errors.New("disk full")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errFull }
