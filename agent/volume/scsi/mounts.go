package scsi

import (
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
)

// mounts are the node's mount points. Paths below the agent's root directory begin with that directory, also if it is a link.
type mounts []mount.MountPoint

// mounts reads them from the kernel. It does not use the file systems that are mounted, which may not answer.
func (p *Plugin) mounts() (mounts, error) {
	all, err := p.cfg.Mounter.List()
	if err != nil {
		return nil, err
	}
	actual, err := filepath.EvalSymlinks(p.cfg.RootDir)
	if err != nil || actual == p.cfg.RootDir {
		return all, nil //nolint:nilerr // without the directory, nothing is mounted there
	}
	all = slices.Clone(all)
	for i := range all {
		if rest, ok := strings.CutPrefix(all[i].Path, actual+"/"); ok {
			all[i].Path = filepath.Join(p.cfg.RootDir, rest)
		}
	}
	return all, nil
}

// device returns what is mounted at a path; "" for nothing.
func (m mounts) device(path string) string {
	for i := range m {
		if at := &m[len(m)-1-i]; at.Path == path { // the last one is on top
			return at.Device
		}
	}
	return ""
}

// label returns the SELinux label with which a path is mounted; "" for none.
func (m mounts) label(path string) string {
	for i := range m {
		if at := &m[len(m)-1-i]; at.Path == path {
			return selinux.LabelIn(at.Opts)
		}
	}
	return ""
}

// below returns a directory in dir where the device is mounted; "" for none.
func (m mounts) below(dir, device string) string {
	for i := range m {
		if m[i].Device == device && strings.HasPrefix(device, "/") && strings.HasPrefix(m[i].Path, dir+"/") {
			return m[i].Path
		}
	}
	return ""
}

// unmount unmounts what is mounted at a directory, if anything.
func (p *Plugin) unmount(dir string) (device string, err error) {
	points, err := p.mounts()
	if err != nil {
		return "", err
	}
	if device = points.device(dir); device == "" {
		return "", nil
	}
	if err := p.cfg.Mounter.Unmount(dir); err != nil {
		return device, err
	}
	if points, err = p.mounts(); err == nil && points.device(dir) != "" {
		err = &BusyError{filepath.Base(device), dir + ", although it was unmounted"}
	}
	return device, err
}

// use notes that a pod uses a global directory, also while the disk is not attached.
func (p *Plugin) use(podDir, dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[podDir] = dir
}

func (p *Plugin) unuse(podDir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, podDir)
}

// users reports whether a pod's volume, other than that of podDir, uses a global directory, as far as this agent has set it up.
func (p *Plugin) users(dir, podDir string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pod, d := range p.used {
		if d == dir && pod != podDir {
			return true
		}
	}
	return false
}

// globalOf returns the global directory of a volume: where its device is mounted for all pods, or what SetUp has noted; "" if neither is known.
func (p *Plugin) globalOf(at volume.Place) (string, error) {
	points, err := p.mounts()
	if err != nil {
		return "", err
	}
	if dir := points.below(p.global("", false), points.device(at.Dir)); dir != "" && p.kind.unique(dir) != "" {
		return dir, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used[at.Dir], nil
}

func (p *Plugin) podsDir() string { return filepath.Join(p.cfg.RootDir, "pods") }

// isBlock reports whether a place is that of a block volume.
func isBlock(at volume.Place) bool {
	return filepath.Base(filepath.Dir(filepath.Dir(at.Dir))) == devices
}
