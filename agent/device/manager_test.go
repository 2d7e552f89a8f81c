package device

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/device/checkpoint"
	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/agent/topology"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// A plugin registers, containers get its devices, and its answers become part of their requests.
func TestAllocate(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	f := &fakePlugin{options: pluginapi.DevicePluginOptions{PreStartRequired: true}}
	f.serve(t, dir, "a.sock")
	f.lists <- healthy("g0", "g1", "g2")
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 3, 3)
	pod := podOf("p1", nil, asks("c", 2))
	n.start(t, pod)
	got, err := n.Container(t.Context(), pod, &pod.Spec.Containers[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Devices) != 2 || got.Devices[0].ContainerPath != "/dev/g0" || got.Devices[0].HostPath != "/dev/null" || len(got.Env) != 1 || got.Env[0].Value != "[g0 g1]" {
		t.Errorf("got %+v", got)
	}
	if err := n.PreStart(t.Context(), pod, &pod.Spec.Containers[0]); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{{"g0", "g1"}}, f.started); d != "" {
		t.Error(d)
	}
	var outcomes []trace.DeviceOutcome
	for _, e := range n.events() {
		outcomes = append(outcomes, e.Outcome)
		if e.Took <= 0 || e.Count != 2 || len(e.IDs) != 2 || e.Container != "c" || e.Resource != gpu {
			t.Errorf("%+v", e)
		}
	}
	if d := cmp.Diff([]trace.DeviceOutcome{trace.DevicesAllocated, trace.DevicesPrepared}, outcomes); d != "" {
		t.Error(d)
	}
	// Too few are left.
	err = n.Reserve(t.Context(), podOf("p2", nil, asks("c", 2)))
	if want := "requested number of devices unavailable for " + gpu + ". Requested: 2, Available: 1"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if es := n.events(); es[len(es)-1].Outcome != trace.DevicesRefused || es[len(es)-1].Err == "" {
		t.Errorf("%+v", es[len(es)-1])
	}
	// They are used again when their pod has ended, not before.
	n.mu.Lock()
	n.ended["p1"] = true
	n.early = true
	n.mu.Unlock()
	if err := n.Reserve(t.Context(), podOf("p2", nil, asks("c", 2))); err == nil {
		t.Error("devices were freed before all sources had reported")
	}
	n.mu.Lock()
	n.early = false
	n.mu.Unlock()
	n.start(t, podOf("p2", nil, asks("c", 3)))
	if d := cmp.Diff([]string{"g0", "g1", "g2"}, n.has("p2", "c")); d != "" {
		t.Error(d)
	}
}

// The plugin's process ends: its devices stay in the capacity, and none is given away, until one registers again.
func TestPluginRestarts(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	f := &fakePlugin{}
	f.serve(t, dir, "a.sock")
	f.lists <- healthy("g0", "g1")
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 2, 2)
	n.start(t, podOf("p1", nil, asks("c", 1)))
	if got := n.offered("p2"); got != "2" {
		t.Errorf("%s devices", got)
	}
	f.srv.Stop()
	n.await(t, gpu, 2, 0)
	if has, other := n.offered("p1"), n.offered("p2"); has != "1" || other != "0" {
		t.Errorf("without the plugin, %s devices for their pod, %s for another one", has, other)
	}
	err := n.Reserve(t.Context(), podOf("p2", nil, asks("c", 1)))
	if err == nil || err.Error() != "no healthy devices present; cannot allocate unhealthy devices "+gpu {
		t.Error(err)
	}
	if st := n.Status("p1", "c"); len(st) != 1 || st[0].Resources[0].Health != v1.ResourceHealthStatusHealthy {
		t.Errorf("%+v: the plugin said last that the device is healthy", st)
	}
	again := &fakePlugin{}
	again.serve(t, dir, "a.sock")
	again.lists <- []*pluginapi.Device{{ID: "g0", Health: pluginapi.Unhealthy}, {ID: "g1", Health: pluginapi.Healthy}, {ID: "g2", Health: pluginapi.Healthy}}
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 3, 2)
	n.until(t, "news about p1", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.hurt) > 0 && n.hurt[0] == "p1"
	})
	if st := n.Status("p1", "c"); len(st) != 1 || st[0].Resources[0].Health != v1.ResourceHealthStatusUnhealthy {
		t.Errorf("%+v", st)
	}
	n.start(t, podOf("p2", nil, asks("c", 2)))
	if d := cmp.Diff([]string{"g1", "g2"}, n.has("p2", "c")); d != "" {
		t.Error(d)
	}
	var ops []trace.DevicePluginOp
	for _, e := range tracetest.Events[trace.DevicePlugin](n.rec) {
		ops = append(ops, e.Op)
	}
	want := []trace.DevicePluginOp{
		trace.PluginRegistered, trace.PluginDevices, trace.PluginGone, trace.PluginDevices, trace.PluginRegistered, trace.PluginDevices,
	}
	if d := cmp.Diff(want, ops); d != "" {
		t.Error(d)
	}
}

