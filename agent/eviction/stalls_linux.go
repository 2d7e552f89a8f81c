package eviction

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// trigger asks the kernel for a notification when some tasks stalled for memory for 0.3 s of 2 s. Shorter windows need CAP_SYS_RESOURCE.
//
// Kernel: Documentation/accounting/psi.rst.
const trigger = "some 300000 2000000\x00"

// Stalls is notified when tasks of the node, or of all pods, stall for memory: the kernel looks for memory in vain, before it kills
// something. Create it with NewStalls.
type Stalls struct {
	out   chan struct{}
	files []*os.File
	bus   *trace.Bus
}

// NewStalls registers with the kernel: with files such as /proc/pressure/memory and a cgroup's memory.pressure. Files that do not exist
// are left out; a kernel without any is an error that is a trace.Log only, because rounds also run without notifications.
func NewStalls(bus *trace.Bus, paths ...string) *Stalls {
	s := &Stalls{out: make(chan struct{}, 1), bus: bus}
	var errs []error
	for _, path := range paths {
		f, err := register(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.files = append(s.files, f)
	}
	if len(s.files) == 0 {
		trace.Point(bus, trace.Span{}, trace.Log{
			Level: trace.LevelDebug, Message: fmt.Sprintf("eviction: the kernel does not report stalls for memory (PSI); the node is measured every %s: %v", Period, errors.Join(errs...)),
		})
	}
	return s
}

func register(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if _, err := unix.Write(fd, []byte(trigger)); err != nil {
		_ = unix.Close(fd)
		return nil, &os.PathError{Op: "register", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// C delivers the notifications, at most one that is not taken.
func (s *Stalls) C() <-chan struct{} { return s.out }

// Run waits for the kernel until ctx is done, then ends the registrations.
func (s *Stalls) Run(ctx context.Context) error {
	defer func() {
		for _, f := range s.files {
			_ = f.Close()
		}
	}()
	if len(s.files) == 0 {
		<-ctx.Done()
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("wait for stalls: %w", err)
	}
	defer func() { _ = r.Close() }()
	defer context.AfterFunc(ctx, func() { _ = w.Close() })() // wakes poll
	fds := []unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}
	for _, f := range s.files {
		fds = append(fds, unix.PollFd{Fd: int32(f.Fd()), Events: unix.POLLPRI})
	}
	for ctx.Err() == nil {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			_ = w.Close()
			return fmt.Errorf("wait for stalls: %w", err)
		}
		s.heed(fds[1:])
	}
	return nil
}

// heed passes notifications on. A file whose cgroup is gone is left out from then on.
func (s *Stalls) heed(fds []unix.PollFd) {
	for i := range fds {
		if fds[i].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
			fds[i].Fd = -1
		} else if fds[i].Revents&unix.POLLPRI != 0 {
			select {
			case s.out <- struct{}{}:
			default:
			}
		}
		fds[i].Revents = 0
	}
}
