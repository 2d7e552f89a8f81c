package attach

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// seen waits until others see the start of a pod by the socket.
func (b *bench) seen(t *testing.T, socket, pod string) {
	t.Helper()
	eventually(t, "the start of "+pod, func() string {
		out, err := exec.Command(b.Binary, "trace", "default/"+pod, "--socket", socket).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "start    web") {
			return string(out)
		}
		return ""
	})
}

// follows waits until attach follows the logs: a pod is seen that starts now.
func (a *attached) follows(t *testing.T, b *bench, pod string) {
	t.Helper()
	b.create(t, pod)
	b.seen(t, a.socket, pod)
}

// ends waits until attach has ended.
func (a *attached) ends(t *testing.T, code int) {
	t.Helper()
	eventually(t, "the end of attach", func() string {
		select {
		case <-a.done:
			return ""
		default:
			return "it runs"
		}
	})
	if got := a.ProcessState.ExitCode(); got != code {
		t.Errorf("attach ended with %d: %s", got, a.said())
	}
}

// nothingLeft sees that attach left no socket, the kubelet is ready, and no container has restarted.
func (b *bench) nothingLeft(t *testing.T, a *attached) {
	t.Helper()
	if _, err := os.Lstat(a.socket); err == nil {
		t.Error("attach left its socket")
	}
	b.well(t)
}

// well sees that the kubelet is ready, and that no container has restarted.
func (b *bench) well(t *testing.T) {
	t.Helper()
	if err := b.kubelet.WaitReady(t.Context()); err != nil {
		t.Error(err)
	}
	out, err := b.Kubectl(t.Context(), "get", "pods", "-A", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.containerStatuses[*].restartCount}{"\n"}{end}`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		name, counts, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.Trim(counts, "0 ") != "" {
			t.Errorf("containers of %s have restarted: %s", name, counts)
		}
	}
}
