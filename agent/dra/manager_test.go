package dra

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	drabeta "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// TestLife prepares the claims of a pod by two drivers, gives the devices to containers, and unprepares them.
func TestLife(t *testing.T) {
	for version, methods := range map[string][]string{
		drapb.DRAPluginService:   {drapb.DRAPlugin_NodePrepareResources_FullMethodName, drapb.DRAPlugin_NodeUnprepareResources_FullMethodName},
		drabeta.DRAPluginService: {drabeta.DRAPlugin_NodePrepareResources_FullMethodName, drabeta.DRAPlugin_NodeUnprepareResources_FullMethodName},
	} {
		t.Run(version, func(t *testing.T) {
			n := newNode(t, t.TempDir())
			n.run()
			gpu, nic := &fakeDriver{name: gpus}, &fakeDriver{name: nics}
			n.driver(gpu, version)
			n.driver(nic, version)
			n.claim("a", []string{gpus, nics}, "p")
			n.claim("b", []string{gpus}, "p")
			p := n.pod("p", "a", "b")
			if n.Ready(p) || !n.Has(p) {
				t.Error("ready before it is prepared")
			}
			if err := n.Prepare(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			wantStrings(t, "gpu", gpu.took(), "prepare a b")
			wantStrings(t, "nic", nic.took(), "prepare a")
			if !n.Ready(p) {
				t.Error("not ready")
			}
			wantStrings(t, "devices", n.cdi(p), gpus+"/c=a-0", gpus+"/c=a-1", nics+"/c=a-0", nics+"/c=a-1", gpus+"/c=b-0", gpus+"/c=b-1")
			p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "my-a", Request: "two"}, {Name: "my-a", Request: "two"}}
			wantStrings(t, "devices of a request", n.cdi(p), gpus+"/c=a-1", nics+"/c=a-1")
			p.Spec.Containers[0].Resources.Claims = nil
			wantStrings(t, "devices of none", n.cdi(p))
			if err := n.Prepare(t.Context(), p); err != nil { // another sandbox
				t.Fatal(err)
			}
			wantStrings(t, "gpu", gpu.took())
			if err := n.Unprepare(t.Context(), "p"); err != nil {
				t.Fatal(err)
			}
			wantStrings(t, "nic", nic.took(), "unprepare a")
			if got := gpu.took(); len(got) != 1 || !strings.HasPrefix(got[0], "unprepare ") || len(got[0]) != len("unprepare a b") {
				t.Errorf("got %q", got)
			}
			if err := n.Unprepare(t.Context(), "p"); err != nil {
				t.Error(err)
			}
			if left, err := checkpoint.Read(filepath.Join(n.dir, checkpoint.Name)); err != nil || len(left) != 0 {
				t.Error(left, err)
			}
			got := n.ops()
			slices.Sort(got)
			wantStrings(t, "events", got, "prepared a "+gpus, "prepared a "+nics, "prepared b "+gpus, "unprepared a "+gpus, "unprepared a "+nics, "unprepared b "+gpus)
			for _, r := range n.rec.OfKind("resource.claim") {
				if e := r.Event.(*trace.ResourceClaim); e.Op == trace.ClaimPrepared && (e.Took <= 0 || e.Count != 2 || len(e.Devices) != 2 || e.Devices[0] != "pool/"+e.Name+"-0" || e.UID != "uid-"+e.Name) {
					t.Errorf("%+v", e)
				}
			}
			for _, r := range n.rec.OfKind("resource.claim") { // trace/metrics adds the rest of gRPC's name
				if e := r.Event.(*trace.ResourceClaim); !slices.Contains(methods, "/k8s.io.kubelet.pkg.apis.dra."+e.Method) {
					t.Errorf("method %s, want one of %q", e.Method, methods)
				}
			}
			waits := map[trace.Target]int{}
			for _, r := range n.rec.OfKind("pod.wait") {
				if w := r.Event.(*trace.Wait); w.For == trace.WaitClaims && w.Limit == 45*time.Second && r.Edge == trace.EdgeEnd {
					waits[w.Target]++
				}
			}
			if len(waits) != 2 || waits[trace.Target{Kind: trace.TargetDRADriver, Name: gpus}] != 2 || waits[trace.Target{Kind: trace.TargetDRADriver, Name: nics}] != 2 {
				t.Errorf("waits %v", waits)
			}
		})
	}
}

