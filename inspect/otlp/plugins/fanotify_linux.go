package plugins

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	maxRuns    = 512              // that continue at a time
	maxAge     = 10 * time.Minute // of one; its end was missed
	maxEnviron = 64 << 10
	retryEvery = 300 * time.Microsecond // a program is looked at again until it has taken over
	retries    = 30
	pause      = Precision // after notices of which none counts
	eventSize  = 24        // of struct fanotify_event_metadata, in bytes
)

// event is one notice of the kernel.
type event struct {
	mask uint64
	fd   int
	pid  int
}

// parse takes a read's bytes apart.
func parse(b []byte) (out []event) {
	for len(b) >= eventSize {
		n := int(binary.NativeEndian.Uint32(b))
		if n < eventSize || n > len(b) || b[4] != unix.FANOTIFY_METADATA_VERSION {
			break
		}
		out = append(out, event{
			mask: binary.NativeEndian.Uint64(b[8:]),
			fd:   int(int32(binary.NativeEndian.Uint32(b[16:]))),
			pid:  int(int32(binary.NativeEndian.Uint32(b[20:]))),
		})
		b = b[n:]
	}
	return out
}

// running is a plugin that has begun.
type running struct {
	Exec
	known bool // its environment was read
	tries int
}

// table holds what runs, by process.
type table struct {
	runs    map[int]*running
	unknown int // whose environment is not read yet
	silent  bool
	trust   trust
}

func (w *Watcher) run(ctx context.Context) error {
	m, err := w.watch()
	if err != nil {
		return err
	}
	defer m.close()
	defer context.AfterFunc(ctx, m.close)()
	f := m.group
	t := &table{runs: map[int]*running{}, silent: w.cfg.Silent, trust: trust{socket: w.cfg.Runtime, only: w.cfg.PID, stranger: w.cfg.Stranger}}
	buf := make([]byte, 4096)
	for {
		deadline := time.Time{}
		if t.unknown > 0 {
			deadline = time.Now().Add(retryEvery)
		}
		err := f.SetReadDeadline(deadline)
		n := 0
		if err == nil {
			n, err = f.Read(buf)
		}
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, os.ErrClosed) {
			return <-m.failed
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("watch CNI plugins: %w", err)
		}
		now := time.Now()
		t.look()
		idle := n > 0
		for _, e := range parse(buf[:max(n, 0)]) {
			if over, ok := t.handle(e, now); ok {
				w.cfg.Done(over)
			}
			idle = idle && t.runs[e.pid] == nil
		}
		if idle && len(t.runs) == 0 { // whoever opens and closes these files, or runs them, as fast as they can gets no more of this process
			time.Sleep(pause)
		}
	}
}

// handle follows one notice; over is a run that it ends.
func (t *table) handle(e event, now time.Time) (over Exec, ok bool) {
	if e.mask&unix.FAN_Q_OVERFLOW != 0 { // ends may be missing
		clear(t.runs)
		t.unknown = 0
	}
	if e.fd < 0 {
		return Exec{}, false
	}
	defer func() { _ = unix.Close(e.fd) }()
	if e.pid <= 0 {
		return Exec{}, false
	}
	if e.mask&unix.FAN_OPEN_EXEC != 0 && t.trust.counts(e.pid) {
		path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(e.fd))
		if err != nil {
			return Exec{}, false
		}
		t.begin(e.pid, filepath.Base(path), now)
	}
	r := t.runs[e.pid]
	if e.mask&unix.FAN_CLOSE_NOWRITE == 0 || r == nil || alive(e.pid) {
		return Exec{}, false // a script's file is closed when its interpreter takes over
	}
	t.drop(e.pid)
	r.Dur = now.Sub(r.Start)
	return r.Exec, r.known
}

func (t *table) begin(pid int, name string, now time.Time) {
	if old := t.runs[pid]; old != nil {
		t.drop(pid)
	}
	for p, r := range t.runs {
		if now.Sub(r.Start) > maxAge {
			t.drop(p)
		}
	}
	if len(t.runs) >= maxRuns {
		return
	}
	r := &running{Exec: Exec{Plugin: name, Start: now, ID: trace.NewSpanID()}}
	t.runs[pid] = r
	if r.known = t.silent; r.known {
		return
	}
	t.unknown++
	t.read(pid, r)
}

func (t *table) drop(pid int) {
	if r := t.runs[pid]; r != nil && !r.known {
		t.unknown--
	}
	delete(t.runs, pid)
}

// look reads the environments that could not be read before.
func (t *table) look() {
	if t.unknown == 0 {
		return
	}
	for pid, r := range t.runs {
		if r.known {
			continue
		}
		if r.tries++; r.tries > retries {
			t.drop(pid) // it is no plugin that is run as one
			continue
		}
		t.read(pid, r)
	}
}

func (t *table) read(pid int, r *running) {
	said, ok := describe(environ(pid))
	if !ok {
		return
	}
	r.Command, r.IfName, r.Sandbox, r.Pod, r.known = said.Command, said.IfName, said.Sandbox, said.Pod, true
	t.unknown--
	if up := t.runs[parentOf(pid)]; up != nil {
		r.Parent = up.ID
	}
}

// environ returns as much of an environment as there is. The program has written it, or who ran it.
func environ(pid int) []byte {
	b, _ := readProc(pid, "environ")
	return b
}

// alive reports whether a process still has a program; one that ends has none.
func alive(pid int) bool {
	_, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil
}