// A second plugin of the same resource takes over, during an upgrade; when it ends, the first one counts again.
func TestTwoPlugins(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	old, next := &fakePlugin{}, &fakePlugin{}
	old.serve(t, dir, "a.sock")
	next.serve(t, dir, "b.sock")
	old.lists <- healthy("g0")
	next.lists <- healthy("g0", "g1")
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 1, 1)
	if err := register(t, dir, gpu, "b.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 2, 2)
	next.srv.Stop()
	n.await(t, gpu, 1, 1)
	old.srv.Stop()
	n.await(t, gpu, 1, 0)
}

func TestRefusedRegistrations(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	for _, tc := range []struct{ resource, endpoint, want string }{
		{"cpu", "a.sock", `the ResourceName "cpu" is invalid`},
		{"kubernetes.io/gpu", "a.sock", `the ResourceName "kubernetes.io/gpu" is invalid`},
		{"example.com/" + strings.Repeat("x", 30_000), "a.sock", "is invalid"},
		{"example.com/gpu", "../../a.sock", `the endpoint "../../a.sock" is invalid`},
		{"example.com/gpu", "/etc/passwd", `the endpoint "/etc/passwd" is invalid`},
	} {
		if err := register(t, dir, tc.resource, tc.endpoint); err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 1000 {
			t.Errorf("%.40s at %s: got %v, want %s", tc.resource, tc.endpoint, err, tc.want)
		}
	}
	if err := n.Register(t.Context(), gpu, "/x", []string{"v1alpha"}); err == nil || !strings.Contains(err.Error(), "manager version, v1beta1, is not among plugin supported versions [v1alpha]") {
		t.Error(err)
	} else if _, invalid := errors.AsType[*pluginwatch.InvalidError](err); !invalid {
		t.Errorf("%v is not an InvalidError", err)
	}
	if err := register(t, dir, "example.com/"+strings.Repeat("x", 1<<20), "a.sock"); err == nil {
		t.Error("took a name of 1 MB")
	}
	for _, e := range tracetest.Events[trace.DevicePlugin](n.rec) {
		if e.Op != trace.PluginRefused || e.Err == "" {
			t.Errorf("%+v", e)
		}
	}
}

// A plugin that registers through the registry of plugins.
func TestWatched(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir)
	if err := n.Register(t.Context(), gpu, filepath.Join(dir, "a.sock"), []string{pluginapi.Version}); !errors.Is(err, errEnding) {
		t.Errorf("before Run: %v", err)
	}
	n.run(t)
	f := &fakePlugin{}
	f.serve(t, dir, "a.sock")
	f.lists <- healthy("g0")
	n.until(t, "registration", func() bool {
		err := n.Register(t.Context(), gpu, filepath.Join(dir, "a.sock"), []string{pluginapi.Version})
		if err != nil && !errors.Is(err, errEnding) {
			t.Fatal(err)
		}
		return err == nil
	})
	n.await(t, gpu, 1, 1)
	n.Deregister(t.Context(), gpu, filepath.Join(dir, "a.sock"))
	n.await(t, gpu, 1, 0)
}

