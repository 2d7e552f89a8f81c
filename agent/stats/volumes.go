package stats

import (
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// place is the state of a directory without a walk.
type place struct {
	fs      *statsapi.FsStats // nil means unknown
	mounted bool
	used    held
	counted bool // used is known
}

func (s *Stats) placeOf(pod *v1.Pod, v *v1.Volume, dir string, now time.Time) place {
	out := place{fs: s.fsOf(dir, now), mounted: mounted(dir)}
	if s.cfg.Quota != nil && !out.mounted {
		if q, ok := s.cfg.Quota(pod, v, dir); ok {
			out.used, out.counted = held{q.Bytes, q.Inodes}, true
		}
	}
	return out
}

// volumes returns the usage of the pod's volumes, and of those that count as its ephemeral storage.
//
// Upstream: pkg/kubelet/server/stats/volume_stat_calculator.go.
func (s *Stats) volumes(w walks, pod *v1.Pod, now time.Time) (list []statsapi.VolumeStats, ephemeral held) {
	dirs := s.volumeDirs(pod)
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		out, h, ok := s.volume(w, pod, v, dirs[v.Name], now)
		if !ok {
			continue
		}
		if podspec.Ephemeral(v) {
			ephemeral.bytes += h.bytes
			ephemeral.inodes += h.inodes
		}
		list = append(list, out)
	}
	return list, ephemeral
}

// volume returns the usage of a volume, and what is in its directory if no file system is mounted there; false if that is not known (yet).
// The file system of huge pages does not say how many are used, so it is walked, too.
func (s *Stats) volume(w walks, pod *v1.Pod, v *v1.Volume, dir string, now time.Time) (out statsapi.VolumeStats, h held, ok bool) {
	if dir == "" {
		return out, h, false
	}
	at, ok := s.places.ask(dir, func() place { return s.placeOf(pod, v, dir, now) })
	if !ok || at.fs == nil {
		return out, h, false
	}
	out.Name, out.FsStats, out.PVCRef = v.Name, *at.fs, claimOf(pod, v) // a copy: others may have requested the same
	if at.mounted && !podspec.HugePagesVolume(v) {
		return out, h, true
	}
	if h = at.used; !at.counted {
		if h, ok = s.usage.of(w, dir, now); !ok {
			return out, h, false
		}
	}
	out.UsedBytes, out.InodesUsed = &h.bytes, &h.inodes
	return out, h, true
}

// claimOf returns the claim of a volume; nil for none.
func claimOf(pod *v1.Pod, v *v1.Volume) *statsapi.PVCReference {
	switch {
	case v.PersistentVolumeClaim != nil:
		return &statsapi.PVCReference{Name: v.PersistentVolumeClaim.ClaimName, Namespace: pod.Namespace}
	case v.Ephemeral != nil:
		return &statsapi.PVCReference{Name: pod.Name + "-" + v.Name, Namespace: pod.Namespace}
	}
	return nil
}

func (s *Stats) volumeDirs(pod *v1.Pod) map[string]string {
	if s.cfg.Volumes != nil {
		return s.cfg.Volumes(pod)
	}
	root := filepath.Join(s.cfg.RootDir, "pods", string(pod.UID), "volumes")
	plugins, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, p := range plugins {
		names, err := os.ReadDir(filepath.Join(root, p.Name()))
		if err != nil {
			continue
		}
		for _, n := range names {
			out[n.Name()] = filepath.Join(root, p.Name(), n.Name())
		}
	}
	return out
}

// mounted reports whether another file system begins at dir.
func mounted(dir string) bool {
	at, ok := sysStat(os.Lstat(dir))
	above, okAbove := sysStat(os.Lstat(filepath.Dir(dir)))
	return ok && okAbove && at.Dev != above.Dev
}
