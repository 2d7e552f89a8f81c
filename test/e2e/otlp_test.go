package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/inspect/otlp"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// spans are the records of a bus that matter here.
type spans struct {
	calls map[trace.SpanID]*trace.CRICall
	told  map[trace.SpanID]trace.Record
	all   []trace.Record
}

// above returns the names of what is above a span, nearest first, as far as the call.
func (s *spans) above(r trace.Record) (names []string) {
	for range 32 {
		if c := s.calls[r.Parent]; c != nil {
			return append(names, c.Method)
		}
		up, ok := s.told[r.Parent]
		if !ok {
			break
		}
		names = append(names, up.Event.(*trace.RuntimeSpan).Name)
		r = up
	}
	return nil
}

// find returns a pod's spans of a name that are below a call of the method.
func (s *spans) find(name, method string, pod trace.Pod) (found []trace.Record) {
	for _, r := range s.told {
		if r.Event.(*trace.RuntimeSpan).Name != name || r.Pod != pod {
			continue
		}
		if up := s.above(r); len(up) > 0 && up[len(up)-1] == method {
			found = append(found, r)
		}
	}
	return found
}

// wanted is how many spans of a name there have to be below a call.
type wanted struct {
	name, method string
	n            int
}

// fromRuntime is what containerd tells of a pod.
var fromRuntime = []wanted{
	{"cri.sandbox.run", "RunPodSandbox", 1},
	{"cni.setup_pod_network", "RunPodSandbox", 1},
	{"cni.asynchAttach", "RunPodSandbox", 2}, // lo and eth0
	{"client.NewContainer", "RunPodSandbox", 1},
	{"containerd.task.v3.Task/Create", "RunPodSandbox", 1},
	{"client.task.Start", "RunPodSandbox", 1},
	{"remotes.docker.resolver.HTTPRequest", "PullImage", 5}, // HEAD, manifest, config, two layers
	{"pkg.unpack.unpacker.fetchLayer", "PullImage", 2},
	{"pkg.unpack.unpacker.unpackLayer", "PullImage", 3}, // one is there from another image
	{"client.NewContainer", "CreateContainer", 1},
	{"containerd.task.v3.Task/Create", "StartContainer", 1},
	{"client.task.Start", "StartContainer", 1},
	{"cni.Remove", "StopPodSandbox", 1},
}

// fromPlugins is what we watch ourselves.
var fromPlugins = []wanted{
	{"cni.plugin.loopback", "RunPodSandbox", 1},
	{"cni.plugin.bridge", "RunPodSandbox", 1},
	{"cni.plugin.host-local", "RunPodSandbox", 1},
	{"cni.plugin.portmap", "RunPodSandbox", 1},
	{"cni.plugin.bridge", "StopPodSandbox", 1},
}

// missing says what of want a pod does not have.
func (s *spans) missing(pod trace.Pod, want []wanted) (out []string) {
	for _, w := range want {
		if got := s.find(w.name, w.method, pod); len(got) < w.n {
			out = append(out, fmt.Sprintf("%d of %d %s below %s", len(got), w.n, w.name, w.method))
		}
	}
	return out
}

// await reads until a pod has all of want, or for so long, and returns what it does not have.
func (s *spans) await(ctx context.Context, t *testing.T, limit time.Duration, cursor *trace.Cursor, pod trace.Pod, want []wanted) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for len(s.missing(pod, want)) > 0 {
		recs, _, err := cursor.Next(ctx, nil)
		if err != nil {
			break
		}
		s.all = append(s.all, recs...)
		for _, r := range recs {
			switch e := r.Event.(type) {
			case *trace.CRICall:
				s.calls[r.Span] = e
			case *trace.RuntimeSpan:
				if _, again := s.told[r.Span]; again {
					t.Errorf("%s came twice", e.Name)
				}
				s.told[r.Span] = r
			}
		}
	}
	return s.missing(pod, want)
}