// The agent restarts: the same containers have the same devices, without a call, and nothing is given twice.
func TestAgentRestarts(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	if !n.Fresh() {
		t.Error("a node without a checkpoint is fresh")
	}
	f := &fakePlugin{}
	f.serve(t, dir, "a.sock")
	f.lists <- []*pluginapi.Device{on("g0", 0), on("g1", 0, 1), on("g2")}
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 3, 3)
	pod := podOf("p1", nil, asks("c", 2))
	n.start(t, pod)
	if err := n.Reserve(t.Context(), podOf("reserved", nil, asks("c", 1))); err != nil {
		t.Fatal(err)
	}
	before, err := n.Container(t.Context(), pod, &pod.Spec.Containers[0])
	if err != nil {
		t.Fatal(err)
	}
	n.stop()
	f.srv.Stop()

	n = newNode(t, dir).run(t)
	if n.Fresh() {
		t.Error("a node with a checkpoint is not fresh")
	}
	if _, err := os.Stat(filepath.Join(dir, "a.sock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the plugin's old socket is there: %v", err)
	}
	n.await(t, gpu, 0, 0)
	if d := cmp.Diff([]string{"g0", "g1"}, n.has("p1", "c")); d != "" {
		t.Error(d)
	}
	if got := n.has("reserved", "c"); got != nil {
		t.Errorf("what was only reserved was kept: %v", got)
	}
	after, err := n.Container(t.Context(), pod, &pod.Spec.Containers[0])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before.Env, after.Env); d != "" || len(after.Devices) != 2 {
		t.Errorf("%v %s", after.Devices, d)
	}
	if got := n.Devices("p1", "c"); len(got) != 3 || got[0].Topology.Nodes[0].ID != 0 || got[2].DeviceIds[0] != "g1" || got[2].Topology.Nodes[0].ID != 1 {
		t.Errorf("%v", got)
	}
	again := &fakePlugin{}
	again.serve(t, dir, "a.sock")
	again.lists <- healthy("g0", "g1", "g2")
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 3, 3)
	n.start(t, podOf("p2", nil, asks("c", 1)))
	if d := cmp.Diff([]string{"g2"}, n.has("p2", "c")); d != "" {
		t.Error(d)
	}
	if err := n.Reserve(t.Context(), pod); err != nil { // it is admitted again
		t.Fatal(err)
	}
	kept := trace.DeviceAllocation{Container: "c", Resource: gpu, Outcome: trace.DevicesKept, Count: 2, IDs: []string{"g0", "g1"}, Nodes: "0,1"}
	if es := n.events(); cmp.Diff(kept, es[len(es)-1]) != "" {
		t.Errorf("%+v, want %+v at last", es, kept)
	}
}

// A plugin hangs in Allocate: others are served meanwhile, and the pod's end ends the call.
func TestAllocateHangs(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	called := make(chan struct{})
	f := &fakePlugin{allocate: func(ctx context.Context, ids []string) (*pluginapi.AllocateResponse, error) {
		if ids[0] != "g0" {
			return answer(ids), nil
		}
		close(called)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	f.serve(t, dir, "a.sock")
	f.lists <- healthy("g0", "g1")
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 2, 2)
	hangs := podOf("p1", nil, asks("c", 1))
	if err := n.Reserve(t.Context(), hangs); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- n.Allocate(ctx, hangs) }()
	<-called
	n.start(t, podOf("p2", nil, asks("c", 1)))
	if d := cmp.Diff([]string{"g1"}, n.has("p2", "c")); d != "" {
		t.Error(d)
	}
	if err := n.Reserve(t.Context(), podOf("p3", nil, asks("c", 1))); err == nil {
		t.Error("a device was given twice: one that a call is about")
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the call succeeded")
	}
	n.Release("p1")
	if err := n.Reserve(t.Context(), podOf("p3", nil, asks("c", 1))); err != nil {
		t.Errorf("the device of the pod that ended is not free: %v", err)
	}
}

