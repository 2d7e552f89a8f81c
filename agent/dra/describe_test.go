package dra

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/trace"
)

// described returns the descriptions since the last time.
func (n *node) described() (out []*trace.ClaimDescribed) {
	for _, r := range n.rec.OfKind("claim.described") {
		out = append(out, r.Event.(*trace.ClaimDescribed))
	}
	return out
}

// states are all states that were published, as "claim state driver fault: pods".
func (n *node) states() (out []string) {
	for _, e := range n.described() {
		text := e.Name + " " + string(e.State)
		for _, more := range []string{e.FaultDriver, string(e.Fault)} {
			if more != "" {
				text += " " + more
			}
		}
		for _, p := range e.Pods {
			text += " " + p.Pod.UID
		}
		out = append(out, text)
	}
	return out
}

// last is the last description of a claim.
func (n *node) last(name string) (last trace.ClaimDescribed) {
	for _, e := range n.described() {
		if e.Name == name {
			last = *e
		}
	}
	return last
}

// A claim's states from its first pod to its last one.
func TestStates(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	broken := true
	d := &fakeDriver{name: gpus}
	d.prepare = func(_ context.Context, claims []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
		if broken {
			return nil, errors.New("broken")
		}
		return prepared(gpus, claims), nil
	}
	d.unprepare = func(context.Context, []*drapb.Claim) (*drapb.NodeUnprepareResourcesResponse, error) {
		return nil, errors.New("busy")
	}
	n.driver(d)
	n.claim("a", []string{gpus}, "p", "q")
	p, q := n.pod("p", "a"), n.pod("q", "a")
	if err := n.Prepare(t.Context(), p); err == nil {
		t.Fatal("prepared by a driver that is broken")
	}
	broken = false
	for _, pod := range []*v1.Pod{p, q} {
		if err := n.Prepare(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	is := n.last("a")
	if is.UID != "uid-a" || is.Count != 2 || is.Users != 2 || len(is.Drivers) != 1 || len(is.Devices) != 2 || time.Since(is.Since) > time.Minute || is.Err != "" {
		t.Errorf("%+v", is)
	}
	want := trace.ClaimDevice{Driver: gpus, Pool: "pool", Device: "a-0", Requests: []string{"one"}, CDI: []string{gpus + "/c=a-0"}, Health: trace.DeviceHealthUnknown}
	if got := is.Devices[0]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
	if got := is.Pods[0]; got.Pod != (trace.Pod{Namespace: "ns", Name: p.Name, UID: "p"}) {
		t.Errorf("%+v", got)
	}
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if err := n.Unprepare(t.Context(), "q"); err == nil {
		t.Fatal("unprepared by a driver that is busy")
	}
	if err := n.last("a").Err; !strings.Contains(err, "busy") {
		t.Errorf("error %q", err)
	}
	d.unprepare = nil
	if err := n.Unprepare(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "states", n.states(),
		"a preparing p", "a prepare-failed "+gpus+" driver-failed p", "a preparing p", "a prepared p", "a prepared p q",
		"a prepared q", "a unpreparing q", "a unprepare-failed "+gpus+" driver-failed q", "a unpreparing q", "a gone")
}

// The containers of a pod that use a claim, init containers included.
func TestDescribedPod(t *testing.T) {
	n := newNode(t, t.TempDir())
	p := n.pod("p", "a", "b")
	p.Spec.InitContainers = []v1.Container{{Name: "init", Resources: v1.ResourceRequirements{Claims: []v1.ResourceClaim{{Name: "my-a"}}}}, {Name: "other"}}
	p.Spec.Containers = []v1.Container{
		{Name: "x", Resources: v1.ResourceRequirements{Claims: []v1.ResourceClaim{{Name: "my-b"}}}},
		{Name: "y", Resources: v1.ResourceRequirements{Claims: []v1.ResourceClaim{{Name: "my-b"}, {Name: "my-a", Request: "one"}}}},
	}
	got := n.describePod("p", types.NamespacedName{Namespace: "ns", Name: "a"})
	wantStrings(t, "containers", got.Containers, "init", "y")
	if got := n.describePod("gone", types.NamespacedName{Namespace: "ns", Name: "a"}); got.Pod != (trace.Pod{Namespace: "ns", UID: "gone"}) || got.Containers != nil {
		t.Errorf("%+v", got)
	}
}

// A claim that a pod cannot use is known until the pod can, or is gone; attempts that fail in the same way are told once.
func TestRefusals(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	p := n.pod("p", "a")
	for range 2 {
		if err := n.Prepare(t.Context(), p); err == nil {
			t.Fatal("a claim that does not exist was prepared")
		}
	}
	n.claim("a", []string{gpus}, "p")
	if err := n.Prepare(t.Context(), p); err == nil {
		t.Fatal("a claim was prepared without a driver")
	}
	n.driver(&fakeDriver{name: gpus})
	if err := n.Prepare(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "states", n.states(),
		"a prepare-failed not-found p", "a prepare-failed "+gpus+" driver-missing p", "a preparing p", "a prepared p")
	n.claim("b", []string{nics}, "q", "r")
	for _, uid := range []types.UID{"q", "r"} {
		if err := n.Prepare(t.Context(), n.pod(uid, "b")); err == nil {
			t.Fatal("a claim was prepared without a driver")
		}
	}
	n.gone("q")
	n.gone("r")
	n.goneUsers()
	n.describe()
	if is := n.last("b"); is.State != trace.ClaimGone || len(n.refusals) != 0 {
		t.Errorf("%+v, %d are kept", is, len(n.refusals))
	}
	for i := range maxRefusals + 10 {
		n.refuse("x", &Error{Namespace: "ns", Name: fmt.Sprint(i), Err: errors.New("x")})
	}
	if len(n.refusals) != maxRefusals {
		t.Errorf("%d are kept", len(n.refusals))
	}
}

// Claims of the state file are described when the agent runs, and claims again when the health of their devices changes. Both are paced.
func TestDescribedLater(t *testing.T) {
	dir := t.TempDir()
	var known []checkpoint.Claim
	for i := range laterAtOnce + 1 {
		known = append(known, checkpoint.Claim{ClaimUID: "u", ClaimName: fmt.Sprintf("c%04d", i), Namespace: "ns", DriverState: map[string]checkpoint.Driver{
			gpus: {Devices: []checkpoint.Device{{PoolName: "pool", DeviceName: "d"}}},
		}})
	}
	if err := checkpoint.Write(filepath.Join(dir, checkpoint.Name), known); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, dir)
	if !n.describeSome() || len(n.described()) != laterAtOnce || n.last("c0000").State != trace.ClaimRestored {
		t.Errorf("%d are described first", len(n.described()))
	}
	if !n.describeSome() || n.describeSome() || len(n.described()) != laterAtOnce+1 {
		t.Errorf("%d are described", len(n.described()))
	}
	n.Report(gpus, "s", []*healthapi.DeviceHealth{report("d", healthapi.HealthStatus_UNHEALTHY, "hot")})
	for _, more := range []bool{true, true, false} {
		if n.describeSome() != more {
			t.Errorf("more is not %v", more)
		}
	}
	if d := n.last("c0000").Devices[0]; d.Health != trace.DeviceUnhealthy || d.Message != "hot" {
		t.Errorf("%+v", d)
	}
	n.build(func(c *Config) { c.HealthChanged = nil })
	n.describeSome()
	if d := n.last("c0000").Devices[0]; d.Health != "" {
		t.Errorf("%+v", d)
	}
}

// What a description has is limited.
func TestLargeClaim(t *testing.T) {
	n := newNode(t, t.TempDir())
	c := &claim{Claim: checkpoint.Claim{ClaimUID: "u", ClaimName: "a", Namespace: "ns", DriverState: map[string]checkpoint.Driver{}}, state: trace.ClaimReady}
	for i := range 40 {
		d := checkpoint.Device{PoolName: strings.Repeat("p", 5000), DeviceName: "d"}
		for j := range 100 {
			d.RequestNames, d.CDIDeviceIDs = append(d.RequestNames, fmt.Sprint(j)), append(d.CDIDeviceIDs, strings.Repeat("c", 5000))
		}
		c.DriverState[fmt.Sprintf("driver-%02d", i)] = checkpoint.Driver{Devices: []checkpoint.Device{d, d}}
	}
	var e trace.ClaimDescribed
	n.describeDevices(&e, c)
	if e.Count != 80 || len(e.Devices) != maxDescribed || len(e.Drivers) != maxDescribed || len(e.Devices[0].CDI) != maxOfDevice || len(e.Devices[0].Requests) != maxOfDevice || len(e.Devices[0].Pool) > 2000 {
		t.Errorf("%d devices, %d described, %d drivers", e.Count, len(e.Devices), len(e.Drivers))
	}
}

// A call that the pod need not wait for any more is not the driver's failure; a state file that cannot be written is nobody's.
func TestReasons(t *testing.T) {
	n := newNode(t, filepath.Join(t.TempDir(), "root"))
	n.run()
	pod, cancel := context.WithCancelCause(t.Context())
	n.driver(&fakeDriver{name: gpus, prepare: func(ctx context.Context, _ []*drapb.Claim) (*drapb.NodePrepareResourcesResponse, error) {
		cancel(errors.New("the pod terminates"))
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	n.claim("a", []string{gpus}, "p")
	p := n.pod("p", "a")
	if err := n.Prepare(t.Context(), p); err == nil {
		t.Fatal("without a directory")
	}
	if is := n.last("a"); is.State != trace.ClaimFailed || is.Fault != trace.FaultState || is.FaultDriver != "" {
		t.Errorf("%+v", is)
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := n.Prepare(pod, p); err == nil {
		t.Fatal("prepared")
	}
	if is := n.last("a"); is.State != trace.ClaimFailed || is.Fault != "" || is.FaultDriver != "" || is.Err != "the pod terminates" {
		t.Errorf("%+v", is)
	}
}

// Calls that an allocation says are not needed are told, as upstream counts them.
func TestSkipped(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.build(func(c *Config) { c.OptionalCalls = true })
	n.run()
	c := n.claim("a", []string{gpus, nics}, "p")
	c.Status.Allocation.Devices.Results[0].SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}
	c.Status.Allocation.Devices.Results[1].SkipNodeOperations = []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationNodePrepareResources}
	n.driver(&fakeDriver{name: nics})
	if err := n.Prepare(t.Context(), n.pod("p", "a")); err != nil {
		t.Fatal(err)
	}
	if err := n.Unprepare(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range n.rec.OfKind("resource.claim") {
		if e := r.Event.(*trace.ResourceClaim); e.Op == trace.ClaimSkipped {
			got = append(got, e.Driver+" "+e.Method)
		}
	}
	wantStrings(t, "skipped", got, gpus+" NodePrepareResources", nics+" NodePrepareResources", gpus+" NodeUnprepareResources")
}
