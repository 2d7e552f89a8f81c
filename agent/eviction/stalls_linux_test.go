package eviction

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// The kernel accepts the registration, and Run ends with its context.
func TestStallsRegisters(t *testing.T) {
	const path = "/proc/pressure/memory"
	if _, err := os.Stat(path); err != nil {
		t.Skip("this kernel has no PSI:", err)
	}
	rec := tracetest.New(t)
	s := NewStalls(rec.Bus(), path, filepath.Join(t.TempDir(), "memory.pressure"))
	if len(s.files) != 1 {
		t.Fatalf("%d files: %+v", len(s.files), tracetest.Events[trace.Log](rec))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Run does not end")
	}
}

// Without PSI, the log says so, and nothing else fails.
func TestStallsWithout(t *testing.T) {
	rec := tracetest.New(t)
	s := NewStalls(rec.Bus(), filepath.Join(t.TempDir(), "memory.pressure"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil || len(tracetest.Events[trace.Log](rec)) != 1 {
		t.Error(err, tracetest.Events[trace.Log](rec))
	}
}

func TestHeed(t *testing.T) {
	s := &Stalls{out: make(chan struct{}, 1)}
	fds := []unix.PollFd{{Fd: 3, Revents: unix.POLLPRI}, {Fd: 4, Revents: unix.POLLERR | unix.POLLPRI}, {Fd: 5, Revents: unix.POLLPRI}}
	s.heed(fds)
	if fds[0].Fd != 3 || fds[1].Fd != -1 || fds[0].Revents != 0 || len(s.C()) != 1 {
		t.Errorf("%+v, %d notifications", fds, len(s.C()))
	}
}
