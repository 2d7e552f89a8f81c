package attach

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTruncated truncates the kubelet's log under attach: the next pod is seen, and the gap is said.
func TestTruncated(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	if err := os.Truncate(b.kubelet.LogFile, 0); err != nil {
		t.Fatal(err)
	}
	b.create(t, "rotated")
	eventually(t, "the pod after it", func() string {
		out, err := exec.Command(b.binary, "trace", "default/rotated", "--socket", a.socket).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "start    web") {
			return string(out)
		}
		return ""
	})
	a.says(t, "the log was truncated")
}

// TestRestarted restarts the kubelet under attach: that is said, and pods are seen as before.
func TestRestarted(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	if err := b.kubelet.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	next, err := b.start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	b.kubelet = next
	b.create(t, "restarted")
	eventually(t, "the pod after it", func() string {
		out, err := exec.Command(b.binary, "trace", "default/restarted", "--socket", a.socket).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "start    web") {
			return string(out)
		}
		return ""
	})
	a.says(t, "has ended")
	a.says(t, "was started again")
}
