package files

import (
	"fmt"
	"os"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// makeNested creates the mount points of other volumes within this one: a runtime cannot, because the volume is
// read-only for it.
//
// Upstream: pkg/volume/util/nested_volumes.go.
func makeNested(s volume.Spec) error {
	dirs := nested(s.Pod, s.Volume.Name)
	if len(dirs) == 0 {
		return nil
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	for _, d := range dirs {
		if err := root.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("make mount point %s within the volume: %w", d, err)
		}
	}
	return nil
}

// nested lists paths within the volume that are direct mount points of others.
func nested(pod *v1.Pod, name string) []string {
	var out []string
	look := func(mounts []v1.VolumeMount) {
		for _, outer := range mounts {
			if outer.Name != name {
				continue
			}
			for _, inner := range mounts {
				if below(outer.MountPath, inner.MountPath) && !between(outer.MountPath, inner.MountPath, mounts) {
					out = append(out, strings.TrimPrefix(path.Clean(inner.MountPath), path.Clean(outer.MountPath)+"/"))
				}
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		look(pod.Spec.InitContainers[i].VolumeMounts)
	}
	for i := range pod.Spec.Containers {
		look(pod.Spec.Containers[i].VolumeMounts)
	}
	for i := range pod.Spec.EphemeralContainers {
		look(pod.Spec.EphemeralContainers[i].VolumeMounts)
	}
	return out
}

// Version adds the mount points of other volumes to the version of a volume's content: an ephemeral container may bring more of them.
func Version(s volume.Spec, content string) string {
	return strings.Join(append([]string{content}, nested(s.Pod, s.Volume.Name)...), ":")
}

// between reports whether something is mounted below outer and above inner.
func between(outer, inner string, mounts []v1.VolumeMount) bool {
	for _, m := range mounts {
		if below(outer, m.MountPath) && below(m.MountPath, inner) {
			return true
		}
	}
	return false
}

func below(outer, inner string) bool {
	return strings.HasPrefix(path.Clean(inner), path.Clean(outer)+"/")
}
