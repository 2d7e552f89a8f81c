package agent_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/qos/qostest"
	"github.com/kubeloupe/kubeloupe/trace"
)

const gpus = "gpu.example.com"

// draDriver is a DRA driver that registers in the kubelet's plugin registry.
type draDriver struct {
	drapb.UnimplementedDRAPluginServer
	registerapi.UnimplementedRegistrationServer
	healthapi.UnimplementedDRAResourceHealthServer
	health chan healthapi.HealthStatus // of its device, as it reports it

	mu    sync.Mutex
	calls []string
}

func (d *draDriver) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.DRAPlugin, Name: gpus, SupportedVersions: []string{drapb.DRAPluginService, healthapi.DRAResourceHealthService}}, nil
}

func (d *draDriver) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}

func (d *draDriver) NodePrepareResources(_ context.Context, req *drapb.NodePrepareResourcesRequest) (*drapb.NodePrepareResourcesResponse, error) {
	out := &drapb.NodePrepareResourcesResponse{Claims: map[string]*drapb.NodePrepareResourceResponse{}}
	for _, c := range req.Claims {
		d.note("prepare " + c.Namespace + "/" + c.Name + " " + c.Uid)
		out.Claims[c.Uid] = &drapb.NodePrepareResourceResponse{Devices: []*drapb.Device{{PoolName: "node", DeviceName: "gpu-0", CdiDeviceIds: []string{"example.com/gpu=0"}}}}
	}
	return out, nil
}

func (d *draDriver) NodeUnprepareResources(_ context.Context, req *drapb.NodeUnprepareResourcesRequest) (*drapb.NodeUnprepareResourcesResponse, error) {
	out := &drapb.NodeUnprepareResourcesResponse{Claims: map[string]*drapb.NodeUnprepareResourceResponse{}}
	for _, c := range req.Claims {
		d.note("unprepare " + c.Namespace + "/" + c.Name + " " + c.Uid)
		out.Claims[c.Uid] = &drapb.NodeUnprepareResourceResponse{}
	}
	return out, nil
}

func (d *draDriver) NodeWatchResources(_ *healthapi.NodeWatchResourcesRequest, s healthapi.DRAResourceHealth_NodeWatchResourcesServer) error {
	for {
		select {
		case <-s.Context().Done():
			return nil
		case h := <-d.health:
			one := &healthapi.DeviceHealth{Device: &healthapi.DeviceIdentifier{PoolName: "node", DeviceName: "gpu-0"}, Health: h, HealthCheckTimeoutSeconds: 3600}
			if err := s.Send(&healthapi.NodeWatchResourcesResponse{Devices: []*healthapi.DeviceHealth{one}}); err != nil {
				return err
			}
		}
	}
}

func (d *draDriver) note(call string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
}

func (d *draDriver) took() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.calls
	d.calls = nil
	return out
}

// serve serves the driver in the registry of a host's agent, until the test ends or the result is called, which removes the socket.
func (d *draDriver) serve(h *host) (stop func()) {
	h.t.Helper()
	socket := filepath.Join(h.dir, "root", "plugins_registry", "gpu.sock")
	l, err := (&net.ListenConfig{}).Listen(h.t.Context(), "unix", socket)
	if err != nil {
		h.t.Fatal(err)
	}
	srv := grpc.NewServer()
	drapb.RegisterDRAPluginServer(srv, d)
	registerapi.RegisterRegistrationServer(srv, d)
	healthapi.RegisterDRAResourceHealthServer(srv, d)
	go func() { _ = srv.Serve(l) }()
	h.t.Cleanup(srv.Stop)
	return srv.Stop
}

func claimEvent(op trace.ClaimOp) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.ResourceClaim)
		return ok && e.Op == op && e.Name == "gpu"
	}
}

func draPlugin(op trace.DRAPluginOp) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.DRAPlugin)
		return ok && e.Op == op && e.Driver == gpus
	}
}

