package attach

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/terminal"
)

// TestTruncated truncates the kubelet's log under attach: the next pod is seen, and the gap is said.
func TestTruncated(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	a.follows(t, b, "unrotated")
	if err := os.Truncate(b.kubelet.LogFile, 0); err != nil {
		t.Fatal(err)
	}
	b.create(t, "rotated")
	b.seen(t, a.socket, "rotated")
	a.says(t, "the log was truncated")
}

// TestRestarted restarts the kubelet under attach: that is said, and pods are seen as before.
func TestRestarted(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	a.follows(t, b, "unrestarted")
	if err := b.kubelet.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := b.start(t.Context(), t.Output(), 4)
	if err != nil {
		t.Fatal(err)
	}
	b.kubelet = next
	x := terminal.Start(t, exec.Command(b.Binary, "tui", "--socket", a.socket))
	x.Sees(fmt.Sprintf("pid %d", next.PID()))
	x.Types("q")
	x.Ends()
	b.create(t, "restarted")
	b.seen(t, a.socket, "restarted")
	a.says(t, "has ended")
	a.says(t, "was started again")
	b.seen(t, a.socket, "unrestarted")
}

// TestRuntimeRestarted kills containerd and starts it again under attach: pods are seen as before, and no container restarts.
func TestRuntimeRestarted(t *testing.T) {
	b := setup(t)
	b.create(t, "lasting")
	a := b.attach(t)
	b.seen(t, a.socket, "lasting")
	if err := b.RestartContainerd(t.Context(), syscall.SIGKILL, func() { time.Sleep(2 * time.Second) }); err != nil {
		t.Fatal(err)
	}
	b.create(t, "afterwards")
	b.seen(t, a.socket, "afterwards")
	b.by(t, a, "afterwards", "runtime-log")
	a.Process.Signal(syscall.SIGTERM) // ends tells
	a.ends(t, 0)
	b.nothingLeft(t, a)
}

// by sees that an observer has seen something of a pod.
func (b *bench) by(t *testing.T, a *attached, pod, observer string) {
	t.Helper()
	eventually(t, observer+" of "+pod, func() string {
		text := b.kubeloupe(t, "events", "-o", "json", "--pod", "default/"+pod, "--socket", a.socket)
		if !strings.Contains(text, observer) {
			return text
		}
		return ""
	})
}
