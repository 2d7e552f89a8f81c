package podruntime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// mount waits for the pod's volumes.
func (r *run) mount(ctx context.Context) error {
	mounted, err := r.cfg.Volumes.Mount(ctx, r.pod)
	if err != nil {
		return err // the volumes emit the events
	}
	r.setMounted(mounted)
	for _, v := range mounted {
		if v.Missing != nil {
			return nil // it is requested again with the next sync
		}
	}
	r.learn(r.pod.UID, func(k *knowledge) { k.mounted = true })
	return nil
}

// missing returns why the image of a volume that the container mounts is not on the node, nil if all are.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, toKubeContainerImageVolumes.
func (r *run) missing(c *v1.Container) error {
	volumes := r.mounted()
	for i := range c.VolumeMounts {
		name := c.VolumeMounts[i].Name
		if err := volumes[name].Missing; err != nil {
			return fmt.Errorf("volume %q: %w", name, err)
		}
	}
	return nil
}

// mounted returns the pod's volumes by name, nil if this run has not requested them.
func (r *run) mounted() map[string]criconfig.Volume {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.volumes
}

func (r *run) setMounted(v map[string]criconfig.Volume) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.volumes = v
}

// subPaths resolves the subPath mounts of a container to paths on the node and creates missing directories. It rejects
// a link that leaves the volume.
//
// Upstream: pkg/volume/util/subpath; there a bind mount also closes the window between this check and the runtime's
// mount.
func (r *run) subPaths(ctx context.Context, c *v1.Container, env []criconfig.Var) (map[int]string, error) {
	var out map[int]string
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		if m.SubPath == "" && m.SubPathExpr == "" {
			continue
		}
		path, err := r.subPath(ctx, c.Name, i, m, env)
		if err != nil {
			return nil, criconfig.MountError(c, i, err)
		}
		if out == nil {
			out = map[int]string{}
		}
		out[i] = path
	}
	return out, nil
}

func (r *run) subPath(ctx context.Context, container string, i int, m *v1.VolumeMount, env []criconfig.Var) (string, error) {
	sub, err := criconfig.SubPath(m, env)
	if err != nil {
		return "", err
	}
	vol, ok := r.mounted()[m.Name]
	if !ok {
		return "", criconfig.NotMountedError(container, m.Name)
	}
	if vol.Image != nil || sub == "" {
		return "", nil // the runtime creates it
	}
	if r.cfg.SubPath != nil {
		var at string
		// The volume's file system may not respond; the next attempt finds an operation that still runs.
		err := r.cfg.Files.Do(ctx, vol.HostPath+"/"+sub, func() (err error) {
			at, err = r.cfg.SubPath.Prepare(ctx, r.pod, container, i, vol, sub)
			return err
		})
		if err != nil {
			return "", err
		}
		return at, nil
	}
	return subPathIn(m.Name, vol.HostPath, sub)
}

// subPathIn resolves a path below a volume if SubPath is nil.
func subPathIn(name, volume, sub string) (string, error) {
	root, err := os.OpenRoot(volume)
	if err != nil {
		return "", fmt.Errorf("volume %q: %w", name, err)
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	if _, err := root.Stat(sub); os.IsNotExist(err) {
		if err := root.MkdirAll(sub, 0o750); err != nil {
			return "", fmt.Errorf("subPath %q: %w", sub, err)
		}
	} else if err != nil {
		return "", fmt.Errorf("subPath %q leads out of the volume or cannot be read: %w", sub, err)
	}
	base, err := filepath.EvalSymlinks(volume)
	if err != nil {
		return "", err
	}
	full, err := filepath.EvalSymlinks(filepath.Join(base, sub))
	if err != nil {
		return "", err
	}
	if full != base && !strings.HasPrefix(full, base+string(filepath.Separator)) {
		return "", fmt.Errorf("subPath %q leads out of the volume", sub)
	}
	return full, nil
}

// unmount returns when none of the pod's volumes and nothing below them is mounted.
func (r *run) unmount(ctx context.Context) error {
	if r.cfg.SubPath != nil {
		if err := r.cfg.SubPath.Clean(ctx, r.pod.UID, ""); err != nil {
			return fmt.Errorf("clean subPaths: %w", err)
		}
	}
	return r.cfg.Volumes.Unmount(ctx, r.ref)
}

// maxEnvFile limits how much is read of an environment file, in bytes. Upstream limits its lines (64 KiB), not the
// file.
const maxEnvFile = 1 << 20

// envFile reads a file of a volume for an environment. A container wrote it: an init container, or a container of
// another pod if the volume is shared. It must be a regular file in the volume.
func (r *run) envFile(ctx context.Context, volume, path string) ([]byte, error) {
	vol, ok := r.mounted()[volume]
	if !ok {
		return nil, fmt.Errorf("volume %q is not mounted", volume)
	}
	return r.cfg.Files.ReadIn(ctx, vol.HostPath, path, maxEnvFile)
}
