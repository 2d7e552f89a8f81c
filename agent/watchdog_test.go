package agent_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
)

// TestWatchdog starts the agent as systemd does, with a watchdog: systemd hears that it is ready, from its watchdog, and that it stops.
func TestWatchdog(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "3600000000")
	said := func(want string) {
		t.Helper()
		buf := make([]byte, 256)
		_ = l.SetReadDeadline(time.Now().Add(time.Minute))
		if got, err := l.Read(buf); err != nil || string(buf[:got]) != want {
			t.Errorf("systemd was told %q, %v, want %s", buf[:got], err, want)
		}
	}
	n := run(t, newHost(t, map[string]sim.Latency{}).config())
	said("READY=1")
	said("WATCHDOG=1")
	n.end()
	said("STOPPING=1")
}

// TestWatchdogTooShort does not start an agent that could not answer in time.
func TestWatchdogTooShort(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "1000000")
	a, err := agent.New(newHost(t, map[string]sim.Latency{}).config("--pod-manifest-path", t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); err == nil || err.Error() != "WatchdogSec is 1s: must be longer than 1s" {
		t.Errorf("it runs: %v", err)
	}
}
