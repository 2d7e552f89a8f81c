package tui

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

func TestLogs(t *testing.T) { synctest.Test(t, testLogs) }

// testLogs follows a log, stays with a line, and shows nothing that controls the terminal.
func testLogs(t *testing.T) {
	reads, failing := 0, false
	cfg := Config{Logs: func(_ context.Context, pod trace.Pod, container string, previous bool) (views.LogTail, error) {
		reads++
		if failing {
			return views.LogTail{}, errors.New("the log is gone")
		}
		if previous {
			return views.LogTail{Container: container, Attempt: 1, Lines: []string{"panic: out of order"}}, nil
		}
		tail := views.LogTail{Container: container, Running: true, Attempt: 2}
		for i := range 50 {
			tail.Lines = append(tail.Lines, fmt.Sprintf("%s %s line %d.%d \x1b[31mred\x1b[m \x1b]0;title\a\x9b5n", pod, container, reads, i))
		}
		return tail, nil
	}}
	d := drive(t, cfg, 100, 24).play()
	second := func() {
		time.Sleep(time.Second)
		d.settle()
	}
	d.keys("6 l").want("logs shop/cart-7d4f-x2z", "no container of this pod is known yet") // it is pulling
	d.keys("esc : l o g s space")
	for _, r := range "shop/web-27" {
		d.keys(string(r))
	}
	d.keys("enter").want("logs shop/web-27", "› main", "running, restart 2", "line 1.49 red", "of 50")
	second()
	d.want("line 2.49")
	d.wantNot("line 1.", "title", "\x9b")
	d.keys("k")
	second()
	d.want("line 3.48")
	d.wantNot("line 3.49")
	d.keys("G")
	second()
	d.want("line 4.49")
	d.keys("p").want("reading the previous log of main", "› previous (p)")
	second()
	d.want("panic: out of order", "exited, restart 1")
	d.keys("p").wantNot("panic", "previous (p)")
	second()
	d.want("line 6.49", "running, restart 2")
	failing = true
	second()
	d.want("the log is gone")
	d.keys("esc").wantNot("the log is gone")
	was := reads
	second()
	second()
	if reads != was {
		t.Errorf("it reads after it was closed: %d times", reads-was)
	}
}

// TestNoLogs: a recording has none, and says what to do.
func TestNoLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drive(t, Config{}, 120, 40).play().keys("6 l").want("A recording, a log file or another kubelet does not give kubeloupe", "kubectl logs -n shop")
	})
}
