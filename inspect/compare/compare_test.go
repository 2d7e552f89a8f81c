package compare_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/compare"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const ms = time.Millisecond

var first, second = trace.Pod{Namespace: "shop", Name: "cart-7d4f-a1b", UID: "1"}, trace.Pod{Namespace: "shop", Name: "cart|9c1e-x2z", UID: "2"}

func fall(t *testing.T, s tape.Start) *waterfall.Waterfall {
	t.Helper()
	tp := tape.New()
	tp.Start(s)
	f, err := waterfall.Build(tp.Records(), s.Pod)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// cold pulls; warm finds the image and waits in the queue.
func cold() tape.Start {
	return tape.Start{Pod: first, Image: "redis:7.2", Bytes: 68 << 20, Sandbox: 205 * ms, Volumes: 48 * ms, Pull: 4100 * ms, Create: 41 * ms, Run: 88 * ms, Probe: 430 * ms}
}

func warm() tape.Start {
	return tape.Start{Pod: second, Image: "redis:7.4", Queue: 300 * ms, Sandbox: 195 * ms, Volumes: 52 * ms, Create: 40 * ms, Run: 88 * ms}
}

// unstarted is a start of which only the beginning is known.
func unstarted(t *testing.T) *waterfall.Waterfall {
	t.Helper()
	tp := tape.New()
	tp.Start(cold())
	f, err := waterfall.Build(tp.Records()[:6], first)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGolden(t *testing.T) {
	c := compare.Diff(fall(t, cold()), fall(t, warm()))
	for suffix, write := range map[string]func(io.Writer, *compare.Comparison) error{
		".txt": compare.Text, ".md": compare.Markdown, ".json": compare.JSON,
	} {
		var b bytes.Buffer
		if err := write(&b, c); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "cold-warm"+suffix)
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
		}
		if err := write(broken{}, c); !errors.Is(err, errFull) {
			t.Errorf("%s: a writer that fails: got %v", suffix, err)
		}
	}
}

// TestPathAddsUp holds the parts' differences against the whole's.
func TestPathAddsUp(t *testing.T) {
	c := compare.Diff(fall(t, cold()), fall(t, warm()))
	var sum time.Duration
	for _, l := range c.Path {
		sum += *l.Delta
	}
	if want := *c.Totals[0].Delta; sum != want {
		t.Errorf("the path's parts differ by %s, the starts by %s", sum, want)
	}
}

func TestSentence(t *testing.T) {
	same := cold()
	same.Run += 2 * ms
	slower := warm()
	slower.Sandbox += time.Second
	for _, c := range []struct {
		name string
		a, b *waterfall.Waterfall
		want string
	}{
		{"faster", fall(t, cold()), fall(t, warm()), "B took 3.61s less than A (-85 %); most of it is pull: 4.10s to nothing."},
		{"slower", fall(t, warm()), fall(t, slower), "B took 1.00s longer than A (×2.6); most of it is sandbox: 195ms to 1.20s."},
		{"the other way", fall(t, warm()), fall(t, cold()), "B took 3.61s longer than A (×6.8); most of it is pull: nothing to 4.10s."},
		{"the same", fall(t, cold()), fall(t, same), "Both took as long: 4.23s and 4.23s."},
		{"with itself", fall(t, cold()), fall(t, cold()), "Both took as long: 4.23s and 4.23s."},
		{"b is not up", fall(t, cold()), unstarted(t), "B has not started; A has."},
		{"a is not up", unstarted(t), fall(t, cold()), "A has not started; B has."},
		{"neither is", unstarted(t), unstarted(t), "Neither has started."},
	} {
		if got := compare.Diff(c.a, c.b).Sentence; got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestChange is calm: tiny bases and huge factors are not told as percentages.
func TestChange(t *testing.T) {
	us := time.Microsecond
	for _, c := range []struct {
		a, b time.Duration
		want string
	}{
		{10 * us, 4810 * us, "-"},
		{999 * us, 5 * time.Second, "-"},
		{ms, 1999 * us, "+100 %"},
		{ms, 2 * ms, "×2.0"},
		{100 * ms, 133 * ms, "+33 %"},
		{100 * ms, 443 * ms, "×4.4"},
		{100 * ms, time.Second, "×10.0"},
		{100 * ms, 1001 * ms, ">×10"},
		{2 * time.Second, 10 * us, "-100 %"},
		{2 * time.Second, 2 * time.Second, "0 %"},
	} {
		s := tape.Start{Pod: first, Sandbox: c.a, Run: time.Second}
		o := s
		o.Sandbox = c.b
		var b bytes.Buffer
		if err := compare.Text(&b, compare.Diff(fall(t, s), fall(t, o))); err != nil {
			t.Fatal(err)
		}
		line := ""
		for l := range strings.Lines(b.String()) {
			if strings.HasPrefix(l, "sandbox ") {
				line = strings.TrimSpace(l)
			}
		}
		if !strings.HasSuffix(line, "  "+c.want) {
			t.Errorf("%v to %v: want %q in %q", c.a, c.b, c.want, line)
		}
	}
}

// TestMissing is not zero.
func TestMissing(t *testing.T) {
	var b bytes.Buffer
	if err := compare.Text(&b, compare.Diff(fall(t, cold()), unstarted(t))); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "seen to started") && !strings.HasSuffix(strings.TrimSpace(line), "4.23s         -         -        -") {
			t.Errorf("got %s", line)
		}
		if n := len([]rune(line)); n > 81 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

var errFull = errors.New("disk full")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errFull }