// What keeps a claim from being used. No driver is called, and nothing is recorded.
func TestRefused(t *testing.T) {
	template := func(p *v1.Pod, status ...v1.PodResourceClaimStatus) {
		p.Spec.ResourceClaims[0].ResourceClaimName, p.Spec.ResourceClaims[0].ResourceClaimTemplateName = nil, new("t")
		p.Status.ResourceClaimStatuses = status
	}
	skip := func(c *resourceapi.ResourceClaim) {
		c.Status.Allocation.Devices.Results[0].SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}
	}
	for name, c := range map[string]struct {
		change func(n *node, p *v1.Pod, c *resourceapi.ResourceClaim)
		fault  trace.ClaimFault
		want   string
		waits  trace.Target
	}{
		"not there": {
			func(_ *node, p *v1.Pod, _ *resourceapi.ResourceClaim) {
				p.Spec.ResourceClaims[0].ResourceClaimName = new("b")
			},
			trace.FaultNotFound, `prepare dynamic resources: fetch ResourceClaim b: resourceclaims.resource.k8s.io "b" not found`,
			trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "b"},
		},
		"not made yet": {
			func(_ *node, p *v1.Pod, _ *resourceapi.ResourceClaim) { template(p) },
			trace.FaultNotFound, `prepare dynamic resources: pod "ns/p": ResourceClaim not created yet`,
			trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "my-a"},
		},
		"no source": {
			func(_ *node, p *v1.Pod, _ *resourceapi.ResourceClaim) {
				p.Spec.ResourceClaims[0].ResourceClaimName = nil
			},
			trace.FaultUnsupported, `prepare dynamic resources: pod "ns/p", spec.resourceClaim "my-a": none of the supported fields are set`,
			trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "my-a"},
		},
		"of another pod": {func(_ *node, p *v1.Pod, _ *resourceapi.ResourceClaim) {
			template(p, v1.PodResourceClaimStatus{Name: "my-a", ResourceClaimName: new("a")})
		}, trace.FaultNotOwned, "prepare dynamic resources: ResourceClaim ns/a was not created for Pod ns/p (Pod is not owner)", trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "a"}},
		"not reserved": {
			func(_ *node, _ *v1.Pod, c *resourceapi.ResourceClaim) { c.Status.ReservedFor[0].UID = "q" },
			trace.FaultUnreserved, "prepare dynamic resources: pod p (p) is not allowed to use ResourceClaim a (uid-a)",
			trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "a"},
		},
		"not scheduled": {
			func(_ *node, _ *v1.Pod, c *resourceapi.ResourceClaim) { c.Status = resourceapi.ResourceClaimStatus{} },
			trace.FaultUnallocated, "prepare dynamic resources: pod p (p) is not allowed to use ResourceClaim a (uid-a)",
			trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "a"},
		},
		"not allocated": {
			func(_ *node, _ *v1.Pod, c *resourceapi.ResourceClaim) { c.Status.Allocation = nil },
			trace.FaultUnallocated, "prepare dynamic resources: ResourceClaim a: not allocated",
			trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "a"},
		},
		"optional": {
			func(_ *node, _ *v1.Pod, c *resourceapi.ResourceClaim) { skip(c) },
			trace.FaultUnsupported, "prepare dynamic resources: ResourceClaim a: DRAOptionalNodeOperations feature gate is disabled on kubelet",
			trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "a"},
		},
		"no answer": {
			func(n *node, _ *v1.Pod, _ *resourceapi.ResourceClaim) { n.getErr = errors.New("connection refused") },
			trace.FaultAPI, "prepare dynamic resources: fetch ResourceClaim a: connection refused",
			trace.Target{Kind: trace.TargetResourceClaim, Namespace: "ns", Name: "a"},
		},
		"no driver": {func(_ *node, _ *v1.Pod, c *resourceapi.ResourceClaim) {
			c.Status.Allocation.Devices.Results[0].Driver = "none.example.com"
		}, trace.FaultDriverMissing, "prepare dynamic resources: DRA driver none.example.com is not registered", trace.Target{Kind: trace.TargetDRADriver, Name: "none.example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, t.TempDir())
			n.run()
			d := &fakeDriver{name: gpus}
			n.driver(d)
			p := n.pod("p", "a")
			c.change(n, p, n.claim("a", []string{gpus}, "p"))
			err := n.Prepare(t.Context(), p)
			if err == nil || err.Error() != c.want || fault(err) != c.fault {
				t.Fatalf("got %q %v", fault(err), err)
			}
			if e, _ := errors.AsType[*Error](err); e.Wait().For != trace.WaitClaims || e.Wait().Target != c.waits || e.Wait().Cause == "" {
				t.Errorf("waits for %+v", e.Wait())
			}
			wantStrings(t, "calls", d.took())
			if n.Ready(p) {
				t.Error("ready")
			}
			if len(n.users()) > 0 {
				t.Error("the pod uses claims")
			}
			if got := n.ops(); len(got) != 1 || !strings.HasPrefix(got[0], "not-prepared ") || !strings.HasSuffix(got[0], string(c.fault)) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A claim that is not needed, and claims that were made for the pod from a template, for its group, or for its extended resources.
func TestNames(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.build(func(c *Config) { c.OptionalCalls, c.PodGroups = true, true })
	n.run()
	d := &fakeDriver{name: gpus}
	n.driver(d)
	owned := n.claim("owned", []string{gpus}, "p")
	owned.OwnerReferences = []metav1.OwnerReference{{UID: "p", Controller: new(true)}}
	group := n.claim("group", []string{gpus})
	group.OwnerReferences = []metav1.OwnerReference{{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Name: "g", Controller: new(true)}}
	group.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g"}}
	optional := n.claim("optional", []string{nics, nics}, "p") // its driver is not there
	optional.Status.Allocation.Devices.Results[0].SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationNodePrepareResources, resourceapi.SkipNodeOperationNodeUnprepareResources}
	optional.Status.Allocation.Devices.Results[1].SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}
	n.claim("extended", []string{gpus}, "p")
	p := n.pod("p", "optional")
	for _, name := range []string{"owned", "group", "unneeded"} {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, v1.PodResourceClaim{Name: name, ResourceClaimTemplateName: new("t")})
		p.Spec.Containers[0].Resources.Claims = append(p.Spec.Containers[0].Resources.Claims, v1.ResourceClaim{Name: name, Request: "one"})
	}
	p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("g")}
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{"example.com/gpu": apiresource.MustParse("1"), "example.com/none": apiresource.MustParse("0")}
	stale := p.DeepCopy() // what the pod's worker has
	p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{
		{Name: "owned", ResourceClaimName: new("owned")}, {Name: "group", ResourceClaimName: new("group")}, {Name: "unneeded"},
	}
	p.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "extended", RequestMappings: []v1.ContainerExtendedResourceRequest{
		{ContainerName: "app", ResourceName: "example.com/gpu", RequestName: "two"},
		{ContainerName: "app", ResourceName: "example.com/none", RequestName: "one"},
		{ContainerName: "other", ResourceName: "example.com/gpu", RequestName: "one"},
	}}
	if err := n.Prepare(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "calls", d.took(), "prepare owned group extended")
	wantStrings(t, "devices", n.cdi(stale), gpus+"/c=owned-0", gpus+"/c=group-0", gpus+"/c=extended-1")
	if got := n.Dynamic(stale, &p.Spec.Containers[0]); len(got) != 4 || got[1].ClaimName != "owned" || len(got[1].ClaimResources) != 2 ||
		got[1].ClaimResources[1].DeviceName != "owned-1" || len(got[1].ClaimResources[1].CdiDevices) != 1 || got[1].ClaimResources[0].DriverName != gpus || got[3].ClaimName != "extended" {
		t.Errorf("%v", got)
	}
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if len(n.users()) > 0 {
		t.Error("a claim is left")
	}
	// Without a driver that may prepare and unprepare it, no pod uses the claim.
	q := n.pod("q")
	if err := n.Prepare(t.Context(), q); err != nil || n.Has(q) || !n.Ready(q) || len(n.cdi(q)) > 0 {
		t.Error("a pod without claims", err)
	}
}

