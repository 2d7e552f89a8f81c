package gc_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim/simtest"
	"github.com/kubeloupe/kubeloupe/agent/gc"
)

// pods says which pods are gone.
type pods map[string]bool

func (p pods) Complete() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (p pods) IsDeleted(uid string) bool { return p[uid] }

// IsTerminated implements Pods.
func (p pods) IsTerminated(uid string) bool { return p[uid] }

// host is a simulated runtime with the calls that an agent makes.
type host struct {
	t       *testing.T
	runtime runtimeapi.RuntimeServiceClient
	images  runtimeapi.ImageServiceClient
	logs    string
}

func newHost(t *testing.T) *host {
	t.Helper()
	srv, err := sim.New(sim.Config{
		Latency: map[string]sim.Latency{}, PullBandwidth: -1,
		Images: []sim.Image{
			{Name: "r.io/app:v1", Size: 300, Present: true},
			{Name: "r.io/old:v1", Size: 200, Present: true},
			{Name: "r.io/pause:v1", Size: 100, Present: true, Pinned: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn := simtest.Serve(t, srv)
	return &host{t: t, runtime: runtimeapi.NewRuntimeServiceClient(conn), images: runtimeapi.NewImageServiceClient(conn), logs: t.TempDir()}
}

func (h *host) check(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) sandbox(uid string) (string, *runtimeapi.PodSandboxConfig) {
	h.t.Helper()
	cfg := &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: "p", Namespace: "ns", Uid: uid},
		LogDirectory: filepath.Join(h.logs, "ns_p_"+uid),
		Labels: map[string]string{
			"io.kubernetes.pod.uid": uid, "io.kubernetes.pod.name": "p", "io.kubernetes.pod.namespace": "ns",
		},
	}
	r, err := h.runtime.RunPodSandbox(h.t.Context(), &runtimeapi.RunPodSandboxRequest{Config: cfg})
	h.check(err)
	return r.PodSandboxId, cfg
}

// container starts one; dead says that it is also stopped.
func (h *host) container(sandbox string, cfg *runtimeapi.PodSandboxConfig, attempt uint32, dead bool) string {
	h.t.Helper()
	h.check(os.MkdirAll(filepath.Join(cfg.LogDirectory, "c"), 0o755))
	labels := map[string]string{"io.kubernetes.container.name": "c"}
	maps.Copy(labels, cfg.Labels)
	log := []string{"c/0.log", "c/1.log", "c/2.log"}[attempt]
	r, err := h.runtime.CreateContainer(h.t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: sandbox, SandboxConfig: cfg, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "c", Attempt: attempt}, Image: &runtimeapi.ImageSpec{Image: "r.io/app:v1"},
		Labels: labels, LogPath: log,
	}})
	h.check(err)
	_, err = h.runtime.StartContainer(h.t.Context(), &runtimeapi.StartContainerRequest{ContainerId: r.ContainerId})
	h.check(err)
	if dead {
		_, err = h.runtime.StopContainer(h.t.Context(), &runtimeapi.StopContainerRequest{ContainerId: r.ContainerId})
		h.check(err)
	}
	return r.ContainerId
}

func (h *host) left() (containers []string, sandboxes, images int) {
	h.t.Helper()
	cs, err := h.runtime.ListContainers(h.t.Context(), &runtimeapi.ListContainersRequest{})
	h.check(err)
	for _, c := range cs.Containers {
		containers = append(containers, c.Id)
	}
	ss, err := h.runtime.ListPodSandbox(h.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	h.check(err)
	is, err := h.images.ListImages(h.t.Context(), &runtimeapi.ListImagesRequest{})
	h.check(err)
	return containers, len(ss.Items), len(is.Images)
}

func TestSimulatedRuntime(t *testing.T) {
	h := newHost(t)
	gone := pods{}
	c, err := gc.New(gc.Config{
		Runtime: h.runtime, Images: h.images, Pods: gone, PodLogDir: h.logs,
		ContainerPolicy: gc.DefaultContainerPolicy(), ImagePolicy: gc.ImagePolicy{High: 85, Low: 80},
		FSInfo: func(string) (gc.FS, error) { return gc.FS{Capacity: 1000, Available: 500}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	live, cfg := h.sandbox("live")
	h.container(live, cfg, 0, true)
	h.container(live, cfg, 1, true)
	h.container(live, cfg, 2, false)
	dead, cfg := h.sandbox("dead")
	h.container(dead, cfg, 0, true)
	_, err = h.runtime.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: dead})
	h.check(err)

	sum, err := c.CollectContainers(t.Context())
	if containers, sandboxes, _ := h.left(); err != nil || sum.Removed != 1 || len(containers) != 3 || sandboxes != 2 {
		t.Errorf("first pass: %+v, %v; left %v and %d sandboxes", sum, err, containers, sandboxes)
	}
	if _, err := os.Stat(filepath.Join(h.logs, "ns_p_live/c/0.log")); !os.IsNotExist(err) {
		t.Errorf("the log of the removed container: %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.logs, "ns_p_live/c/1.log")); err != nil {
		t.Error(err)
	}

	gone["dead"] = true
	sum, err = c.CollectContainers(t.Context())
	if containers, sandboxes, _ := h.left(); err != nil || sum.Removed != 3 || len(containers) != 2 || sandboxes != 1 {
		t.Errorf("second pass: %+v, %v; left %v and %d sandboxes", sum, err, containers, sandboxes)
	}
	if _, err := os.Stat(filepath.Join(h.logs, "ns_p_dead")); !os.IsNotExist(err) {
		t.Errorf("the log directory of the deleted pod: %v", err)
	}

	sum, err = c.DeleteUnused(t.Context())
	if _, _, images := h.left(); err != nil || sum.Considered != 3 || sum.Removed != 1 || sum.Freed != 200 || images != 2 {
		t.Errorf("images: %+v, %v; left %d", sum, err, images)
	}
}
