package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestServiceManager has the agent started as systemd would: it says when it is up and when it stops. Its own oom_score_adj is as
// configured; less than there is would need a permission that not every machine gives.
func TestServiceManager(t *testing.T) {
	n := newNode(t)
	socket := filepath.Join(n.dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	t.Setenv("NOTIFY_SOCKET", socket)
	n.config = "oomScoreAdj: 100\n"
	a := n.start()
	said := func(want string) {
		t.Helper()
		buf := make([]byte, 256)
		_ = l.SetReadDeadline(time.Now().Add(deadline))
		if got, err := l.Read(buf); err != nil || string(buf[:got]) != want {
			t.Errorf("the service manager was told %q, %v, want %s", buf[:got], err, want)
		}
	}
	said("READY=1")
	score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", a.cmd.Process.Pid))
	if err != nil || strings.TrimSpace(string(score)) != "100" {
		t.Errorf("oom_score_adj is %q, %v", score, err)
	}
	if got := a.find(func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Log)
		return ok && strings.Contains(e.Message, "oomScoreAdj")
	}); len(got) > 0 {
		t.Errorf("it warns: %s", got[0].Event.(*trace.Log).Message)
	}
	a.stop()
	said("STOPPING=1")
}

// TestFailSwapOn runs the agent where /proc/swaps, in a mount namespace of its own, names a device.
func TestFailSwapOn(t *testing.T) {
	n := newNode(t)
	swaps := filepath.Join(n.dir, "swaps")
	if err := os.WriteFile(swaps, []byte("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/sdz9\tpartition\t1\t0\t-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := n.command()
	cmd = exec.CommandContext(n.ctx(), "unshare", append([]string{
		"--mount", "sh", "-c", `mount --bind "$0" /proc/swaps && exec "$@"`, swaps,
	}, cmd.Args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	for _, want := range []string{"failSwapOn", "/dev/sdz9", "failSwapOn: false"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("it says %q, %v, want %s named", &stderr, err, want)
		}
	}
	if err == nil {
		t.Error("it runs although swap is on")
	}
}
