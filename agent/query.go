package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/agent/image"
)

// ErrNotReady is the error of a query before the agent is assembled.
var ErrNotReady = errors.New("the agent is still starting")

// Query returns state that is not in the stream of records: config, images, cgroup (of the pod in args, NAMESPACE/NAME, or of the
// node), node, and logs (the last lines of the container in args of that
// pod; if previous is true, of the one before its last restart). The values can be encoded as JSON.
func (a *Agent) Query(ctx context.Context, what string, args map[string]string) (any, error) {
	p := a.parts.Load()
	if p == nil {
		return nil, ErrNotReady
	}
	switch what {
	case "config":
		return p.cfg.Kubelet.Shown(), nil
	case "images":
		return image.List(ctx, p.client.Image, p.pleg.Cache().All())
	case "cgroup":
		return p.queryCgroup(args["pod"])
	case "node":
		return p.queryNode(), nil
	case "logs":
		return p.queryLogs(ctx, args["pod"], args["container"], args["previous"] == "true")
	}
	return nil, fmt.Errorf("unknown query %q: must be config, images, cgroup, node or logs", what)
}

// DeleteUnusedImages runs a pass of image garbage collection that removes every image without a container. Its
// decisions are published.
func (a *Agent) DeleteUnusedImages(ctx context.Context) (gc.Summary, error) {
	p := a.parts.Load()
	if p == nil {
		return gc.Summary{}, ErrNotReady
	}
	return p.collector.DeleteUnused(ctx)
}

func (p *parts) queryCgroup(pod string) ([]cgroup.Values, error) {
	if p.cgroups == nil {
		return nil, errors.New("this agent creates no cgroups: its runtime is simulated, or cgroupsPerQOS is false")
	}
	var uid types.UID
	if pod != "" {
		namespace, name, _ := strings.Cut(pod, "/")
		known := p.pods.store.Pod(namespace, name)
		if known == nil {
			return nil, fmt.Errorf("no pod %s on this node", pod)
		}
		uid = known.UID
	}
	return p.cgroups.Describe(uid)
}

// NodeInfo is the node's capacity and allocatable.
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
		RootDir: p.cfg.Kubelet.Node.RootDir, Cluster: !p.cluster.alone(), Slots: p.slots.Width(),
		Runtime: strings.TrimSpace(p.client.Info.GetRuntimeName() + " " + p.client.Info.GetRuntimeVersion()), Addresses: p.hostIPs(),
		Capacity: quantities(p.host.resources.Capacity), Allocatable: quantities(p.host.resources.Allocatable),
	}
	for _, err := range p.notReady() {
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
