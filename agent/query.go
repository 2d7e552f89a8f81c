package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/gc"
)

// ErrNotReady is the answer to a question that comes before the agent is assembled.
var ErrNotReady = errors.New("the agent is still starting")

// Query answers what the stream of records does not tell: config, images, cgroup (of the pod in args, NAMESPACE/NAME, or of the
// node) and node, as values to be encoded.
func (a *Agent) Query(ctx context.Context, what string, args map[string]string) (any, error) {
	p := a.parts.Load()
	if p == nil {
		return nil, ErrNotReady
	}
	switch what {
	case "config":
		return shownConfig(p.cfg.Kubelet), nil
	case "images":
		return p.queryImages(ctx)
	case "cgroup":
		return p.queryCgroup(args["pod"])
	case "node":
		return p.queryNode(), nil
	}
	return nil, fmt.Errorf("unknown question %q: want config, images, cgroup or node", what)
}

// DeleteUnusedImages runs a pass of image garbage collection that removes every image no container has. What it decided is published.
func (a *Agent) DeleteUnusedImages(ctx context.Context) (gc.Summary, error) {
	p := a.parts.Load()
	if p == nil {
		return gc.Summary{}, ErrNotReady
	}
	return p.collector.DeleteUnused(ctx)
}

// ImageInfo is an image on the node.
type ImageInfo struct {
	ID      string   `json:"id"`
	Tags    []string `json:"tags,omitempty"`
	Digests []string `json:"digests,omitempty"`
	Bytes   uint64   `json:"bytes"`
	Pinned  bool     `json:"pinned,omitempty"`
	// UsedBy are the pods with a container of it.
	UsedBy []string `json:"used_by,omitempty"`
}

func (p *parts) queryImages(ctx context.Context) ([]ImageInfo, error) {
	res, err := p.client.Image.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	used := map[string][]string{}
	for _, pod := range p.pleg.Cache().All() {
		name := pod.Namespace + "/" + pod.Name
		for i := range pod.Containers {
			c := &pod.Containers[i]
			for _, id := range []string{c.ImageID, c.Image} {
				if id != "" && !slices.Contains(used[id], name) {
					used[id] = append(used[id], name)
				}
			}
		}
	}
	out := []ImageInfo{}
	for _, i := range res.GetImages() {
		info := ImageInfo{ID: i.GetId(), Tags: i.GetRepoTags(), Digests: i.GetRepoDigests(), Bytes: i.GetSize(), Pinned: i.GetPinned()}
		for _, id := range slices.Concat([]string{i.GetId()}, i.GetRepoTags(), i.GetRepoDigests()) {
			info.UsedBy = append(info.UsedBy, used[id]...)
		}
		slices.Sort(info.UsedBy)
		info.UsedBy = slices.Compact(info.UsedBy)
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b ImageInfo) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func (p *parts) queryCgroup(pod string) ([]cgroup.Values, error) {
	if p.cgroups == nil {
		return nil, errors.New("this agent makes no cgroups: its runtime is simulated, or cgroupsPerQOS is false")
	}
	var uid types.UID
	if pod != "" {
		all := p.pods.store.Pods()
		i := slices.IndexFunc(all, func(known v1.Pod) bool { return known.Namespace+"/"+known.Name == pod })
		if i < 0 {
			return nil, fmt.Errorf("no pod %s on this node", pod)
		}
		uid = all[i].UID
	}
	return p.cgroups.Describe(uid)
}

// NodeInfo is what the node has, and what of it is for pods.
type NodeInfo struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Runtime     string            `json:"runtime"`
	Endpoint    string            `json:"runtime_endpoint"`
	Simulated   bool              `json:"simulated,omitempty"`
	RootDir     string            `json:"root_dir"`
	Cluster     bool              `json:"cluster"`
	Slots       int               `json:"runtime_slots"`
	Addresses   []string          `json:"addresses,omitempty"`
	Capacity    map[string]string `json:"capacity,omitempty"`
	Allocatable map[string]string `json:"allocatable,omitempty"`
	NotReady    []string          `json:"not_ready,omitempty"`
}

func (p *parts) queryNode() NodeInfo {
	n := NodeInfo{
		Name: p.cfg.NodeName, Version: p.cfg.Version, Endpoint: p.cfg.Endpoint, Simulated: p.cfg.Simulated,
		RootDir: p.cfg.Kubelet.Node.RootDir, Cluster: !p.cluster.alone(), Slots: runtimeSlots(p.cfg.RuntimeSlots),
		Runtime: strings.TrimSpace(p.client.Info.GetRuntimeName() + " " + p.client.Info.GetRuntimeVersion()), Addresses: p.host.ips,
		Capacity: quantities(p.host.resources.Capacity), Allocatable: quantities(p.host.resources.Allocatable),
	}
	for _, err := range p.state.NotReady() {
		n.NotReady = append(n.NotReady, err.Error())
	}
	return n
}

func quantities(list v1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}