// A pod with a ResourceClaim waits for its DRA driver, gets its device, keeps it over a restart of the agent, and gives it back.
func TestResourceClaims(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	api, flags := h.api()
	p := podOf("web")
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
	p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	api.put("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/gpu", &resourceapi.ResourceClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu", UID: "u-gpu"},
		Status: resourceapi.ResourceClaimStatus{
			ReservedFor: []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}},
			Allocation: &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
				Results: []resourceapi.DeviceRequestAllocationResult{{Request: "one", Driver: gpus, Pool: "node", Device: "gpu-0"}},
			}},
		},
	})
	n := run(t, h.config(flags...))
	n.source.Set(p)
	n.until("the Event", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.NodeEvent)
		return ok && e.Reason == "FailedPrepareDynamicResources" &&
			e.Message == "Failed to prepare dynamic resources: prepare dynamic resources: DRA driver gpu.example.com is not registered"
	})
	n.until("the wait", func(r *trace.Record) bool {
		w, ok := r.Event.(*trace.Wait)
		return ok && w.For == trace.WaitClaims && w.Target == (trace.Target{Kind: trace.TargetDRADriver, Name: gpus}) && w.Until > 0 && r.Edge == trace.EdgeBegin
	})
	if h.sandboxes() > 0 {
		t.Error("a sandbox without its claims")
	}
	d := &draDriver{health: make(chan healthapi.HealthStatus)}
	stop := d.serve(h)
	n.until("start", milestone("started", p))
	if got := d.took(); !slices.Equal(got, []string{"prepare default/gpu u-gpu"}) {
		t.Errorf("calls %q", got)
	}
	if got := n.created(p); !strings.Contains(got, `"example.com/gpu=0"`) {
		t.Errorf("the container was created with %s", got)
	}
	if got := h.dynamic(p.Name); got != "default/gpu gpu.example.com node gpu-0 example.com/gpu=0" {
		t.Errorf("podresources has %s", got)
	}
	if got := n.health(); got != "claim:gpu example.com/gpu=0 Unknown" {
		t.Errorf("health %s", got)
	}
	d.health <- healthapi.HealthStatus_UNHEALTHY
	n.until("the device's health in the status", func(r *trace.Record) bool {
		_, ok := r.Event.(*trace.Sync)
		return ok && r.Edge == trace.EdgeEnd && n.health() == "claim:gpu example.com/gpu=0 Unhealthy"
	})
	n.until("the ResourceSlices of the node to be deleted", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.DRAPlugin)
		return ok && e.Op == trace.DRAWiped && e.Driver == "" && e.Err == ""
	})
	api.mu.Lock()
	if want := "/apis/resource.k8s.io/v1/resourceslices spec.nodeName=node"; !slices.Contains(api.deleted, want) {
		t.Errorf("deleted %q", api.deleted)
	}
	api.mu.Unlock()
	n.end()

	n = run(t, h.config(flags...))
	n.source.Set(p)
	n.until("start", milestone("started", p))
	if got := d.took(); len(got) > 0 {
		t.Errorf("calls for a pod that runs: %q", got)
	}
	n.until("the driver", draPlugin(trace.DRAConnected))
	stop()
	n.until("the driver to be gone", draPlugin(trace.DRAGone))
	n.source.Set()
	n.until("a failure", claimEvent(trace.ClaimNotReleased))
	for _, r := range n.records() {
		if m, ok := r.Event.(*trace.Milestone); ok && m.Name == trace.MilestoneGone {
			t.Error("the pod is gone before its claim was unprepared")
		}
	}
	d.serve(h)
	n.until("gone", milestone("gone", p))
	if got := d.took(); !slices.Equal(got, []string{"unprepare default/gpu u-gpu"}) {
		t.Errorf("calls %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(h.dir, "root", "dra_manager_state")); err != nil || !strings.Contains(string(text), `\"ClaimInfoStateList\":[]`) {
		t.Errorf("the state file is %s, %v", text, err)
	}
	n.end()
	if open := n.open(); len(open) > 0 {
		t.Errorf("not ended: %q", open)
	}
}

// An agent whose state of claims cannot be read does not start: it would lose which devices containers have.
func TestUnreadableClaims(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	root := filepath.Join(h.dir, "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "dra_manager_state"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := prepare(t, h.config()).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "dra_manager_state: unexpected end of JSON input: drain this node and remove the file before restarting") {
		t.Error(err)
	}
}

// health returns the health of devices in the status of the only pod.
func (n *node) health() (out string) {
	n.t.Helper()
	for _, p := range n.Pods() {
		for _, c := range p.Status.ContainerStatuses {
			for _, s := range c.AllocatedResourcesStatus {
				out += string(s.Name)
				for _, r := range s.Resources {
					out += " " + string(r.ResourceID) + " " + string(r.Health)
				}
			}
		}
	}
	return out
}

// created returns the request that created the pod's container, as people see it.
func (n *node) created(p *v1.Pod) string {
	n.t.Helper()
	for _, r := range n.records() {
		if c, ok := r.Event.(*trace.CRICall); ok && c.Method == "CreateContainer" && r.Pod.UID == string(p.UID) {
			if text, err := json.Marshal(c.Request); err == nil && len(text) > 4 {
				return string(text)
			}
		}
	}
	return ""
}

// dynamic returns the devices of ResourceClaims that the podresources API shows of a pod.
func (h *host) dynamic(name string) (out string) {
	h.t.Helper()
	conn, err := grpc.NewClient("unix://"+filepath.Join(h.dir, "root", "pod-resources", "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	res, err := podresourcesapi.NewPodResourcesListerClient(conn).Get(h.t.(*testing.T).Context(), &podresourcesapi.GetPodResourcesRequest{PodNamespace: "default", PodName: name}, grpc.WaitForReady(true))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, c := range res.PodResources.Containers {
		for _, r := range c.DynamicResources {
			out += r.ClaimNamespace + "/" + r.ClaimName
			for _, d := range r.ClaimResources {
				out += " " + d.DriverName + " " + d.PoolName + " " + d.DeviceName + " " + d.CdiDevices[0].Name
			}
		}
	}
	return out
}

// With the gate, CPUs of claims count for admission, for the container's limit and in the pod's status.
func TestClaimedCPUs(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	_, flags := h.api()
	n := run(t, h.config(append(flags, "--feature-gates", "DRANodeAllocatableResources=true")...))
	fits := qostest.Claim(guaranteed("fits", "100m"), "cpu=100m", "c")
	large := qostest.Claim(guaranteed("large", "100m"), "cpu=100k", "c")
	for _, p := range []*v1.Pod{fits, large} {
		p.Status.NodeAllocatableResourceClaimStatuses[0].Containers = []string{p.Spec.Containers[0].Name}
	}
	n.source.Set(fits, large)
	n.until("refusal", refusal("OutOfcpu", large))
	n.until("start", milestone("started", fits))
	if _, quota := h.cpusOf(fits); quota != 20_000 {
		t.Errorf("CPU quota %d, want that of 200m", quota)
	}
	for _, p := range n.Pods() {
		if has := p.Status.AllocatedResources.Cpu().String(); p.UID == fits.UID && has != "200m" {
			t.Errorf("allocated %s", has)
		}
	}
	n.end()
}
