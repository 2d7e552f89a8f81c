package host

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/kubeloupe/kubeloupe/trace"
)

// ShareMounts makes the root directory a shared mount, if it is not on one: what is mounted below it later is seen in the containers whose
// mount propagation asks for that, and what such containers mount there is seen outside. systemd makes all mounts of a host shared; without
// it, the directory is mounted on itself, and that mount outlives the agent, because containers are connected with it. The directory must exist.
//
// Nothing is changed if other mounts are below the directory already: the new one would hide them. Runtimes refuse only containers with mount
// propagation then, so this and an error are published as warnings.
//
// Upstream: pkg/volume/util/hostutil/hostutil_linux.go, DoMakeRShared; pkg/kubelet/kubelet.go, setupDataDirs.
func ShareMounts(bus *trace.Bus, root string) {
	l := trace.Log{Level: trace.LevelInfo, Message: "the root directory is a shared mount now", Attrs: []trace.KV{{K: "directory", V: root}}}
	changed, err := shareMounts(root)
	switch {
	case err != nil:
		l.Level, l.Message, l.Attrs = trace.LevelWarn, "the root directory is not a shared mount; containers with mount propagation cannot start", append(l.Attrs, errAttr(err)...)
	case !changed:
		return
	}
	trace.Point(bus, trace.Span{}, l)
}

func shareMounts(root string) (changed bool, err error) {
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return false, err
	}
	all, err := mountinfo.GetMounts(nil)
	if err != nil {
		return false, err
	}
	on, below := around(all, root)
	if on.shared {
		return false, nil
	}
	if on.at != root {
		if below != "" {
			return false, fmt.Errorf("%s is mounted below it; make its mounts shared (mount --make-rshared %s)", below, on.at)
		}
		if err := unix.Mount(root, root, "", unix.MS_BIND, ""); err != nil {
			return false, fmt.Errorf("mount %s on itself: %w", root, err)
		}
	}
	if err := unix.Mount("", root, "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		if on.at != root {
			_ = unix.Unmount(root, unix.MNT_DETACH) // as it was
		}
		return false, fmt.Errorf("make the mounts of %s shared: %w", root, err)
	}
	return true, nil
}

// mounted is a mount that a directory is on.
type mounted struct {
	at     string
	shared bool
}

// around returns the mount that a directory is on, and the place of one below the directory, if there is any. all is in the kernel's order: of
// several mounts at one place, the last covers the others.
func around(all []*mountinfo.Info, dir string) (on mounted, below string) {
	on.at = "/"
	for _, m := range all {
		switch {
		case within(dir, m.Mountpoint) && len(m.Mountpoint) >= len(on.at):
			on = mounted{m.Mountpoint, isShared(m.Optional)}
		case m.Mountpoint != dir && within(m.Mountpoint, dir):
			below = m.Mountpoint
		}
	}
	return on, below
}

// within reports whether a path is a directory or below it.
func within(path, dir string) bool {
	return strings.HasPrefix(path+"/", strings.TrimSuffix(dir, "/")+"/")
}

// isShared reads the optional fields of a mount. See proc_pid_mountinfo(5).
func isShared(fields string) bool {
	for f := range strings.FieldsSeq(fields) {
		if strings.HasPrefix(f, "shared:") {
			return true
		}
	}
	return false
}