// Plugins whose answers are wrong.
func TestBadAnswers(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		res        *pluginapi.AllocateResponse
		err        error
	}{
		{name: "an error", err: errors.New("no such thing"), want: "no such thing"},
		{name: "a long error", err: errors.New(strings.Repeat("é", 1<<12)), want: "é..."},
		{name: "about no container", res: &pluginapi.AllocateResponse{}, want: "no containers return in allocation response"},
		{
			name: "too large", want: "more than the limit of 1048576",
			res: &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{Envs: map[string]string{"X": strings.Repeat("x", 1<<20)}}}},
		},
		{
			name: "larger than a message", want: "larger than max",
			res: &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{Envs: map[string]string{"X": strings.Repeat("x", 5<<20)}}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := shortDir(t)
			n := newNode(t, dir).run(t)
			f := &fakePlugin{allocate: func(context.Context, []string) (*pluginapi.AllocateResponse, error) { return tc.res, tc.err }}
			f.serve(t, dir, "a.sock")
			f.lists <- healthy("g0")
			if err := register(t, dir, gpu, "a.sock"); err != nil {
				t.Fatal(err)
			}
			n.await(t, gpu, 1, 1)
			pod := podOf("p1", nil, asks("c", 1))
			if err := n.Reserve(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			if err := n.Allocate(t.Context(), pod); err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > maxSaid+100 {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if e := n.events(); len(e) != 1 || e[0].Outcome != trace.DevicesRefused || e[0].Err == "" {
				t.Errorf("%+v", e)
			}
		})
	}
}

// Plugins with long IDs and large answers: pods of their resources are rejected when the checkpoint has too much of these, others are not.
func TestLargePlugins(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	long := make([]string, 0, 3900)
	for i := range 3900 {
		long = append(long, fmt.Sprintf("%04d%s", i, strings.Repeat("<", 1000)))
	}
	for _, name := range []string{"example.com/long1", "example.com/long2", "example.com/long3"} {
		f := &fakePlugin{allocate: func(context.Context, []string) (*pluginapi.AllocateResponse, error) { return answer(nil), nil }}
		f.serve(t, dir, filepath.Base(name)+".sock")
		f.lists <- healthy(long...)
		if err := register(t, dir, name, filepath.Base(name)+".sock"); err != nil {
			t.Fatal(err)
		}
		n.await(t, name, 3900, 3900)
	}
	plugged(t, dir, "g0", "g1", "g2")
	n.await(t, gpu, 3, 3)
	large := podOf("large", nil, v1.Container{Name: "c", Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"example.com/long1": resource.MustParse("3000")}}})
	if err := n.Reserve(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	err := n.Allocate(t.Context(), large)
	if want := "the devices of example.com/long1 need "; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "more than the limit of 16777216") {
		t.Errorf("got %v, want %s", err, want)
	}
	n.Release("large")
	n.start(t, podOf("p1", nil, asks("c", 1)))
}

