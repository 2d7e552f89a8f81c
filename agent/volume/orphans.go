package volume

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/trace"
)

// CleanOrphans removes the directories of unknown pods, with their volumes, and returns the UIDs of the removed ones.
// Each decision is published. A directory that still contains a mount after its volumes were torn down is kept; the
// errors say why.
//
// A pod is known if it is desired or if a container of it may still run. A pod must be known before its directory is
// created. A pod for which this manager has mounted volumes is not an orphan.
//
// Upstream: pkg/kubelet/kubelet_volumes.go, cleanupOrphanedPodDirs.
func (m *Manager) CleanOrphans(ctx context.Context, known func(uid types.UID) bool) (removed []string, err error) {
	names, err := subdirs(m.podsDir())
	if err != nil {
		return nil, fmt.Errorf("look for orphaned pod directories: %w", err)
	}
	var errs []error
	for _, name := range names {
		uid := types.UID(name)
		if known(uid) {
			continue
		}
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		decision := trace.Decision{By: trace.ByOrphans, Subject: "pod " + name, Verdict: trace.VerdictRemove, Reason: "no pod of this UID is known or runs", Orphan: name, Path: m.podDir(uid)}
		if err := m.cleanOrphan(ctx, uid, known); err != nil {
			decision.Verdict, decision.Reason, decision.Volume = trace.VerdictKeep, err.Error(), atFault(err)
			errs = append(errs, fmt.Errorf("orphaned pod directory %s: %w", name, err))
		} else {
			removed = append(removed, name)
		}
		trace.Point(m.cfg.Bus, trace.FromContext(ctx), decision)
	}
	m.mu.Lock()
	m.swept = Counts{Swept: len(removed), SweptErrors: len(errs)}
	m.mu.Unlock()
	m.forgetLeft()
	for _, p := range m.cfg.Plugins {
		if c, ok := p.(Cleaner); ok && ctx.Err() == nil {
			if err := c.Clean(ctx); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.Name(), err))
			}
		}
	}
	return removed, errors.Join(errs...)
}

// mountedError says that something is mounted below the directory of an unknown pod.
type mountedError struct {
	path, fsType string
	uid          types.UID
}

// Error implements error.
func (e *mountedError) Error() string {
	return fmt.Sprintf("%s is still mounted (%s)", e.path, e.fsType)
}

// atFault returns the name on the node of the volume because of which a pod's directory is kept; "" if no volume is the
// reason. Containers can write only below that name.
func atFault(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Volume
	}
	e, ok := errors.AsType[*mountedError](err)
	if !ok {
		return ""
	}
	_, below, _ := strings.Cut(e.path, "/pods/"+string(e.uid)+"/volumes/") // PLUGIN/NAME/...; the root may be reached through a link
	if parts := strings.Split(below, "/"); len(parts) > 1 {
		return parts[1]
	}
	return ""
}

// orphanPatience limits the wait for the volumes of one orphan. Their teardown continues, and the next pass finds them
// gone.
const orphanPatience = 10 * time.Second

func (m *Manager) cleanOrphan(ctx context.Context, uid types.UID, known func(types.UID) bool) error {
	if err := m.unmountOrphan(ctx, uid); err != nil {
		return err
	}
	dir := m.podDir(uid)
	mounts, err := memdir.Within(dir)
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return &mountedError{path: mounts[0].Mountpoint, fsType: mounts[0].FSType, uid: uid}
	}
	if known(uid) {
		return ErrWanted
	}
	return guestfile.RemoveAll(ctx, dir) // containers wrote the content
}

// unmountOrphan is Unmount, but it does nothing for a desired pod, and does not wait for a back-off or for an operation
// that hangs.
func (m *Manager) unmountOrphan(ctx context.Context, uid types.UID) error {
	found, err := m.scanUnknown(uid)
	if err != nil {
		return err
	}
	m.mu.Lock()
	p := m.pods[uid]
	switch {
	case p == nil && len(found) == 0:
		m.mu.Unlock()
		return nil
	case p != nil && !p.released:
		m.mu.Unlock()
		return ErrWanted
	case p != nil:
		err := errors.New("its volumes are being torn down")
		for k, s := range m.states {
			if k.uid == uid && s.err != nil {
				err = s.err
			}
		}
		m.mu.Unlock()
		return err
	}
	ref := trace.Pod{UID: string(uid)}
	w := m.release(m.know(ref, found), trace.ForPod(trace.FromContext(ctx), ref))
	m.mu.Unlock()
	m.kick()
	ctx, cancel := context.WithTimeout(ctx, orphanPatience)
	defer cancel()
	return w.await(ctx)
}
