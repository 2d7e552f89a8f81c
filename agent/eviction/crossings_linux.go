package eviction

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// usageFile has what a cgroup uses, in bytes.
	usageFile = "memory.usage_in_bytes"
	// slack is by how many bytes a mark may be wrong: the kernel itself compares only every 128 pages of each CPU.
	slack = 1 << 20
)

// Crossings are notifications of cgroup v1 that a cgroup's memory crosses a mark. cgroup v2 has none. Create it with NewCrossings.
//
// Kernel: Documentation/admin-guide/cgroup-v1/memory.rst, 9. Memory thresholds. Upstream: pkg/kubelet/eviction/threshold_notifier_linux.go.
type Crossings struct {
	dirs map[trace.Signal]string
	want chan []Mark
	out  chan struct{}
	bus  *trace.Bus

	// Only Run uses these.
	held    []registration
	readers sync.WaitGroup
	failing bool
}

// registration is a mark that the kernel knows, in bytes of usage. Closing event ends it.
type registration struct {
	signal trace.Signal
	at     int64
	event  *os.File
}

// NewCrossings returns Crossings of the cgroups of signals, such as /sys/fs/cgroup/memory for the node's memory.
func NewCrossings(bus *trace.Bus, dirs map[trace.Signal]string) *Crossings {
	return &Crossings{dirs: dirs, want: make(chan []Mark, 1), out: make(chan struct{}, 1), bus: bus}
}

// C implements Watcher.
func (c *Crossings) C() <-chan struct{} { return c.out }

// Set implements Watcher. It is for one caller.
func (c *Crossings) Set(marks []Mark) {
	select {
	case <-c.want: // Run has not come to it
	default:
	}
	c.want <- marks
}

// Run registers marks until ctx is done, then ends the registrations. A mark that cannot be registered is a trace.Log only, because rounds
// also run without notifications.
func (c *Crossings) Run(ctx context.Context) error {
	defer c.readers.Wait()
	defer func() { release(c.held) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case marks := <-c.want:
			c.tell(c.register(marks))
		}
	}
}

// register has the kernel know marks. Those that are as good as the ones that it knows are kept.
func (c *Crossings) register(marks []Mark) error {
	old := c.held
	c.held = nil
	defer func() { release(old) }()
	for _, m := range marks {
		dir, ok := c.dirs[m.Signal]
		if !ok {
			continue
		}
		used, err := usedBy(dir)
		if err != nil {
			return err
		}
		at := used + m.Headroom
		if at <= 0 {
			continue
		}
		if i := near(old, m.Signal, at); i >= 0 {
			c.held = append(c.held, old[i])
			old = append(old[:i:i], old[i+1:]...)
			continue
		}
		event, err := notify(dir, at)
		if err != nil {
			return err
		}
		c.held = append(c.held, registration{m.Signal, at, event})
		c.readers.Go(func() { c.read(event) })
	}
	return nil
}

// near returns the index of a registration that is good for a mark; -1 for none.
func near(all []registration, s trace.Signal, at int64) int {
	for i, r := range all {
		if d := r.at - at; r.signal == s && -slack < d && d < slack {
			return i
		}
	}
	return -1
}

// read passes notifications on until the registration ends.
func (c *Crossings) read(event *os.File) {
	var count [8]byte
	for {
		if _, err := event.Read(count[:]); err != nil {
			return
		}
		select {
		case c.out <- struct{}{}:
		default:
		}
	}
}

func (c *Crossings) tell(err error) {
	if err != nil && !c.failing {
		trace.Point(c.bus, trace.Span{}, trace.Log{
			Level: trace.LevelWarn, Message: fmt.Sprintf("eviction: the kernel does not report that memory crosses a threshold; the node is measured every %s: %v", WatchPeriod, err),
		})
	}
	c.failing = err != nil
}

func release(all []registration) {
	for _, r := range all {
		_ = r.event.Close()
	}
}

func usedBy(dir string) (int64, error) {
	text, err := wholefile.Read(filepath.Join(dir, usageFile), wholefile.Small)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// notify registers a mark, in bytes of usage. The file is readable after each crossing.
func notify(dir string, at int64) (event *os.File, err error) {
	used, err := os.Open(filepath.Join(dir, usageFile))
	if err != nil {
		return nil, err
	}
	defer used.Close() //nolint:errcheck // nothing was written
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	event = os.NewFile(uintptr(fd), "memory threshold of "+dir)
	control := filepath.Join(dir, "cgroup.event_control")
	if err := os.WriteFile(control, fmt.Appendf(nil, "%d %d %d", fd, used.Fd(), at), 0); err != nil {
		_ = event.Close()
		return nil, err
	}
	return event, nil
}
