package proxy

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// life plays the calls of pods.
type life struct {
	t   *testing.T
	p   *Proxy
	cur *trace.Cursor
}

func (l *life) call(req, reply proto.Message, err error) {
	l.t.Helper()
	name := string(req.ProtoReflect().Descriptor().Name())
	c := &call{p: l.p, method: method{name: name[:len(name)-len("Request")]}, request: req}
	c.subject = l.p.pods.subject(req)
	c.root = trace.ForPod(trace.SeenBy(trace.Span{Trace: c.subject.trace}, trace.ObserverProxy, 0), c.subject.pod)
	c.action = actionOf(c.method.name, req, c.subject)
	c.begin(1)
	l.p.pods.ended(c, reply, err)
}

func (l *life) start(container string) {
	l.t.Helper()
	l.call(&runtimeapi.CreateContainerRequest{PodSandboxId: "s1", SandboxConfig: web, Config: &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: container}}},
		&runtimeapi.CreateContainerResponse{ContainerId: "c-" + container}, nil)
	l.call(&runtimeapi.StartContainerRequest{ContainerId: "c-" + container}, &runtimeapi.StartContainerResponse{}, nil)
}

// milestones are those published since it was asked last, with how precisely their time is known.
func (l *life) milestones() (out []string) {
	l.t.Helper()
	synctest.Wait()
	trace.Point(l.p.cfg.Bus, trace.Span{}, trace.Log{Message: "end"})
	buf := make([]trace.Record, 0, 64)
	for {
		recs, _, err := l.cur.Next(l.t.Context(), buf)
		if err != nil {
			l.t.Fatal(err)
		}
		for i := range recs {
			switch e := recs[i].Event.(type) {
			case *trace.Milestone:
				out = append(out, fmt.Sprintf("%s since %v by %v source %q adopted %t", e.Name, e.Since, recs[i].Precision.Duration(), e.Source, e.Adopted))
			case *trace.Log:
				return out
			}
		}
	}
}

func played(t *testing.T, f func(l *life)) {
	synctest.Test(t, func(t *testing.T) {
		bus := trace.NewBus(0)
		l := &life{t: t, p: &Proxy{cfg: Config{Bus: bus}, pods: newPods(bus, func(trace.Pod) {})}, cur: bus.Subscribe(trace.FromOldest)}
		defer l.cur.Close()
		defer l.p.pods.stop()
		f(l)
	})
}

var run = &runtimeapi.RunPodSandboxRequest{Config: web}

// A pod's life, as its calls tell: it has started when its last container runs and no other follows.
func TestLife(t *testing.T) {
	played(t, func(l *life) {
		l.call(run, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, nil)
		time.Sleep(time.Second)
		l.start("init")
		time.Sleep(9 * time.Second)
		l.start("web")
		time.Sleep(time.Second)
		l.start("log")
		time.Sleep(quiet)
		if diff := cmp.Diff([]string{`seen since 0s by 0s source "api" adopted false`, `started since 11s by 10s source "" adopted false`}, l.milestones()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		l.start("web") // again
		time.Sleep(2 * quiet)
		l.call(&runtimeapi.StopContainerRequest{ContainerId: "c-web"}, nil, nil)
		l.call(&runtimeapi.StopPodSandboxRequest{PodSandboxId: "s1"}, nil, nil)
		time.Sleep(time.Minute)
		l.call(&runtimeapi.RemovePodSandboxRequest{PodSandboxId: "s1"}, nil, nil)
		if diff := cmp.Diff([]string{`terminating since 0s by 2s source "" adopted false`, `gone since 1m0s by 0s source "" adopted false`}, l.milestones()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if n := len(l.p.pods.byUID) + len(l.p.pods.sandboxes); n != 0 {
			t.Errorf("%d are remembered", n)
		}
	})
}

// A sandbox that is replaced does not end its pod, and a container that has ended is not the last one.
func TestNotYet(t *testing.T) {
	played(t, func(l *life) {
		l.call(run, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s0"}, nil)
		l.call(&runtimeapi.StopPodSandboxRequest{PodSandboxId: "s0"}, nil, nil)
		time.Sleep(time.Second)
		l.call(run, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, nil)
		l.call(&runtimeapi.RemovePodSandboxRequest{PodSandboxId: "s0"}, nil, nil)
		l.start("job")
		time.Sleep(time.Second)
		l.call(&runtimeapi.ListPodSandboxRequest{}, &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{{Id: "s1", Metadata: web.GetMetadata()}}}, nil)
		if !l.p.pods.wantsList(&runtimeapi.ListContainersRequest{}) || l.p.pods.wantsList(&runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: "c"}}) {
			t.Error("while a pod starts, the list of all containers is read, and no other")
		}
		l.call(&runtimeapi.ListContainersRequest{}, &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: "c-job", PodSandboxId: "s1", State: runtimeapi.ContainerState_CONTAINER_EXITED}}}, nil)
		time.Sleep(2 * quiet)
		if diff := cmp.Diff([]string{`seen since 0s by 0s source "api" adopted false`}, l.milestones()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if l.p.pods.wantsList(&runtimeapi.ListContainersRequest{}) {
			t.Error("lists are read although nothing has to be learned")
		}
	})
}

