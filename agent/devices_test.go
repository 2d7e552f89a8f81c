package agent_test

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
)

const gpu = "example.com/gpu"

// plugin is a device plugin that has two devices on NUMA node 0.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
}

func (plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (plugin) ListAndWatch(_ *pluginapi.Empty, s grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	var all []*pluginapi.Device
	for _, id := range []string{"g0", "g1"} {
		all = append(all, &pluginapi.Device{ID: id, Health: pluginapi.Healthy, Topology: &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: 0}}}})
	}
	if err := s.Send(&pluginapi.ListAndWatchResponse{Devices: all}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

func (plugin) Allocate(context.Context, *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{}}}, nil
}

// serve registers the plugin with the agent of that root directory.
func (p plugin) serve(t *testing.T, root string) {
	t.Helper()
	dir := filepath.Join(root, "device-plugins")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "gpu.sock"))
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(srv, p)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	conn, err := grpc.NewClient("unix://"+filepath.Join(dir, "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req := &pluginapi.RegisterRequest{Version: pluginapi.Version, Endpoint: "gpu.sock", ResourceName: gpu}
	if _, err := pluginapi.NewRegistrationClient(conn).Register(t.Context(), req, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
}

// A plugin's devices are a part of the node's description, and the topology manager decides about them.
func TestDevices(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	n := run(t, h.config("--topology-manager-policy", "single-numa-node"))
	plugin{}.serve(t, filepath.Join(h.dir, "root"))
	n.until("description", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.NodeDescribed)
		return ok && slices.Contains(e.Resources, trace.NodeResource{Name: gpu, Capacity: "2", Allocatable: "2"})
	})
	fits, large := podOf("fits"), podOf("large")
	fits.Spec.Containers[0].Resources.Limits = v1.ResourceList{gpu: resource.MustParse("1")}
	large.Spec.Containers[0].Resources.Limits = v1.ResourceList{gpu: resource.MustParse("2")}
	n.source.Set(fits)
	n.until("allocation", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.DeviceAllocation)
		return ok && e.Outcome == trace.DevicesAllocated && e.Nodes == "0" && slices.Equal(e.IDs, []string{"g0"})
	})
	n.until("start", milestone("started", fits))
	n.source.Set(fits, large)
	n.until("refusal", refusal("TopologyAffinityError", large))
	n.end()
}

// A pod that requests a resource whose plugin is gone is rejected: the node's status has none of it. One of which the status has nothing is
// not the node's.
func TestRemovedResource(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	api, flags := h.api()
	none := v1.ResourceList{gpu: resource.MustParse("0")}
	api.put("/api/v1/nodes/node", &v1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "u-node", ResourceVersion: "1"},
		Status: v1.NodeStatus{Capacity: none, Allocatable: none},
	})
	n := run(t, h.config(append(flags, "--register-node=false")...))
	n.until("the node's object", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.NodeStatus)
		return ok && r.Edge == trace.EdgeEnd && e.Err == ""
	})
	removed, cluster := podOf("removed"), podOf("cluster")
	removed.Spec.Containers[0].Resources.Requests = v1.ResourceList{gpu: resource.MustParse("1")}
	cluster.Spec.Containers[0].Resources.Requests = v1.ResourceList{"example.com/license": resource.MustParse("1")}
	n.source.Set(removed, cluster)
	n.until("refusal", refusal("OutOf"+gpu, removed))
	n.until("start", milestone("started", cluster))
	n.end()
}
