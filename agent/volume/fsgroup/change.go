package fsgroup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/trace"
)

// When a long change is reported as a Kubernetes Event, and how often on the bus.
const (
	firstTold    = 30 * time.Second
	toldAgain    = 60 * time.Second
	progressTick = time.Second
)

const inProgress = "VolumePermissionChangeInProgress"

// Change sets the pod's fsGroup on a whole volume, according to its change policy. While it runs, a goroutine publishes
// VolumeProgress each second; after 30 s it records a Kubernetes Event too.
type Change struct {
	Dir      string
	Pod      *v1.Pod
	ReadOnly bool
	Bus      *trace.Bus
	// Events may be nil.
	Events events.Publisher
}

// Apply does nothing if the pod has no fsGroup, or if the policy is OnRootMismatch and the volume's root is already
// correct. The root is changed last, so that an interrupted change is repeated.
//
// Upstream: pkg/volume/volume_linux.go, ChangePermissions.
func (c Change) Apply(ctx context.Context) error {
	group := Of(c.Pod)
	if group == nil {
		return nil
	}
	if policy := c.Pod.Spec.SecurityContext.FSGroupChangePolicy; policy != nil && *policy == v1.FSGroupChangeOnRootMismatch && c.rootIsRight(*group) {
		return nil
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	var files atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		c.watch(ctx, &files, stop)
	}()
	err = c.deep(ctx, root, ".", 0, *group, &files)
	close(stop)
	<-stopped
	return err
}

// Try is Apply, but a failure is only a warning in the log, about a volume with this name: not every file system has groups. The error is
// that of a context that has ended.
func (c Change) Try(ctx context.Context, volume string) error {
	err := c.Apply(ctx)
	if err != nil && ctx.Err() == nil {
		trace.Point(c.Bus, trace.FromContext(ctx), trace.Log{Level: trace.LevelWarn, Message: "the fsGroup of the pod cannot be set on " + volume + ": " + err.Error()})
		return nil
	}
	return err
}

func (c Change) rootIsRight(group int64) bool {
	info, err := os.Stat(c.Dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	want := fs.FileMode(0o770)
	if c.ReadOnly {
		want = 0o550
	}
	return ok && int64(stat.Gid) == group && info.Mode().Perm()&want == want && info.Mode()&fs.ModeSetgid != 0
}

// maxDepth limits how deep a volume may be nested: each level needs a walk from the top, and maybe an open directory.
const maxDepth = 1000

// deep changes the content of a directory before the directory itself. Containers wrote the volume, and may be writing
// to it on another node: directories may have any number of entries, which are read in parts, and may be replaced by
// anything.
func (c Change) deep(ctx context.Context, root *os.Root, name string, depth int, group int64, files *atomic.Int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if depth > maxDepth {
		return fmt.Errorf("directories are nested deeper than %d", maxDepth)
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err := each(root, name, func(e fs.DirEntry) error {
			return c.deep(ctx, root, path.Join(name, e.Name()), depth+1, group, files)
		})
		if err != nil {
			return err
		}
	}
	files.Add(1)
	return one(root, name, fs.FileInfoToDirEntry(info), int(group), c.ReadOnly)
}

// each calls do for the entries of a directory. A small directory is closed before.
func each(root *os.Root, name string, do func(fs.DirEntry) error) error {
	dir, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // nothing was written
	const some = 256
	for {
		entries, err := dir.ReadDir(some)
		if len(entries) < some {
			_ = dir.Close()
		}
		for _, e := range entries {
			if err := do(e); err != nil {
				return err
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(entries) < some {
			return nil
		}
	}
}

// watch publishes the progress until stop is closed.
func (c Change) watch(ctx context.Context, files *atomic.Int64, stop <-chan struct{}) {
	tick := time.NewTicker(progressTick)
	defer tick.Stop()
	told := time.NewTimer(firstTold)
	defer told.Stop()
	span := trace.FromContext(ctx)
	_, below, _ := strings.Cut(c.Dir, string(c.Pod.UID))
	dir := string(c.Pod.UID) + below
	first, last := true, int64(0)
	for {
		select {
		case <-stop:
			if last > 0 {
				trace.Point(c.Bus, span, trace.VolumeProgress{Op: trace.VolumeFSGroup, Path: c.Dir, Files: files.Load(), Done: true})
			}
			return
		case <-tick.C:
			n := files.Load()
			trace.Point(c.Bus, span, trace.VolumeProgress{Op: trace.VolumeFSGroup, Path: c.Dir, Files: n, PerSecond: n - last})
			last = n
		case <-told.C:
			message := fmt.Sprintf("Setting volume ownership for %s, processed %d files.", dir, files.Load())
			if first {
				message = fmt.Sprintf("Setting volume ownership for %s is taking longer than expected, consider using OnRootMismatch - "+
					"https://kubernetes.io/docs/tasks/configure-pod-container/security-context/"+
					"#configure-volume-permission-and-ownership-change-policy-for-pods", dir)
			}
			first = false
			told.Reset(toldAgain)
			if c.Events != nil {
				c.Events.Pod(ctx, c.Pod, "", v1.EventTypeWarning, inProgress, message)
			}
		}
	}
}
