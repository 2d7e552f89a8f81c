package subpath

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// dirName is a directory below a pod's directory.
const dirName = "volume-subpaths"

// Config is what a Maker needs.
type Config struct {
	// RootDir is the kubelet's root directory, absolute.
	RootDir string
	Bus     *trace.Bus
}

// Maker prepares and removes subPath mounts. Safe for concurrent use.
type Maker struct {
	cfg Config

	mu   sync.Mutex
	busy map[string]*lock // by pod directory
}

// lock has one user at a time, and is removed with the last.
type lock struct {
	sync.Mutex
	users int
}

// New checks the configuration.
func New(cfg Config) (*Maker, error) {
	if !filepath.IsAbs(cfg.RootDir) {
		return nil, fmt.Errorf("subpath: Config.RootDir %q: want an absolute path", cfg.RootDir)
	}
	return &Maker{cfg: cfg, busy: map[string]*lock{}}, nil
}

// Error describes a failure in words that are safe to show to the pod's owner.
type Error struct {
	// Create says that a directory could not be created.
	Create    bool
	Mount     string
	Container string
	Err       error
}

// Error implements error. It does not include the cause, which would reveal paths of the node.
func (e *Error) Error() string {
	if e.Create {
		return fmt.Sprintf("failed to create subPath directory for volumeMount %q of container %q", e.Mount, e.Container)
	}
	return fmt.Sprintf("failed to prepare subPath for volumeMount %q of container %q", e.Mount, e.Container)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Prepare returns the path on the node that one mount of a container shows: subPath in the volume. A further call for
// the same mount returns the same path. A rejected path is an [*Error].
//
// Upstream: pkg/kubelet/kubelet_pods.go, makeMounts; pkg/volume/util/subpath/subpath_linux.go, doBindSubPath.
func (m *Maker) Prepare(ctx context.Context, pod *v1.Pod, container string, mountIndex int, vol criconfig.Volume, subPath string) (string, error) {
	name, err := mountName(pod, container, mountIndex)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(m.podDir(pod.UID), dirName, vol.Name, container)
	defer m.lock(m.podDir(pod.UID))()
	at, create, err := prepare(vol.HostPath, subPath, dir, strconv.Itoa(mountIndex))
	if err != nil {
		failed := &Error{Create: create, Mount: name, Container: container, Err: err}
		trace.Point(m.cfg.Bus, trace.FromContext(ctx), trace.Log{
			Level: trace.LevelError, Message: failed.Error(),
			Attrs: []trace.KV{{K: "volume", V: vol.HostPath}, {K: "subPath", V: subPath}, {K: "err", V: err.Error()}},
		})
		return "", failed
	}
	return at, nil
}

// Clean removes what was prepared for a container, or for the whole pod if container is "". None of these containers
// may still run.
func (m *Maker) Clean(_ context.Context, uid types.UID, container string) error {
	return m.clean(m.podDir(uid), container)
}

// BeforeTearDown removes everything that was prepared for a pod, for all volumes, before volumes are torn down: no
// container runs then.
func (m *Maker) BeforeTearDown(_ context.Context, podDir, _ string) error { return m.clean(podDir, "") }

func (m *Maker) clean(podDir, container string) error {
	defer m.lock(podDir)()
	if err := clean(filepath.Join(podDir, dirName), container); err != nil {
		return fmt.Errorf("clean up subPath mounts in %s: %w", podDir, err)
	}
	return nil
}

func (m *Maker) podDir(uid types.UID) string {
	return filepath.Join(m.cfg.RootDir, "pods", string(uid))
}

// lock locks a pod's directory for the caller until unlock is called.
func (m *Maker) lock(podDir string) (unlock func()) {
	m.mu.Lock()
	l := m.busy[podDir]
	if l == nil {
		l = &lock{}
		m.busy[podDir] = l
	}
	l.users++
	m.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		m.mu.Lock()
		defer m.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(m.busy, podDir)
		}
	}
}

// mountName returns the name, in the pod, of the volume of a container's mount.
func mountName(pod *v1.Pod, container string, index int) (string, error) {
	var mounts []v1.VolumeMount
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == container {
			mounts = c.VolumeMounts
		}
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == container {
			mounts = c.VolumeMounts
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; c.Name == container {
			mounts = c.VolumeMounts
		}
	}
	if index < 0 || index >= len(mounts) {
		return "", fmt.Errorf("subpath: container %q has no volumeMounts[%d]", container, index)
	}
	name := mounts[index].Name
	if strings.ContainsAny(name+container, "/\x00") {
		return "", fmt.Errorf("subpath: volume %q of container %q: a name must not contain /", name, container)
	}
	return name, nil
}
