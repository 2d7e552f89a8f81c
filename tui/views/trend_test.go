package views

import (
	"iter"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

var plain = regexp.MustCompile(`\x1b\[[\d;]*m`)

// TestTrend draws the longest duration of each step: of a second while nothing older than a minute is kept, else of five.
func TestTrend(t *testing.T) {
	now := time.Unix(1000, 0)
	times := func(ages ...time.Duration) iter.Seq2[time.Time, time.Duration] {
		return func(yield func(time.Time, time.Duration) bool) {
			for i, age := range ages {
				if !yield(now.Add(-age), time.Duration(i+1)*time.Second) {
					return
				}
			}
		}
	}
	th := style.For([]string{"TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1"})
	var tr trend
	for _, c := range []struct {
		of   string
		ages []time.Duration
		want string
	}{
		{"short", []time.Duration{0, 1500 * time.Millisecond, 1600 * time.Millisecond}, strings.Repeat(" ", 58) + "█▁  longest 3.00s in 1m00s"},
		{"long", []time.Duration{0, 4 * time.Second, 61 * time.Second, 301 * time.Second}, strings.Repeat(" ", 47) + "█" + strings.Repeat(" ", 11) + "▁  longest 3.00s in 5m00s"},
		{"none", nil, strings.Repeat(" ", 60) + "  longest - in 1m00s"},
	} {
		tr.refresh(now, c.of, times(c.ages...))
		got := tr.line(th, 120, style.Accent, time.Second)
		if want := " " + c.of + "  " + c.want; plain.ReplaceAllString(got, "") != want {
			t.Errorf("%s:\n%q, want\n%q", c.of, got, want)
		}
		if n := fit.Width(tr.line(th, 40, style.Accent, time.Second)); n > 40 {
			t.Errorf("%s: %d columns, want 40 at most", c.of, n)
		}
	}
}

// TestStalledTrend draws what usage records said.
func TestStalledTrend(t *testing.T) {
	m, now := model.New(model.Options{}), time.Unix(5000, 0)
	for i := range 10 {
		m.Apply(&trace.Record{Seq: uint64(i + 1), Time: now.Add(-time.Duration(9-i) * 10 * time.Second).UnixNano(), Event: &trace.Usage{
			Interval: 10 * time.Second, Stalls: []trace.Stall{{Resource: trace.ResourceCPU, Some: time.Duration(i) * time.Second}},
		}})
	}
	p := NewNode(Look{Theme: style.New(false), Scene: &Scene{}})
	p.now = now
	if got, want := p.stalled(m, trace.ResourceCPU), strings.Repeat(" ", 20)+"▁▁▂▃▄▄▅▆▇█ in 5m00s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