// What a driver may do wrong, and that a later call repairs it.
func TestBadDrivers(t *testing.T) {
	type answer = drapb.NodePrepareResourceResponse
	lies := func(change func(out *drapb.NodePrepareResourcesResponse)) func(*fakeDriver) {
		return func(f *fakeDriver) {
			f.prepare = func(_ context.Context, claims []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
				out := prepared(f.name, claims)
				change(out)
				return out, nil
			}
		}
	}
	for name, c := range map[string]struct {
		bad   func(*fakeDriver)
		fault trace.ClaimFault
		want  string
	}{
		"about another claim": {
			lies(func(out *drapb.NodePrepareResourcesResponse) { out.Claims["uid-z"] = &answer{} }),
			trace.FaultDriverAnswer, "NodePrepareResources returned result for unknown claim UID uid-z",
		},
		"about another claim alone": {lies(func(out *drapb.NodePrepareResourcesResponse) {
			out.Claims = map[string]*answer{strings.Repeat("z", 100_000): {}}
		}), trace.FaultDriverAnswer, "NodePrepareResources returned result for unknown claim UID " + trace.Clip(strings.Repeat("z", 100_000), 1024)},
		"not about all": {
			lies(func(out *drapb.NodePrepareResourcesResponse) { delete(out.Claims, "uid-b") }),
			trace.FaultDriverAnswer, "NodePrepareResources skipped 1 ResourceClaims",
		},
		"nothing": {lies(func(out *drapb.NodePrepareResourcesResponse) { out.Claims = nil }), trace.FaultDriverAnswer, "NodePrepareResources skipped 2 ResourceClaims"},
		"an error about one": {
			lies(func(out *drapb.NodePrepareResourcesResponse) { out.Claims["uid-b"] = &answer{Error: "no such GPU"} }),
			trace.FaultDriverFailed, "NodePrepareResources failed for ResourceClaim b: no such GPU",
		},
		"a long error": {lies(func(out *drapb.NodePrepareResourcesResponse) {
			out.Claims["uid-b"] = &answer{Error: strings.Repeat("x", 100_000)}
		}), trace.FaultDriverFailed, "NodePrepareResources failed for ResourceClaim b: " + trace.Clip(strings.Repeat("x", 100_000), 1024)},
		"large": {lies(func(out *drapb.NodePrepareResourcesResponse) {
			out.Claims["uid-b"] = &answer{Devices: []*drapb.Device{{CdiDeviceIds: []string{strings.Repeat("x", 2<<20)}}}}
		}), trace.FaultDriverAnswer, "NodePrepareResources failed for ResourceClaim b: the driver's answer has about 2097260 bytes, want 1048576 at most"},
		"many": {lies(func(out *drapb.NodePrepareResourcesResponse) {
			out.Claims["uid-b"] = &answer{Devices: make([]*drapb.Device, 20_000)}
			for i := range out.Claims["uid-b"].Devices {
				out.Claims["uid-b"].Devices[i] = &drapb.Device{}
			}
		}), trace.FaultDriverAnswer, "NodePrepareResources failed for ResourceClaim b: the driver's answer has about 2000000 bytes, want 1048576 at most"},
		"huge": {lies(func(out *drapb.NodePrepareResourcesResponse) {
			out.Claims["uid-b"] = &answer{Devices: []*drapb.Device{{CdiDeviceIds: []string{strings.Repeat("x", 5<<20)}}}}
		}), trace.FaultDriverFailed, "NodePrepareResources: rpc error: code = ResourceExhausted"},
		"an error": {func(f *fakeDriver) {
			f.prepare = func(context.Context, []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
				return nil, status.Error(codes.Internal, "broken")
			}
		}, trace.FaultDriverFailed, "NodePrepareResources: rpc error: code = Internal desc = broken"},
		"a crash": {func(f *fakeDriver) {
			f.prepare = func(context.Context, []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
				go f.srv.Stop()
				time.Sleep(time.Hour) // the call never returns
				return nil, nil
			}
		}, trace.FaultDriverFailed, "NodePrepareResources: rpc error: code = Unavailable"},
		"too late": {func(f *fakeDriver) {
			f.prepare = func(ctx context.Context, _ []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
				at, ok := ctx.Deadline()
				if left := time.Until(at); !ok || left > 45*time.Second || left < 15*time.Second {
					return nil, fmt.Errorf("%v left", left)
				}
				return nil, status.Error(codes.DeadlineExceeded, "as if 45 s had passed")
			}
		}, trace.FaultDriverTimeout, "NodePrepareResources: rpc error: code = DeadlineExceeded desc = as if 45 s had passed"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, t.TempDir())
			n.run()
			d, other := &fakeDriver{name: gpus}, &fakeDriver{name: nics}
			c.bad(d)
			n.driver(d)
			n.driver(other)
			n.claim("a", []string{gpus, nics}, "p")
			n.claim("b", []string{gpus}, "p")
			p := n.pod("p", "a", "b")
			err := n.Prepare(t.Context(), p)
			if err == nil || !strings.HasPrefix(err.Error(), "prepare dynamic resources: "+c.want) || fault(err) != c.fault {
				t.Fatalf("got %q %v", fault(err), err)
			}
			if e, _ := errors.AsType[*Error](err); e.Wait().Target != (trace.Target{Kind: trace.TargetDRADriver, Name: gpus}) {
				t.Errorf("waits for %+v", e.Wait())
			}
			if len(err.Error()) > 2000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if err := n.Prepare(t.Context(), p); err == nil {
				t.Error("prepared by a bad driver")
			}
			if name == "a crash" {
				n.Deregister(t.Context(), gpus, filepath.Join(n.sockets, gpus))
				n.driver(&fakeDriver{name: gpus})
			} else {
				d.prepare = nil
			}
			if err := n.Prepare(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			wantStrings(t, "devices", n.cdi(p), gpus+"/c=a-0", gpus+"/c=a-1", nics+"/c=a-0", nics+"/c=a-1", gpus+"/c=b-0", gpus+"/c=b-1")
			if err := n.Unprepare(t.Context(), "p"); err != nil || len(n.users()) > 0 {
				t.Error(err)
			}
		})
	}
}

