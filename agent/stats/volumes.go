package stats

import (
	"context"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// Volume is a volume of a pod on the node.
type Volume struct {
	// Path is its directory, or its device.
	Path string
	// Block says that it is a device.
	Block bool
	// Driver is the name of the volume's driver, for Ask.
	Driver string
	// Ask, if it is not nil, gets the volume's figures from its driver, and false if that has none. It may take long, and ends by itself.
	Ask func(context.Context) (statsapi.FsStats, bool)
}

// place is the state of a directory without a walk.
type place struct {
	fs      *statsapi.FsStats // nil means unknown
	mounted bool
	used    held
	counted bool // used is known
}

func (s *Stats) placeOf(pod *v1.Pod, v *v1.Volume, at Volume, now time.Time) place {
	dir, began := at.Path, time.Now()
	if at.Block {
		defer s.collected.from(byDevice, began)
		return place{fs: deviceOf(dir, now), mounted: true}
	}
	out := place{fs: s.fsOf(dir, now), mounted: mounted(dir)}
	if out.mounted {
		s.collected.from(byFS, began)
	}
	if s.cfg.Quota != nil && !out.mounted {
		began := time.Now()
		if q, ok := s.cfg.Quota(pod, v, dir); ok {
			s.collected.from(byQuota, began)
			out.used, out.counted = held{q.Bytes, q.Inodes}, true
		}
	}
	return out
}

// deviceOf returns the usage of a device: its size; nil if that is unknown.
func deviceOf(path string, now time.Time) *statsapi.FsStats {
	size, ok := deviceSize(path)
	if !ok {
		return nil
	}
	return &statsapi.FsStats{Time: metav1.NewTime(now), CapacityBytes: &size}
}

// volumes returns the usage of the pod's volumes, and of those that count as its ephemeral storage.
//
// Upstream: pkg/kubelet/server/stats/volume_stat_calculator.go.
func (s *Stats) volumes(w walks, pod *v1.Pod, now time.Time) (list []statsapi.VolumeStats, ephemeral held) {
	at := s.cfg.Volumes(pod)
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		out, h, ok := s.volume(w, pod, v, at[v.Name], now)
		if !ok {
			continue
		}
		if podspec.Ephemeral(v) {
			ephemeral.add(h)
		}
		list = append(list, out)
	}
	return list, ephemeral
}

// volume returns the usage of a volume, and what is in its directory if no file system is mounted there; false if that is not known (yet).
// Figures that nobody knows are 0.
//
// Upstream: pkg/kubelet/server/stats/volume_stat_calculator.go, parsePodVolumeStats.
func (s *Stats) volume(w walks, pod *v1.Pod, v *v1.Volume, at Volume, now time.Time) (out statsapi.VolumeStats, h held, ok bool) {
	switch {
	case at.Path == "":
	case at.Ask != nil:
		out.FsStats, ok = s.answers.of(w.until, at.Path, s.asks(at))
	default:
		out.FsStats, h, ok = s.measured(w, pod, v, at, now)
	}
	for _, n := range []**uint64{&out.CapacityBytes, &out.AvailableBytes, &out.UsedBytes, &out.Inodes, &out.InodesFree, &out.InodesUsed} {
		if *n == nil {
			*n = new(uint64)
		}
	}
	out.Name, out.PVCRef = v.Name, claimOf(pod, v)
	return out, h, ok
}

// asks returns a function that asks the volume's driver.
func (s *Stats) asks(at Volume) func(context.Context) (statsapi.FsStats, bool) {
	return func(ctx context.Context) (statsapi.FsStats, bool) {
		defer s.collected.from(at.Driver, time.Now())
		return at.Ask(ctx)
	}
}

// measured is volume for one without a driver. The file system of huge pages does not say how many are used, so it is walked, too. That of a
// claim is not, even if it is a directory of the node.
func (s *Stats) measured(w walks, pod *v1.Pod, v *v1.Volume, at Volume, now time.Time) (out statsapi.FsStats, h held, ok bool) {
	is, ok := s.places.ask(at.Path, func() place { return s.placeOf(pod, v, at, now) })
	if !ok || is.fs == nil {
		return out, h, false
	}
	out = *is.fs // a copy: others may have requested the same
	if is.mounted && !podspec.HugePagesVolume(v) || claimOf(pod, v) != nil {
		return out, h, true
	}
	if h = is.used; !is.counted {
		if h, ok = s.usage.of(w, at.Path, now); !ok {
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

// mounted reports whether another file system begins at dir.
func mounted(dir string) bool {
	at, ok := sysStat(os.Lstat(dir))
	above, okAbove := sysStat(os.Lstat(filepath.Dir(dir)))
	return ok && okAbove && at.Dev != above.Dev
}