// TestRuntimeSpans starts a pod by CRI calls: what containerd tells of them hangs below them.
// This is the list in package otlp's comment; a containerd that tells otherwise fails it.
func TestRuntimeSpans(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	bus := trace.NewBus(0)
	cursor := bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	receiver, err := otlp.New(otlp.Config{HTTP: fmt.Sprintf("127.0.0.1:%d", b.OTLPPort), CNIBinDirs: []string{b.CNIBinDir}, Runtime: b.RuntimeEndpoint, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Listen(ctx); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	go func() { served <- receiver.Run(running) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	// A plugin that ends before it can be looked at is not told, which happens on a busy machine: of
	// several pods, one has to have them all.
	seen := &spans{calls: map[trace.SpanID]*trace.CRICall{}, told: map[trace.SpanID]trace.Record{}}
	var pod trace.Pod
	for i := 1; ; i++ {
		name := fmt.Sprintf("spans%d", i)
		pod = trace.Pod{Namespace: "default", Name: name, UID: "uid-" + name}
		startByCRI(t, b, bus, pod)
		if missing := seen.await(ctx, t, deadline, cursor, pod, fromRuntime); len(missing) > 0 {
			t.Fatalf("missing: %s; %+v", strings.Join(missing, ", "), receiver.Stats())
		}
		missing := seen.await(ctx, t, 2*time.Second, cursor, pod, fromPlugins)
		if len(missing) == 0 {
			break
		}
		if i == 10 {
			t.Fatalf("missing: %s; %+v", strings.Join(missing, ", "), receiver.Stats())
		}
	}
	add := seen.find("cni.asynchAttach", "RunPodSandbox", pod)[0]
	above := []string{"cni.Setup", "cni.setup_pod_network", "cri.sandbox.run", "runtime.v1.RuntimeService/RunPodSandbox", "RunPodSandbox"}
	if diff := cmp.Diff(above, seen.above(add)); diff != "" {
		t.Errorf("above CNI ADD (-want +got):\n%s", diff)
	}
	run := seen.find("cri.sandbox.run", "RunPodSandbox", pod)[0].Event.(*trace.RuntimeSpan)
	if !slices.ContainsFunc(run.Attrs, func(kv trace.KV) bool { return kv.K == "event.setup pod network" }) {
		t.Errorf("%s says nothing of when the network began: %v", run.Name, run.Attrs)
	}
	ipam := seen.find("cni.plugin.host-local", "RunPodSandbox", pod)[0]
	if diff := cmp.Diff([]string{"cni.plugin.bridge", "RunPodSandbox"}, seen.above(ipam)); diff != "" {
		t.Errorf("above host-local (-want +got):\n%s", diff)
	}
	for _, r := range seen.find("cni.asynchAttach", "RunPodSandbox", pod) {
		net := r.Event.(*trace.RuntimeSpan)
		for _, p := range seen.find("cni.plugin.bridge", "RunPodSandbox", pod) {
			plugin := p.Event.(*trace.RuntimeSpan)
			if slices.Contains(net.Attrs, trace.KV{K: "cni.ifname", V: "eth0"}) && (plugin.Start < net.Start || plugin.Dur > net.Dur) {
				t.Errorf("bridge ran for %v from %d, its network was made for %v from %d", plugin.Dur, plugin.Start, net.Dur, net.Start)
			}
		}
	}

	w, err := waterfall.Build(seen.all, pod)
	if err != nil {
		t.Fatal(err)
	}
	drawn := w.Text(120, waterfall.TextOptions{})
	if !strings.Contains(drawn, "unpack layer") { // what takes longest, however busy the machine
		t.Errorf("the waterfall has no row for it:\n%s", drawn)
	}
}

// TestAgentSpans: the agent takes containerd's spans, and they are of the pods it starts.
func TestAgentSpans(t *testing.T) {
	n := newNode(t)
	a := n.start("--otlp-http", fmt.Sprintf("127.0.0.1:%d", n.OTLPPort))
	n.put("web.yaml", sleeper("spanned", "$BUSYBOX", "IfNotPresent"))
	a.ready("spanned")
	for _, name := range []string{"cni.setup_pod_network", "client.task.Start"} {
		a.wait(name, func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.RuntimeSpan)
			return ok && e.Name == name && r.Pod.Name == n.pod("spanned")
		})
	}
}

// startByCRI pulls an image, starts a pod with it and removes both.
func startByCRI(t *testing.T, b *bench, bus *trace.Bus, pod trace.Pod) {
	t.Helper()
	client, err := cri.Dial(t.Context(), cri.Config{Endpoint: b.RuntimeEndpoint, Bus: bus})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	root := trace.ForPod(trace.Span{Trace: trace.NewTraceID()}, pod)
	ctx := trace.ContextWith(t.Context(), root)
	image := &runtimeapi.ImageSpec{Image: b.Image(lab.ImageSmallFiles)}
	if _, err := client.Image.RemoveImage(t.Context(), &runtimeapi.RemoveImageRequest{Image: image}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Image.PullImage(ctx, &runtimeapi.PullImageRequest{Image: image}); err != nil {
		t.Fatal(err)
	}
	sandbox := &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: pod.Name, Namespace: pod.Namespace, Uid: pod.UID},
		Hostname:     pod.Name,
		LogDirectory: filepath.Join(t.TempDir(), "logs"),
		Linux:        &runtimeapi.LinuxPodSandboxConfig{CgroupParent: b.CgroupRoot},
	}
	s, err := client.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		clean := context.WithoutCancel(ctx)
		if _, err := client.Runtime.StopPodSandbox(clean, &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.PodSandboxId}); err != nil {
			t.Error(err)
		}
		if _, err := client.Runtime.RemovePodSandbox(clean, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.PodSandboxId}); err != nil {
			t.Error(err)
		}
	}()
	c, err := client.Runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: s.PodSandboxId, SandboxConfig: sandbox,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: image, Command: []string{"sleep", "1000"}, LogPath: "main.log",
			Linux: &runtimeapi.LinuxContainerConfig{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
		t.Fatal(err)
	}
}
