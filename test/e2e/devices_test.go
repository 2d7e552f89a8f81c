package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// plugin is a device plugin. Each of its devices is a harmless device node.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	registerapi.UnimplementedRegistrationServer
	resource, host string
	ids            []string
	slow           time.Duration // what Allocate takes
	srv            *grpc.Server
}

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *pluginapi.Empty, s grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	var all []*pluginapi.Device
	for _, id := range p.ids {
		all = append(all, &pluginapi.Device{ID: id, Health: pluginapi.Healthy})
	}
	if err := s.Send(&pluginapi.ListAndWatchResponse{Devices: all}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, req *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	time.Sleep(p.slow)
	_, name, _ := strings.Cut(p.resource, "/")
	ids := req.ContainerRequests[0].DevicesIds
	c := &pluginapi.ContainerAllocateResponse{
		Envs:        map[string]string{strings.ToUpper(name): strings.Join(ids, ",")},
		Devices:     []*pluginapi.DeviceSpec{{HostPath: p.host, ContainerPath: "/dev/kl-" + name, Permissions: "rw"}},
		Annotations: map[string]string{"example.com/" + name: strings.Join(ids, ",")},
	}
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{c}}, nil
}

// GetInfo is for a plugin that registers in plugins_registry.
func (p *plugin) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.DevicePlugin, Name: p.resource, SupportedVersions: []string{pluginapi.Version}}, nil
}

func (p *plugin) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}

// serve serves the plugin at a socket below the agent's root directory.
func (p *plugin) serve(n *node, socket string) {
	n.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(n.ctx(), "unix", filepath.Join(n.root, socket))
	if err != nil {
		n.t.Fatal(err)
	}
	p.srv = grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(p.srv, p)
	registerapi.RegisterRegistrationServer(p.srv, p)
	go func() { _ = p.srv.Serve(l) }()
	n.t.Cleanup(p.srv.Stop)
}

// local connects to a socket below the agent's root directory.
func (n *node) local(socket string) *grpc.ClientConn {
	n.t.Helper()
	conn, err := grpc.NewClient("unix://"+filepath.Join(n.root, socket), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// register registers a plugin on the kubelet's socket.
func (p *plugin) register(n *node, endpoint string) {
	n.t.Helper()
	_, err := pluginapi.NewRegistrationClient(n.local("device-plugins/kubelet.sock")).Register(n.ctx(), &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: endpoint, ResourceName: p.resource,
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// devices waits until the agent knows so many devices of a resource.
func (a *agent) devices(resource string, healthy, unhealthy int) {
	a.node.t.Helper()
	a.wait(fmt.Sprintf("%d healthy %s", healthy, resource), func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.DevicePlugin)
		return ok && e.Op == trace.PluginDevices && e.Resource == resource && e.Healthy == healthy && e.Unhealthy == unhealthy
	})
}

const withDevices = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: $BUSYBOX
    command: [sh, -c, 'echo "$NULLS $ZEROS"; head -c 3 /dev/kl-zeros | wc -c; echo gone > /dev/kl-nulls && trap "exit 0" TERM; sleep infinity & wait']
    resources: {limits: {example.com/nulls: NULLS, example.com/zeros: 1}}
`

func deviceManifest(name, nulls string) string {
	return strings.NewReplacer("NAME", name, ": NULLS", ": "+nulls).Replace(withDevices)
}

// TestDevices gives a pod devices of two plugins, one of each way to register, over restarts of the agent and of a plugin.
func TestDevices(t *testing.T) {
	n := newNode(t)
	a := n.start()
	nulls := &plugin{resource: "example.com/nulls", host: "/dev/null", ids: []string{"n0", "n1", "n2"}}
	zeros := &plugin{resource: "example.com/zeros", host: "/dev/zero", ids: []string{"z0", "z1"}}
	nulls.serve(n, "device-plugins/nulls.sock")
	nulls.register(n, "nulls.sock")
	zeros.serve(n, "plugins_registry/zeros.sock")
	a.devices("example.com/nulls", 3, 0)
	a.devices("example.com/zeros", 2, 0)

	n.put("a.yaml", deviceManifest("a", "2"))
	a.ready("a")
	n.await("the container's output", func() bool { return n.log("a", "c", 0) == "n0,n1 z0\n3\n" })
	if ann := n.containers("a")[0].Annotations; ann["example.com/nulls"] != "n0,n1" {
		t.Errorf("annotations %v", ann)
	}
	list, err := podresourcesapi.NewPodResourcesListerClient(n.local("pod-resources/kubelet.sock")).List(n.ctx(), &podresourcesapi.ListPodResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.PodResources) != 1 || list.PodResources[0].Name != n.pod("a") || len(list.PodResources[0].Containers[0].Devices) != 3 {
		t.Errorf("podresources: %v", list)
	}

	// Too few for another pod.
	n.put("b.yaml", deviceManifest("b", "2"))
	if st := a.phase("b", "Failed"); st.Reason != "UnexpectedAdmissionError" ||
		!strings.Contains(st.Message, "Allocate failed due to requested number of devices unavailable for example.com/nulls. Requested: 2, Available: 1, which is unexpected") {
		t.Errorf("status %+v", st)
	}
	why := n.finding("b", "KL42")
	if f := why.Findings[0]; f.ID != "KL42" || !f.Final || !strings.Contains(f.Sentence, "the pod did not get 2 example.com/nulls for container c") {
		t.Errorf("why b was rejected: %+v", why.Findings)
	}
	n.drop("b.yaml")
	a.gone("b")

	// The agent is killed. The pod continues, and keeps its devices when its container starts again.
	before := n.runs("a")
	a.kill()
	nulls.srv.Stop()
	a = n.start()
	if m := a.milestone("a", "started"); !m.Adopted || len(before) != 1 || n.runs("a")[0] != before[0] {
		t.Errorf("the pod was not adopted: %+v, %v before, %v now", m, before, n.runs("a"))
	}
	if _, err := os.Stat(filepath.Join(n.root, "device-plugins/nulls.sock")); err == nil {
		t.Error("the old plugin's socket is there: a plugin would not notice the new agent")
	}
	again := &plugin{resource: nulls.resource, host: nulls.host, ids: nulls.ids}
	again.serve(n, "device-plugins/nulls.sock")
	again.register(n, "nulls.sock")
	a.devices("example.com/nulls", 3, 0)
	a.devices("example.com/zeros", 2, 0)
	n.put("c.yaml", deviceManifest("c", "1"))
	a.ready("c")
	n.await("the new pod's output", func() bool { return n.log("c", "c", 0) == "n2 z1\n3\n" })

	// A plugin restarts.
	a.mark()
	again.srv.Stop()
	a.devices("example.com/nulls", 0, 3)
	third := &plugin{resource: nulls.resource, host: nulls.host, ids: nulls.ids, slow: 3 * time.Second}
	third.serve(n, "device-plugins/nulls.sock")
	third.register(n, "nulls.sock")
	a.devices("example.com/nulls", 3, 0)

	// What a pod had is free when it is gone.
	n.drop("a.yaml")
	a.gone("a")
	n.put("d.yaml", deviceManifest("d", "2"))
	a.ready("d")
	for _, f := range n.finding("d", "KL42").Findings {
		if f.ID == "KL42" && (f.Cost < 2500*time.Millisecond || f.Cost > 6*time.Second || !strings.Contains(f.Sentence, "for the device plugin of example.com/nulls to answer")) {
			t.Errorf("why d started slowly: %+v", f)
		}
	}
	n.await("the last pod's output", func() bool { return n.log("d", "c", 0) == "n0,n1 z0\n3\n" })
}
