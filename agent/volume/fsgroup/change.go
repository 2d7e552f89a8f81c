package fsgroup

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/volume"
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
// correct. The root is changed last, so that an interrupted change is repeated. Files that cannot be changed are one warning in the log; an
// error says that the files could not be listed, or that ctx has ended.
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
	return volume.Timed(ctx, volume.Owning, func() error { return c.change(ctx, *group) })
}

func (c Change) change(ctx context.Context, group int64) error {
	dir, err := os.OpenFile(c.Dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // nothing is written through it
	var files atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		c.watch(ctx, &files, stop)
	}()
	w := walk{ctx: ctx, group: int(group), readOnly: c.ReadOnly, files: &files}
	err = w.deep(dir)
	close(stop)
	<-stopped
	w.failures.Warn(ctx, c.Bus, c.name())
	return err
}

// Try is Apply, but a failure is only a warning in the log: not every file system has groups. The error is that of a context that has ended.
func (c Change) Try(ctx context.Context) error {
	err := c.Apply(ctx)
	if err != nil && ctx.Err() == nil {
		warn(ctx, c.Bus, c.name(), err)
		return nil
	}
	return err
}

// name is the volume's directory from the pod's UID on, for people.
func (c Change) name() string {
	_, below, _ := strings.Cut(c.Dir, string(c.Pod.UID))
	return string(c.Pod.UID) + below
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

// watch publishes the progress until stop is closed.
func (c Change) watch(ctx context.Context, files *atomic.Int64, stop <-chan struct{}) {
	tick := time.NewTicker(progressTick)
	defer tick.Stop()
	told := time.NewTimer(firstTold)
	defer told.Stop()
	span := trace.FromContext(ctx)
	dir := c.name()
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