// The plugin prefers other devices than those that were reserved. What it must not choose is ignored.
func TestPreference(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	var asked *pluginapi.ContainerPreferredAllocationRequest
	f := &fakePlugin{
		options: pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true},
		prefer: func(req *pluginapi.ContainerPreferredAllocationRequest) ([]string, error) {
			asked = req
			return []string{"g0", "nonsense", "g3", "g3", "g2"}, nil // g0 is taken
		},
	}
	f.serve(t, dir, "a.sock")
	f.lists <- healthy("g0", "g1", "g2", "g3")
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 4, 4)
	first := podOf("p0", nil, asks("c", 4))
	if err := n.Reserve(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := n.Allocate(t.Context(), first); err != nil || asked != nil {
		t.Errorf("%v; asked without a choice: %v", err, asked)
	}
	n.Release("p0")
	if err := n.Reserve(t.Context(), podOf("p1", nil, asks("c", 1))); err != nil { // it has g0
		t.Fatal(err)
	}
	n.start(t, podOf("p2", nil, asks("c", 2)))
	if d := cmp.Diff([]string{"g2", "g3"}, n.has("p2", "c")); d != "" {
		t.Error(d)
	}
	if asked.AllocationSize != 2 || fmt.Sprint(asked.AvailableDeviceIDs) != "[g1 g2 g3]" {
		t.Errorf("%v", asked)
	}
}