// A driver that unprepares badly: the claim stays, and a later call repairs it.
func TestBadUnprepare(t *testing.T) {
	type answers = map[string]*drapb.NodeUnprepareResourceResponse
	for name, c := range map[string]struct {
		answers answers
		err     error
		fault   trace.ClaimFault
		want    string
		code    string // of gRPC; the answers above are no failure of the call
		left    string // the claims that are left
	}{
		"about another claim":    {answers{"uid-a": {}, "uid-b": {}, "uid-z": {}}, nil, trace.FaultDriverAnswer, "NodeUnprepareResources returned result for unknown claim UID uid-z", "", "a b"},
		"not about all":          {answers{"uid-a": {}}, nil, trace.FaultDriverAnswer, "NodeUnprepareResources skipped 1 ResourceClaims", "", "b"},
		"an error about one":     {answers{"uid-a": {Error: "busy"}, "uid-b": {}}, nil, trace.FaultDriverFailed, "NodeUnprepareResources failed for ResourceClaim a: busy", "", "a"},
		"an error":               {nil, errors.New("broken"), trace.FaultDriverFailed, "NodeUnprepareResources: rpc error: code = Unknown desc = broken", "Unknown", "a b"},
		"an error with a status": {nil, status.Error(codes.Aborted, "later"), trace.FaultDriverFailed, "NodeUnprepareResources: rpc error: code = Aborted desc = later", "Aborted", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, t.TempDir())
			n.run()
			d := &fakeDriver{name: gpus, unprepare: func(context.Context, []*drapb.Claim) (*drapb.NodeUnprepareResourcesResponse, error) {
				return &drapb.NodeUnprepareResourcesResponse{Claims: c.answers}, c.err
			}}
			n.driver(d)
			n.claim("a", []string{gpus}, "p")
			n.claim("b", []string{gpus}, "p")
			if err := n.Prepare(t.Context(), n.pod("p", "a", "b")); err != nil {
				t.Fatal(err)
			}
			err := n.Unprepare(t.Context(), "p")
			if err == nil || err.Error() != "unprepare dynamic resources: "+c.want || fault(err) != c.fault {
				t.Fatalf("got %q %v", fault(err), err)
			}
			failed := 0
			for _, e := range tracetest.Events[trace.ResourceClaim](n.rec) {
				if e.Op == trace.ClaimNotReleased {
					failed++
					if e.Code != c.code {
						t.Errorf("claim %s has status %q, want %q", e.Name, e.Code, c.code)
					}
				}
			}
			if want := len(strings.Fields(c.left)); failed != want {
				t.Errorf("%d claims are said not to be released, want %d", failed, want)
			}
			left, err := checkpoint.Read(filepath.Join(n.dir, checkpoint.Name))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, l := range left {
				names = append(names, l.ClaimName)
			}
			if strings.Join(names, " ") != c.left {
				t.Errorf("left %q", names)
			}
			d.unprepare = nil
			if err := n.Unprepare(t.Context(), "p"); err != nil || len(n.users()) > 0 {
				t.Error(err, n.users())
			}
			if !slices.ContainsFunc(n.ops(), func(s string) bool { return strings.HasPrefix(s, "not-released ") }) {
				t.Errorf("%q", n.ops())
			}
		})
	}
}

