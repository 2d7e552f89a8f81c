package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// key identifies a volume on the node.
type key struct {
	uid    types.UID
	plugin string
	// name is the volume's name in the pod, or the persistent volume's.
	name  string
	block bool
}

func (k key) target() trace.Target { return trace.Target{Kind: trace.TargetVolume, Name: k.name} }

func (m *Manager) podsDir() string { return filepath.Join(m.cfg.RootDir, "pods") }

func (m *Manager) podDir(uid types.UID) string { return filepath.Join(m.podsDir(), string(uid)) }

const (
	volumesDir = "volumes"
	devicesDir = "volumeDevices"
)

// Dir returns the directory of a volume in the agent's root directory, in upstream's layout. name is the volume's name in the pod, or the
// persistent volume's.
//
// Upstream: pkg/kubelet/kubelet_getters.go, getPodVolumeDir.
func Dir(root string, uid types.UID, plugin, name string) string {
	return filepath.Join(root, "pods", string(uid), volumesDir, flat(plugin), name)
}

// flat returns a plugin's name as an element of a path.
func flat(plugin string) string { return strings.ReplaceAll(plugin, "/", "~") }

// place returns a volume's paths in upstream's layout, so that either agent finds the other's volumes.
//
// Upstream: pkg/kubelet/kubelet_getters.go, getPodVolumeDir, getPodPluginDir, getPodVolumeDeviceDir.
func (m *Manager) place(k key) Place {
	plugin := flat(k.plugin)
	in := volumesDir
	if k.block {
		in = devicesDir
	}
	return Place{
		Dir:    filepath.Join(m.podDir(k.uid), in, plugin, k.name),
		Meta:   filepath.Join(m.podDir(k.uid), "plugins", plugin, k.name),
		Plugin: k.plugin, PodUID: k.uid, Name: k.name,
	}
}

// scan finds the volumes that a pod has on disk.
//
// Upstream: pkg/kubelet/volumemanager/reconciler/reconstruct_common.go, getVolumesFromPodDir.
func (m *Manager) scan(uid types.UID) ([]key, error) {
	var found []key
	for _, in := range []string{volumesDir, devicesDir} {
		root := filepath.Join(m.podDir(uid), in)
		plugins, err := subdirs(root)
		if err != nil {
			return nil, fmt.Errorf("look for volumes of pod %s: %w", uid, err)
		}
		list := subdirs
		if in == devicesDir {
			list = children
		}
		for _, p := range plugins {
			names, err := list(filepath.Join(root, p))
			if err != nil {
				return nil, fmt.Errorf("look for volumes of pod %s: %w", uid, err)
			}
			for _, n := range names {
				found = append(found, key{uid, strings.ReplaceAll(p, "~", "/"), n, in == devicesDir})
			}
		}
	}
	return found, nil
}

// subdirs lists the directories in dir, none if dir does not exist. Links are not followed.
func subdirs(dir string) ([]string, error) { return list(dir, fs.DirEntry.IsDir) }

// children lists the content of dir, nothing if dir does not exist.
func children(dir string) ([]string, error) {
	return list(dir, func(fs.DirEntry) bool { return true })
}

func list(dir string, want func(fs.DirEntry) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if want(e) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// element reports whether s can be one element of a path.
func element(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}
