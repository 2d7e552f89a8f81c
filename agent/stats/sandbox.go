package stats

import (
	"context"
	"encoding/json"
	"path"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

const (
	// imagesWait is how long a page waits for the images of its sandboxes.
	imagesWait = time.Second
	// maxInfo limits the description of a sandbox that is decoded, in bytes.
	maxInfo = 1 << 20
	// maxImage limits the name of an image, in bytes. Of a longer one, nothing is said.
	maxImage = 1 << 10
)

// sandbox returns the lines of a sandbox in a pod's cgroup; false if it has no cgroup, as with virtual machines.
func (s *Stats) sandbox(ctx context.Context, box *podstate.Sandbox, pod string, ref statsapi.PodReference) (entity, bool) {
	if box == nil || !box.Ready {
		return entity{}, false
	}
	at := s.tree.container(pod, box.ID)
	if at == "" || !s.tree.has(at) {
		return entity{}, false
	}
	return entity{
		labels: labelsOf(sandboxName(at), at, s.images.of(ctx, s.cfg.Runtime, box.ID), box.ID, ref.Namespace, ref.Name),
		stats:  statsapi.ContainerStats{StartTime: metav1.NewTime(s.tree.made(at))},
		cgroup: at, created: box.CreatedAt,
	}, true
}

// sandboxName returns the label container of a sandbox: containerd gives it none.
//
// Upstream: github.com/google/cadvisor/lib/container/crio/handler.go.
func sandboxName(cgroup string) string {
	if strings.HasPrefix(path.Base(cgroup), "crio-") {
		return "POD"
	}
	return ""
}

// images has the images of sandboxes, by the sandboxes' IDs. A sandbox keeps its image, so the runtime is asked once.
type images struct {
	mu    sync.Mutex
	known map[string]string
}

// of returns the image of a sandbox; "" if the runtime does not say it.
func (m *images) of(ctx context.Context, from Runtime, id string) string {
	m.mu.Lock()
	image, ok := m.known[id]
	m.mu.Unlock()
	if ok || ctx.Err() != nil {
		return image
	}
	st, err := from.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err != nil {
		return "" // the next page asks again
	}
	image = imageOf(st.GetInfo()["info"])
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[id] = image
	return image
}

// keep forgets the images of other sandboxes.
func (m *images) keep(ids map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.known {
		if !ids[id] {
			delete(m.known, id)
		}
	}
}

// imageOf returns the image in the description of a sandbox, which containerd and CRI-O have in the same place; "" if there is none. The
// CRI has no field for it.
func imageOf(info string) string {
	var v struct {
		Image string `json:"image"`
	}
	if len(info) > maxInfo || json.Unmarshal([]byte(info), &v) != nil || len(v.Image) > maxImage {
		return ""
	}
	return v.Image
}