// A checkpoint that cannot be read: nothing is lost, and nothing is given twice.
func TestUnreadableCheckpoint(t *testing.T) {
	dir := shortDir(t)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, checkpoint.Name)
	if err := os.WriteFile(path, []byte(`{"Data":{"PodDeviceEntries":`), 0o600); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, dir)
	running := podOf("old", nil, asks("c", 1))
	n.active, n.early = []*v1.Pod{running}, true
	n.run(t)
	if n.Fresh() {
		t.Error("the node is not fresh")
	}
	f := &fakePlugin{}
	f.serve(t, dir, "a.sock")
	f.lists <- healthy("g0", "g1")
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 2, 2)
	refused := func(n *node, want string) {
		t.Helper()
		if err := n.Reserve(t.Context(), podOf("p1", nil, asks("c", 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	refused(n, "not all pods are known yet")
	n.mu.Lock()
	n.early = false
	n.mu.Unlock()
	refused(n, "1 running containers may have any of "+gpu)
	if logs := tracetest.Events[trace.Log](n.rec); len(logs) != 1 || !strings.Contains(logs[0].Message, path+".unreadable") {
		t.Errorf("%+v", logs)
	}
	n.stop()
	f.srv.Stop()
	// Another agent knows as little, although the checkpoint is a new one.
	n = newNode(t, dir)
	n.active = []*v1.Pod{running}
	n.run(t)
	again := &fakePlugin{}
	again.serve(t, dir, "a.sock")
	again.lists <- healthy("g0", "g1")
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 2, 2)
	refused(n, "1 running containers may have any of "+gpu)
	n.mu.Lock()
	n.active = nil
	n.mu.Unlock()
	n.start(t, podOf("p1", nil, asks("c", 2)))
	if _, err := os.Stat(path + ".unreadable.settled"); err != nil {
		t.Error(err)
	}
}

// Plugins may remove their sockets while the agent does.
func TestSocketsGo(t *testing.T) {
	n := newNode(t, shortDir(t))
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range 500 {
		path := filepath.Join(n.dir, fmt.Sprint(i))
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		all = append(all, path)
	}
	var under sync.WaitGroup
	under.Go(func() {
		for _, path := range slices.Backward(all) {
			_ = os.Remove(path)
		}
	})
	if err := n.Restore(t.Context()); err != nil {
		t.Error(err)
	}
	under.Wait()
}

// Plugins that come and go under other names do not fill the node's object.
func TestRoom(t *testing.T) {
	n := newNode(t, shortDir(t))
	for i := range maxResources {
		name := fmt.Sprintf("example.com/r%d", i)
		n.resources[name] = &resourceState{listed: true, stopped: time.Now().Add(-grace)}
		if i%2 == 0 {
			n.remove(name, n.resources[name])
		}
	}
	for name, want := range map[string]bool{"example.com/new": false, "example.com/r0": true, "example.com/r1": true} {
		if n.room(name) != want {
			t.Errorf("%s: want %v; %d resources, %d were removed", name, want, len(n.resources), len(n.gone))
		}
	}
	if has, _ := n.Capacity(); len(has) != maxResources {
		t.Errorf("the node has %d resources", len(has))
	}
}

// registers is an error of a stream during whose handling another plugin registers.
type registers func()

func (f registers) Error() string {
	f()
	return "the stream ended"
}

// A plugin that registers at the moment when the earlier one is gone has its devices healthy.
func TestRegistersMeanwhile(t *testing.T) {
	n := newNode(t, shortDir(t))
	old, next := &plugin{resource: gpu, socket: "a"}, &plugin{resource: gpu, socket: "b"}
	n.connected(t.Context(), old)
	n.update(t.Context(), old, healthy("g0", "g1"))
	n.disconnected(t.Context(), old, registers(func() {
		n.connected(t.Context(), next)
		n.update(t.Context(), next, healthy("g0", "g1", "g2"))
	}))
	if has, free := n.Capacity(); has.Name(gpu, resource.DecimalSI).Value() != 3 || free.Name(gpu, resource.DecimalSI).Value() != 3 {
		t.Errorf("%v, of which %v can be used, want the 3 of the new plugin", has, free)
	}
}

// A resource is removed 5 min after its last plugin ended; what containers have of it stays theirs.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := New(Config{
			Dir: "/nowhere", Ended: func(types.UID) bool { return false }, Complete: func() bool { return true }, Active: func() []*v1.Pod { return nil },
			Runs: func(types.UID) bool { return false }, Exists: func(types.UID) bool { return false },
		})
		if err != nil {
			t.Fatal(err)
		}
		r := &resourceState{devices: list{"g0": {}, "g1": {}}, listed: true, stopped: time.Now()}
		m.resources[gpu] = r
		m.holds.put("p1", "c", gpu, &hold{ids: []string{"g0"}, answer: &pluginapi.ContainerAllocateResponse{}})
		m.mu.Lock()
		m.expire(gpu, r)
		m.mu.Unlock()
		count := func() int64 {
			c, _ := m.Capacity()
			q := c[gpu]
			return q.Value()
		}
		time.Sleep(grace - time.Second)
		if count() != 2 {
			t.Error("removed too early")
		}
		had := podOf("p1", nil, asks("c", 1))
		if err := m.PreStart(t.Context(), had, &had.Spec.Containers[0]); err != nil { // its plugin does not require the call
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		if c, _ := m.Capacity(); len(c) != 1 || count() != 0 {
			t.Errorf("got %v, want 0 of it: the node must not keep the old number", c)
		}
		if err := m.PreStart(t.Context(), had, &had.Spec.Containers[0]); err == nil || err.Error() != "endpoint not found in cache for a registered resource: "+gpu {
			t.Errorf("a container that starts again without its plugin: %v", err)
		}
		if err := reserve(t.Context(), m, podOf("p2", nil, asks("c", 1)), topology.Hint{}); err == nil || err.Error() != "cannot allocate unregistered device "+gpu {
			t.Error(err)
		}
		health := func(when string, want v1.ResourceHealthStatus) {
			t.Helper()
			if st := m.Status("p1", "c"); len(st) != 1 || len(st[0].Resources) != 1 || st[0].Resources[0].Health != want {
				t.Errorf("%s, the status has %+v, want %s", when, st, want)
			}
		}
		health("without a plugin", v1.ResourceHealthStatusUnhealthy) // as it said last
		if len(m.gone[gpu]) != 1 {
			t.Errorf("%v are kept, want those of containers", m.gone[gpu])
		}
		p := &plugin{resource: gpu}
		m.connected(t.Context(), p)
		health("before the new plugin has listed it", v1.ResourceHealthStatusUnhealthy)
		if c, _ := m.Capacity(); len(c) != 0 {
			t.Errorf("before the new plugin has listed anything, the node has %v", c)
		}
		m.update(t.Context(), p, healthy("g0"))
		health("after that", v1.ResourceHealthStatusHealthy)
	})
}