// What was there before the proxy is known by the kubelet's own lists.
func TestFound(t *testing.T) {
	played(t, func(l *life) {
		l.call(&runtimeapi.ListPodSandboxRequest{}, &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{{Id: "s1", Metadata: web.GetMetadata()}}}, nil)
		l.call(&runtimeapi.ListContainersRequest{}, &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: "c1", PodSandboxId: "s1", Metadata: &runtimeapi.ContainerMetadata{Name: "web"}, State: runtimeapi.ContainerState_CONTAINER_RUNNING}}}, nil)
		if s := l.p.pods.subject(&runtimeapi.StopContainerRequest{ContainerId: "c1"}); s.pod != webPod || s.container != "web" || s.sandbox != "s1" {
			t.Errorf("%+v", s)
		}
		if diff := cmp.Diff([]string{`seen since 0s by 0s source "" adopted true`, `started since 0s by 0s source "" adopted true`}, l.milestones()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What is remembered is bounded.
func TestBounded(t *testing.T) {
	played(t, func(l *life) {
		for i := range maxIDs + 100 {
			l.p.pods.subject(&runtimeapi.CreateContainerRequest{PodSandboxId: fmt.Sprint(i), SandboxConfig: &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Uid: fmt.Sprint(i)}}})
		}
		if len(l.p.pods.byUID) > maxPods || len(l.p.pods.sandboxes) > maxIDs {
			t.Errorf("%d pods, %d sandboxes", len(l.p.pods.byUID), len(l.p.pods.sandboxes))
		}
	})
}

// A container that ended before the next one was made for the first time was an init container, and the kubelet knew of its end when it
// had asked. One that failed, or beside which another runs, was none.
func TestInit(t *testing.T) {
	ended := func(l *life, name string, exit int32) {
		at := time.Now()
		time.Sleep(400 * time.Millisecond)
		l.call(&runtimeapi.ContainerStatusRequest{ContainerId: "c-" + name}, &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
			Id: "c-" + name, State: runtimeapi.ContainerState_CONTAINER_EXITED, FinishedAt: at.UnixNano(), ExitCode: exit,
		}}, nil)
	}
	for name, c := range map[string]struct {
		play func(l *life)
		want []string
	}{
		"it ends well": {func(l *life) {
			l.start("init")
			time.Sleep(2 * time.Second)
			ended(l, "init", 0)
			l.start("web")
		}, []string{"init init 2s", "poll  400ms"}},
		"it fails, and is made again": {func(l *life) {
			l.start("init")
			ended(l, "init", 1)
			l.start("init")
		}, nil},
		"another one runs": {func(l *life) {
			l.start("sidecar")
			l.start("init")
			ended(l, "init", 0)
			l.start("web")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			played(t, func(l *life) {
				l.call(run, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, nil)
				c.play(l)
				if diff := cmp.Diff(c.want, l.waits()); diff != "" {
					l.t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

// waits are those published so far.
func (l *life) waits() (out []string) {
	l.t.Helper()
	trace.Point(l.p.cfg.Bus, trace.Span{}, trace.Log{Message: "end"})
	for {
		recs, _, err := l.cur.Next(l.t.Context(), make([]trace.Record, 0, 64))
		if err != nil {
			l.t.Fatal(err)
		}
		for i := range recs {
			switch e := recs[i].Event.(type) {
			case *trace.Wait:
				out = append(out, fmt.Sprint(e.For, " ", e.Target.Name, " ", recs[i].Dur))
			case *trace.Log:
				return out
			}
		}
	}
}