// Two pods share a claim: it is prepared once, and unprepared after the last one.
func TestShared(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	d := &fakeDriver{name: gpus}
	n.driver(d)
	n.claim("a", []string{gpus}, "p", "q")
	p, q := n.pod("p", "a"), n.pod("q", "a")
	for _, pod := range []*v1.Pod{p, q} {
		if err := n.Prepare(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	wantStrings(t, "devices", n.cdi(q), n.cdi(p)...)
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "calls", d.took(), "prepare a")
	if n.Ready(p) || !n.Ready(q) {
		t.Error("the wrong pod was removed")
	}
	n.restart() // the file has the change
	n.driver(d)
	if got := n.users(); len(got) != 1 || got["q"] == nil {
		t.Errorf("%v", got)
	}
	if err := n.Unprepare(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "calls", d.took(), "unprepare a")
	wantStrings(t, "events", n.ops(), "prepared a "+gpus, "shared a", "still-in-use a", "unprepared a "+gpus)
}

// No other pod gets a claim whose driver failed to unprepare it. It is retried when the driver has done that.
func TestUnpreparing(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	d := &fakeDriver{name: gpus, unprepare: func(context.Context, []*drapb.Claim) (*drapb.NodeUnprepareResourcesResponse, error) {
		return nil, errors.New("broken")
	}}
	n.driver(d)
	n.claim("a", []string{gpus}, "p", "q", "r")
	q := n.pod("q", "a")
	if err := n.Prepare(t.Context(), n.pod("p", "a")); err != nil {
		t.Fatal(err)
	}
	if err := n.Unprepare(t.Context(), "p"); fault(err) != trace.FaultDriverFailed {
		t.Fatal(err)
	}
	d.took()
	for _, pod := range []*v1.Pod{q, n.pod("r", "a")} {
		err := n.Prepare(t.Context(), pod)
		if fault(err) != trace.FaultUnpreparing || err.Error() != "prepare dynamic resources: ResourceClaim a is being unprepared" {
			t.Fatal(err)
		}
	}
	n.gone("r") // it terminates without the claim
	n.reconcileOnce()
	wantStrings(t, "calls", d.took())
	if got := n.users(); len(got) != 1 || got["p"] == nil || n.Held("q") {
		t.Errorf("users %v", got)
	}
	d.unprepare = nil
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	retried := slices.DeleteFunc(slices.Clone(n.retried), func(uid types.UID) bool { return uid == "p" })
	n.mu.Unlock()
	n.Manager.mu.Lock()
	blocked := len(n.blocked)
	n.Manager.mu.Unlock()
	if len(retried) != 1 || retried[0] != "q" || blocked > 0 {
		t.Errorf("retried %v, %d blocked", retried, blocked)
	}
	if err := n.Prepare(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "calls", d.took(), "unprepare a", "prepare a")
}

// While a driver is called about a claim, another pod waits, and uses the answer; or prepares the claim anew, after it was unprepared.
func TestBusy(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	called, answers := make(chan struct{}), make(chan struct{})
	wait := func() {
		called <- struct{}{}
		<-answers
	}
	d := &fakeDriver{name: gpus}
	d.prepare = func(_ context.Context, claims []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
		wait()
		return prepared(gpus, claims), nil
	}
	d.unprepare = func(context.Context, []*drapb.Claim) (*drapb.NodeUnprepareResourcesResponse, error) {
		wait()
		return &drapb.NodeUnprepareResourcesResponse{Claims: map[string]*drapb.NodeUnprepareResourceResponse{"uid-a": {}}}, nil
	}
	n.driver(d)
	n.claim("a", []string{gpus}, "p", "q")
	p, q := n.pod("p", "a"), n.pod("q", "a")
	ended := make(chan error, 2)
	locked := func(of int) {
		t.Helper()
		n.until("the wait of another pod", func() bool {
			got := 0
			for _, r := range n.rec.OfKind("pod.wait") {
				if w := r.Event.(*trace.Wait); w.For == trace.WaitLock && w.Target.Name == "a" && r.Edge == trace.EdgeBegin {
					got++
				}
			}
			return got == of
		})
	}
	go func() { ended <- n.Prepare(t.Context(), p) }()
	<-called
	go func() { ended <- n.Prepare(t.Context(), q) }()
	locked(1)
	close(answers)
	for range 2 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	wantStrings(t, "calls", d.took(), "prepare a")
	if err := n.Unprepare(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	answers = make(chan struct{})
	go func() { ended <- n.Unprepare(t.Context(), "p") }()
	<-called
	stopped, cancel := context.WithCancel(t.Context())
	go func() { ended <- n.Prepare(stopped, q) }()
	locked(2)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go func() { ended <- n.Prepare(t.Context(), q) }()
	locked(3)
	close(answers)
	<-called // it is prepared anew
	for range 2 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	wantStrings(t, "calls", d.took(), "unprepare a", "prepare a")
	if got := n.users(); len(got) != 1 || got["q"] == nil {
		t.Errorf("%v", got)
	}
}

// The agent is killed at each step, and the next one continues from the file.
func TestKilled(t *testing.T) {
	setup := func(t *testing.T) (*node, *fakeDriver, *v1.Pod) {
		n := newNode(t, t.TempDir())
		n.run()
		d := &fakeDriver{name: gpus}
		n.driver(d)
		n.claim("a", []string{gpus}, "p")
		return n, d, n.pod("p", "a")
	}
	// The driver's socket stays, and it registers again.
	next := func(n *node, d *fakeDriver) {
		n.t.Helper()
		n.restart()
		d.prepare, d.unprepare = nil, nil
		n.register(gpus, filepath.Join(n.sockets, gpus))
	}
	killed := errors.New("killed")
	t.Run("before the driver answered", func(t *testing.T) {
		n, d, p := setup(t)
		d.prepare = func(context.Context, []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) { return nil, killed }
		if err := n.Prepare(t.Context(), p); err == nil {
			t.Fatal("no error")
		}
		next(n, d)
		if n.users()["p"] == nil || len(n.cdi(p)) > 0 {
			t.Error("the claim was not recorded before the call")
		}
		if err := n.Prepare(t.Context(), p); err != nil || len(n.cdi(p)) != 2 {
			t.Error(err)
		}
	})
	t.Run("after that, and the pod is gone", func(t *testing.T) {
		n, d, p := setup(t)
		d.prepare = func(context.Context, []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) { return nil, killed }
		if err := n.Prepare(t.Context(), p); err == nil {
			t.Fatal("no error")
		}
		n.gone("p")
		next(n, d)
		n.until("unprepare", func() bool { return len(n.users()) == 0 })
	})
	t.Run("after it was prepared", func(t *testing.T) {
		n, d, p := setup(t)
		if err := n.Prepare(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		n.restart()
		if !n.Ready(p) {
			t.Error("not ready: the pod's sandbox may run")
		}
		wantStrings(t, "devices without a driver", n.cdi(p), gpus+"/c=a-0", gpus+"/c=a-1")
		n.register(gpus, filepath.Join(n.sockets, gpus))
		d.took()
		if err := n.Prepare(t.Context(), p); err != nil { // the pod needs another sandbox
			t.Fatal(err)
		}
		wantStrings(t, "calls", d.took(), "prepare a")
		wantStrings(t, "devices", n.cdi(p), gpus+"/c=a-0", gpus+"/c=a-1")
	})
	t.Run("before it was recorded as unprepared", func(t *testing.T) {
		n, d, p := setup(t)
		if err := n.Prepare(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(filepath.Join(n.dir, checkpoint.Name))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Unprepare(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		n.stop()
		if err := os.WriteFile(filepath.Join(n.dir, checkpoint.Name), before, 0o600); err != nil {
			t.Fatal(err)
		}
		d.took()
		next(n, d)
		if err := n.Unprepare(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		wantStrings(t, "calls", d.took(), "unprepare a")
	})
	t.Run("while the file was written", func(t *testing.T) {
		n, d, p := setup(t)
		if err := n.Prepare(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		n.stop()
		if err := os.WriteFile(filepath.Join(n.dir, checkpoint.Name+".tmp"), []byte(`{"Data":"{\"ki`), 0o600); err != nil {
			t.Fatal(err)
		}
		next(n, d)
		if len(n.cdi(p)) != 2 {
			t.Error("lost")
		}
		if err := n.Unprepare(t.Context(), "p"); err != nil {
			t.Error(err)
		}
	})
}

// A file that cannot be read is an error, and is left as it is.
func TestUnreadable(t *testing.T) {
	n := newNode(t, t.TempDir())
	path := filepath.Join(n.dir, checkpoint.Name)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New(n.cfg)
	if _, ok := errors.AsType[*checkpoint.UnreadableError](err); !ok || !strings.Contains(err.Error(), "drain this node and remove the file before restarting") {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
}

// A pod that is deleted while a driver is called does not wait for it, and the driver is not to blame.
func TestCanceled(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	called := make(chan struct{})
	d := &fakeDriver{name: gpus, prepare: func(ctx context.Context, _ []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
		close(called)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	n.driver(d)
	n.claim("a", []string{gpus}, "p")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Prepare(ctx, n.pod("p", "a")) }()
	<-called
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !n.Held("p") {
		t.Error("its claim need not be unprepared")
	}
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Error(err)
	}
	wantStrings(t, "events", n.ops(), "unprepared a "+gpus)
}

// A claim without pods and drivers, as JSON has it.
func TestNothingInFile(t *testing.T) {
	n := newNode(t, t.TempDir())
	if err := checkpoint.Write(filepath.Join(n.dir, checkpoint.Name), []checkpoint.Claim{{ClaimUID: "uid-a", ClaimName: "a", Namespace: "ns"}}); err != nil {
		t.Fatal(err)
	}
	n.build(nil)
	n.run()
	n.driver(&fakeDriver{name: gpus})
	n.claim("a", []string{gpus}, "p")
	p := n.pod("p", "a")
	if err := n.Prepare(t.Context(), p); err != nil || len(n.cdi(p)) != 2 {
		t.Error(err)
	}
}

// What upstream prepared, this agent unprepares.
func TestFromUpstream(t *testing.T) {
	n := newNode(t, t.TempDir())
	text, err := os.ReadFile("checkpoint/testdata/upstream-v1.37.1.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(n.dir, checkpoint.Name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	p, q := n.pod("p1", "gpu", "nic"), n.pod("p2", "gpu")
	n.build(nil)
	n.run()
	d := &fakeDriver{name: gpus}
	n.driver(d)
	p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "my-gpu", Request: "one"}}
	if !n.Ready(p) || !n.Ready(q) {
		t.Error("not ready")
	}
	wantStrings(t, "devices", n.cdi(p), "example.com/gpu=0", "example.com/gpu=0<a>")
	for _, uid := range []types.UID{"p1", "p2"} {
		if err := n.Unprepare(t.Context(), uid); err != nil {
			t.Fatal(err)
		}
	}
	wantStrings(t, "calls", d.took(), "unprepare gpu")
	if len(n.users()) > 0 {
		t.Error("a claim is left")
	}
}

// A pod waits for a driver, and is tried again when it registers, and when it is connected again.
func TestLateDriver(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	n.claim("a", []string{gpus}, "p")
	p := n.pod("p", "a")
	if err := n.Prepare(t.Context(), p); fault(err) != trace.FaultDriverMissing {
		t.Fatal(err)
	}
	retried := func(want int) {
		t.Helper()
		n.until("a retry", func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return len(n.retried) >= want && n.retried[want-1] == "p"
		})
	}
	d := &fakeDriver{name: gpus}
	n.driver(d)
	retried(1)
	if err := n.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	d.srv.Stop()
	n.until("the driver to be disconnected", func() bool { return len(n.plugins(trace.DRADisconnected, gpus)) > 0 })
	if err := n.Unprepare(t.Context(), "p"); fault(err) != trace.FaultDriverFailed {
		t.Fatal(err)
	}
	if e, _ := errors.AsType[*Error](n.Unprepare(t.Context(), "p")); e == nil || e.Code != "Unavailable" {
		t.Errorf("%+v", e)
	}
	d.serve(t, filepath.Join(n.sockets, gpus))
	retried(2)
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if err := n.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	n.Deregister(t.Context(), gpus, filepath.Join(n.sockets, gpus))
	if err := n.Unprepare(t.Context(), "p"); fault(err) != trace.FaultDriverMissing || err.Error() != "unprepare dynamic resources: DRA driver "+gpus+" is not registered" {
		t.Fatal(err)
	}
}

// Claims of pods that are gone are unprepared, also one that has the name of a new claim.
func TestReconcile(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.early = true
	n.run()
	d := &fakeDriver{name: gpus}
	n.driver(d)
	n.claim("a", []string{gpus}, "p", "q")
	if err := n.Prepare(t.Context(), n.pod("p", "a")); err != nil {
		t.Fatal(err)
	}
	d.took()
	n.gone("p")
	n.reconcileOnce()
	wantStrings(t, "calls before all sources have reported", d.took())
	n.mu.Lock()
	n.early = false
	n.mu.Unlock()
	anew := n.claim("a", []string{gpus}, "q")
	anew.UID = "another"
	q := n.pod("q", "a")
	err := n.Prepare(t.Context(), q)
	if fault(err) != trace.FaultReplaced || !strings.HasSuffix(err.Error(), "old ResourceClaim with same name a and different UID uid-a still exists (previous pod force-deleted?!)") {
		t.Fatal(err)
	}
	n.until("the old claim to be unprepared", func() bool { return len(n.users()) == 0 })
	if err := n.Prepare(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "calls", d.took(), "unprepare a", "prepare a")
	n.reconcileOnce()
	wantStrings(t, "calls for a pod that runs", d.took())
	d.unprepare = func(context.Context, []*drapb.Claim) (*drapb.NodeUnprepareResourcesResponse, error) {
		return nil, errors.New("broken")
	}
	n.gone("q")
	n.reconcileOnce()
	if logs := n.rec.OfKind("log"); len(logs) != 1 || n.users()["q"] == nil {
		t.Error(logs)
	}
}

// Pods that are gone wait for no driver any more. One that comes while the agent looks does.
func TestGoneWaiters(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.claim("a", []string{gpus}, "p", "q")
	fails := func(uid types.UID) {
		t.Helper()
		if err := n.Prepare(t.Context(), n.pod(uid, "a")); fault(err) != trace.FaultDriverMissing {
			t.Fatal(err)
		}
	}
	n.build(func(c *Config) {
		active := c.Active
		c.Active = func() []*v1.Pod {
			all := active()
			fails("q")
			return all
		}
	})
	fails("p")
	n.gone("p")
	n.goneUsers()
	if n.waiting["p"] != "" || n.waiting["q"] != gpus {
		t.Errorf("%v wait, want q", n.waiting)
	}
}

// A state file that cannot be written: no driver is called, or its answer is not used before it is recorded.
func TestUnwritable(t *testing.T) {
	n := newNode(t, filepath.Join(t.TempDir(), "root"))
	n.run()
	d := &fakeDriver{name: gpus}
	n.driver(d)
	n.claim("a", []string{gpus}, "p")
	p := n.pod("p", "a")
	err := n.Prepare(t.Context(), p) // the directory is missing
	if fault(err) != trace.FaultState {
		t.Fatal(err)
	}
	if e, _ := errors.AsType[*Error](err); e.Wait().For != trace.WaitBackoff {
		t.Errorf("%+v", e.Wait())
	}
	wantStrings(t, "calls", d.took())
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := n.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(n.dir, n.dir+"2"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Unprepare(t.Context(), "p"); fault(err) != trace.FaultState || !n.Held("p") {
			t.Fatal(err)
		}
		if err := n.Unprepare(t.Context(), "other"); err != nil || n.Held("other") { // it has no claims
			t.Error(err)
		}
	}
	if err := os.Rename(n.dir+"2", n.dir); err != nil {
		t.Fatal(err)
	}
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if left, err := checkpoint.Read(filepath.Join(n.dir, checkpoint.Name)); err != nil || len(left) > 0 || n.Held("p") {
		t.Error(left, err)
	}
	wantStrings(t, "calls", d.took(), "prepare a", "unprepare a")
}

// A driver with large answers leaves room for the claims of others: they are prepared and unprepared.
func TestLargeAnswers(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	large := &fakeDriver{name: gpus, prepare: func(_ context.Context, claims []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
		out := prepared(gpus, claims)
		for _, a := range out.Claims {
			a.Devices[0].CdiDeviceIds = []string{strings.Repeat("<", 1000_000)}
		}
		return out, nil
	}}
	n.driver(large)
	n.driver(&fakeDriver{name: nics})
	failed := 0
	for i := range 12 {
		name := fmt.Sprintf("large-%d", i)
		n.claim(name, []string{gpus}, types.UID(name))
		if err := n.Prepare(t.Context(), n.pod(types.UID(name), name)); err != nil {
			if failed++; fault(err) != trace.FaultDriverAnswer {
				t.Fatal(err)
			}
		}
	}
	if failed != 11 {
		t.Errorf("%d claims of the driver with large answers were not prepared, want 11", failed)
	}
	n.claim("a", []string{nics}, "p")
	if err := n.Prepare(t.Context(), n.pod("p", "a")); err != nil {
		t.Error(err)
	}
	if err := n.Unprepare(t.Context(), "p"); err != nil || n.Held("p") {
		t.Error(err)
	}
	if err := n.Unprepare(t.Context(), "large-0"); err != nil {
		t.Fatal(err)
	}
	if err := n.Prepare(t.Context(), n.pod("large-1", "large-1")); err != nil {
		t.Error(err)
	}
}

// A claim that was allocated anew, from another driver, before it was prepared.
func TestAllocatedAnew(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	gpu, nic := &fakeDriver{name: gpus}, &fakeDriver{name: nics}
	n.driver(gpu)
	n.driver(nic)
	n.claim("a", []string{gpus}, "p")
	p := n.pod("p", "a")
	if err := n.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	n.restart()
	n.driver(gpu)
	n.driver(nic)
	gpu.took()
	n.claim("a", []string{nics}, "p")
	if err := n.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "gpu", gpu.took())
	wantStrings(t, "devices", n.cdi(p), nics+"/c=a-0", nics+"/c=a-1")
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "gpu", gpu.took(), "unprepare a")
	wantStrings(t, "nic", nic.took(), "prepare a", "unprepare a")
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {Dir: "relative"}, {Dir: "/x"}} {
		if _, err := New(c); err == nil {
			t.Errorf("took %+v", c)
		}
	}
	n := newNode(t, t.TempDir())
	n.build(func(c *Config) { c.Claims, c.Slices = nil, nil }) // a standalone node
	n.run()
	if err := n.Prepare(t.Context(), n.pod("p", "a")); fault(err) != trace.FaultAPI || !strings.Contains(err.Error(), "this node has no API server") {
		t.Error(err)
	}
	if _, err := n.Container(n.pod("p", "a"), &n.pod("p", "a").Spec.Containers[0]); err == nil {
		t.Error("devices of a claim that is not known")
	}
}
