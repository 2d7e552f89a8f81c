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
	if text := b.kubeloupe(t, "events", "--kind", "log", "--socket", a.socket); !strings.Contains(text, "truncated") {
		t.Errorf("nothing says that lines may be missing:\n%.2000s", text)
	}
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
	eventually(t, "what is said of it", func() string {
		text := b.kubeloupe(t, "events", "--kind", "log", "--socket", a.socket)
		if !strings.Contains(text, "has ended") || !strings.Contains(text, "was started again") {
			return text[max(0, len(text)-2000):]
		}
		return ""
	})
}
