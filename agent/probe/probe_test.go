package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// world is a pod, its state in the runtime, and the answers to its probes.
type world struct {
	events.Publisher

	t   *testing.T
	p   *Prober
	rec *tracetest.Recorder
	at  time.Time // of the test's begin

	mu      sync.Mutex
	seen    *podstate.Pod
	answers map[Kind]outcome
	slow    time.Duration
	made    []string // attempts, for example "2s readiness"
	updates []string
	news    []string
}

func (w *world) Get(types.UID) *podstate.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *world) Quote(_ context.Context, _ *v1.Pod, container, eventType, reason, message, _ string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.news = append(w.news, fmt.Sprintf("%v %s %s %s: %s", time.Since(w.at), container, eventType, reason, message))
}

func (w *world) perform(ctx context.Context, a *attempt) outcome {
	w.mu.Lock()
	w.made = append(w.made, fmt.Sprintf("%v %s", time.Since(w.at), a.kind))
	o, slow := w.answers[a.kind], w.slow
	w.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return outcome{err: ctx.Err()}
	}
	return o
}

func (w *world) answer(k Kind, o outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[k] = o
}

// runs sets a container in the runtime with that state, newest first.
func (w *world) runs(id string, state podstate.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.seen
	w.seen = &podstate.Pod{UID: "u", At: time.Now(), Containers: []podstate.Container{{ID: id, Name: "web", State: state, StartedAt: time.Now()}}}
	if old != nil && old.Containers[0].ID == id {
		w.seen.Containers[0].StartedAt = old.Containers[0].StartedAt
	}
}

// take returns the attempts since the last call.
func (w *world) take() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := strings.Join(w.made, ", ")
	w.made = nil
	return out
}

func (w *world) expect(what, want string) {
	w.t.Helper()
	if got := w.take(); got != want {
		w.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// told returns the updates and events so far.
func (w *world) told() (updates, events []string) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.updates), slices.Clone(w.news)
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	w := &world{t: t, rec: tracetest.New(t), at: time.Now(), answers: map[Kind]outcome{}}
	cfg := Config{Exec: noExec{}, Observer: w, Events: w, Bus: w.rec.Bus()}
	for _, c := range change {
		c(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.p = p
	p.perform = w.perform
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		for {
			select {
			case u := <-p.Updates():
				w.mu.Lock()
				w.updates = append(w.updates, fmt.Sprintf("%v %s %s of %s %s", time.Since(w.at), u.Probe, u.Result, u.Container, u.ContainerID))
				w.mu.Unlock()
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return w
}

func probeOf(change ...func(*v1.Probe)) *v1.Probe {
	p := &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func delayed(p *v1.Probe) { p.InitialDelaySeconds = 4 }

func podWith(startup, readiness, liveness *v1.Probe) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "cart", Namespace: "shop"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "web", StartupProbe: startup, ReadinessProbe: readiness, LivenessProbe: liveness}}},
	}
}

func TestReadyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := podWith(nil, probeOf(), nil)
		c := &pod.Spec.Containers[0]
		w.p.Add(pod, nil)
		w.answer(Readiness, failure("refused"))
		w.expect("no container", "")
		w.runs("1", podstate.Created)
		w.p.Changed("u")
		w.expect("not running", "")
		w.runs("1", podstate.Running)
		w.p.Changed("u")
		w.p.Changed("u")
		time.Sleep(350 * time.Millisecond)
		w.expect("early ones", "0s readiness, 25ms readiness, 75ms readiness, 175ms readiness")
		if w.p.Ready(pod, c, "1") {
			t.Error("ready while its probe fails")
		}
		w.answer(Readiness, success(""))
		time.Sleep(15 * time.Second)
		w.expect("then each period", "375ms readiness, 10.375s readiness")
		if !w.p.Ready(pod, c, "containerd://1") {
			t.Error("not ready while its probe succeeds")
		}
		updates, events := w.told()
		if d := cmp.Diff([]string{"375ms readiness success of web 1"}, updates); d != "" {
			t.Error(d)
		}
		if events != nil {
			t.Errorf("events of early attempts: %q", events)
		}
	})
}

func TestReadinessThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := podWith(nil, probeOf(delayed, func(p *v1.Probe) { p.SuccessThreshold = 2 }), nil)
		c := &pod.Spec.Containers[0]
		w.p.Add(pod, nil)
		w.runs("1", podstate.Running)
		w.answer(Readiness, success(""))
		w.p.Changed("u")
		time.Sleep(13 * time.Second)
		if w.p.Ready(pod, c, "1") {
			t.Error("ready after one success of two")
		}
		time.Sleep(2 * time.Second)
		if !w.p.Ready(pod, c, "1") {
			t.Error("not ready after two")
		}
		w.expect("after its delay", "4s readiness, 14s readiness")
		w.answer(Readiness, failure("HTTP probe failed with statuscode: 500"))
		time.Sleep(20 * time.Second)
		if !w.p.Ready(pod, c, "1") {
			t.Error("not ready after two failures of three")
		}
		time.Sleep(10 * time.Second)
		if w.p.Ready(pod, c, "1") {
			t.Error("ready after three failures")
		}
		want := []string{"14s readiness success of web 1", "44s readiness failure of web 1"}
		updates, events := w.told()
		if d := cmp.Diff(want, updates); d != "" {
			t.Error(d)
		}
		said := "web Warning Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 500"
		if d := cmp.Diff([]string{"24s " + said, "34s " + said, "44s " + said}, events); d != "" {
			t.Error(d)
		}
	})
}

func TestLivenessFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := podWith(nil, nil, probeOf(delayed, func(p *v1.Probe) { p.FailureThreshold = 2 }))
		w.p.Add(pod, nil)
		w.runs("1", podstate.Running)
		w.answer(Liveness, failure("gone"))
		w.p.Changed("u")
		time.Sleep(10 * time.Second)
		if _, _, failed := w.p.Failed("1"); failed {
			t.Error("failed after one of two")
		}
		time.Sleep(time.Minute)
		w.expect("held after the second", "4s liveness, 14s liveness")
		if probe, message, failed := w.p.Failed("1"); !failed || probe != "liveness" || message != "gone" {
			t.Errorf("Failed: %s %s %v", probe, message, failed)
		}
		w.runs("1", podstate.Exited)
		w.p.Changed("u")
		w.answer(Liveness, success(""))
		w.runs("2", podstate.Running)
		w.p.Changed("u")
		if _, _, failed := w.p.Failed("2"); failed {
			t.Error("the new container failed")
		}
		time.Sleep(5 * time.Second)
		w.expect("the new one is asked", "1m14s liveness")
	})
}

func TestStartupGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := podWith(probeOf(func(p *v1.Probe) { p.PeriodSeconds = 1 }), probeOf(), probeOf(func(p *v1.Probe) { p.PeriodSeconds = 9 }))
		c := &pod.Spec.Containers[0]
		w.p.Add(pod, nil)
		w.answer(Startup, failure("not yet"))
		w.answer(Readiness, success(""))
		w.answer(Liveness, success(""))
		w.p.Began("u", "web", "containerd://1")
		w.p.Changed("u") // the runtime's event is late
		time.Sleep(1500 * time.Millisecond)
		w.expect("startup alone", "0s startup, 25ms startup, 75ms startup, 175ms startup, 375ms startup, 775ms startup, 1s startup")
		if w.p.Started(pod, c, "1") || w.p.Ready(pod, c, "1") {
			t.Error("started, or ready, before its startup probe succeeded")
		}
		w.runs("1", podstate.Created)
		w.p.Changed("u")
		w.runs("1", podstate.Running)
		w.p.Changed("u")
		w.answer(Startup, success(""))
		time.Sleep(20 * time.Second)
		w.expect("then the others", "2s startup, 2s readiness, 11s liveness, 12s readiness, 20s liveness")
		if !w.p.Started(pod, c, "1") || !w.p.Ready(pod, c, "1") {
			t.Error("not started, or not ready")
		}
		_, events := w.told()
		if d := cmp.Diff([]string{"1s web Warning Unhealthy: Startup probe failed: not yet"}, events); d != "" {
			t.Error(d)
		}
	})
}

func TestStartupFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.p.Add(podWith(probeOf(func(p *v1.Probe) { p.PeriodSeconds, p.FailureThreshold = 2, 2 }), nil, nil), nil)
		w.answer(Startup, failure("no"))
		w.runs("1", podstate.Running)
		w.p.Changed("u")
		time.Sleep(3 * time.Second)
		if _, _, failed := w.p.Failed("1"); failed {
			t.Error("failed before its time")
		}
		time.Sleep(2 * time.Second)
		if probe, _, failed := w.p.Failed("1"); !failed || probe != "startup" {
			t.Error("not failed after threshold times period")
		}
	})
}

func TestTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := podWith(nil, probeOf(delayed), probeOf(delayed))
		w.p.Add(pod, nil)
		w.answer(Readiness, success(""))
		w.answer(Liveness, failure("no"))
		w.slow = 500 * time.Millisecond
		w.runs("1", podstate.Running)
		w.p.Changed("u")
		time.Sleep(4100 * time.Millisecond)
		w.take()
		pod = pod.DeepCopy()
		pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		w.p.Add(pod, nil)
		w.answer(Readiness, failure("draining"))
		time.Sleep(40 * time.Second)
		w.expect("readiness goes on alone", "14s readiness, 24s readiness, 34s readiness, 44s readiness")
		if w.p.Ready(pod, &pod.Spec.Containers[0], "1") {
			t.Error("still ready")
		}
		if _, _, failed := w.p.Failed("1"); failed {
			t.Error("liveness failed at the end")
		}
		w.p.Remove("u")
		time.Sleep(time.Minute)
		w.expect("nothing when gone", "")
		_, events := w.told()
		for _, e := range events {
			if strings.Contains(e, "Liveness") || strings.Contains(e, "canceled") {
				t.Errorf("an attempt that was cut short is told of: %s", e)
			}
		}
	})
}

// TestTheEndBeforeTheStart: a container that has not started when its pod terminates is neither started nor ready afterwards.
func TestTheEndBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, startup := range map[string]outcome{"no answer yet": {err: errors.New("broken")}, "it failed": failure("no")} {
			w := newWorld(t)
			pod := podWith(probeOf(func(p *v1.Probe) { p.FailureThreshold = 1 }), probeOf(), nil)
			c := &pod.Spec.Containers[0]
			w.p.Add(pod, nil)
			w.answer(Startup, startup)
			w.answer(Readiness, success(""))
			w.runs("1", podstate.Running)
			w.p.Changed("u")
			time.Sleep(15 * time.Second)
			w.take()
			w.p.StopLiveness("u")
			w.p.Changed("u")
			time.Sleep(15 * time.Second)
			w.expect(name, "")
			if _, _, failed := w.p.Failed("1"); failed || w.p.Started(pod, c, "1") || w.p.Ready(pod, c, "1") {
				t.Errorf("%s: failed %t, started %t, ready %t", name, failed, w.p.Started(pod, c, "1"), w.p.Ready(pod, c, "1"))
			}
			w.p.Remove("u")
		}
	})
}

func TestAgentRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := podWith(probeOf(), probeOf(), probeOf())
		c := &pod.Spec.Containers[0]
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{
			Name: "web", ContainerID: "containerd://1", Started: new(true), Ready: true,
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
		}}
		w.runs("1", podstate.Running)
		time.Sleep(time.Hour)
		if !w.p.Ready(pod, c, "1") {
			t.Error("not ready before it is added")
		}
		w.p.Add(pod, nil)
		if !w.p.Started(pod, c, "1") || !w.p.Ready(pod, c, "1") {
			t.Error("it was ready and is not")
		}
		w.expect("nothing at once", "")
		w.answer(Readiness, failure("no"))
		time.Sleep(40 * time.Second)
		if w.p.Ready(pod, c, "1") {
			t.Error("ready though its probe fails")
		}
		w.runs("2", podstate.Running)
		w.p.Changed("u")
		if w.p.Started(pod, c, "2") || w.p.Ready(pod, c, "2") {
			t.Error("a new container is ready before it was asked")
		}
	})
}

// With the feature gate ChangeContainerStatusOnKubeletRestart, what a container was under an earlier agent does not count.
func TestAgentRestartAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.Afresh = true })
		started, ready := podWith(probeOf(), nil, nil), podWith(nil, probeOf(), nil)
		for _, pod := range []*v1.Pod{started, ready} {
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{
				Name: "web", ContainerID: "containerd://1", Started: new(true), Ready: true,
				State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
			}}
		}
		static := podWith(nil, probeOf(), nil)
		static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
		w.runs("1", podstate.Running)
		time.Sleep(time.Hour)
		for name, pod := range map[string]*v1.Pod{"startup probe": started, "readiness probe": ready, "static pod": static} {
			c := &pod.Spec.Containers[0]
			w.answer(Startup, failure("no"))
			w.answer(Readiness, failure("no"))
			if w.p.Ready(pod, c, "1") {
				t.Errorf("%s: ready before it is added", name)
			}
			w.p.Add(pod, nil)
			if w.p.Ready(pod, c, "1") || w.p.Started(pod, c, "1") != (c.StartupProbe == nil) {
				t.Errorf("%s: ready or started before the probe succeeds", name)
			}
			w.answer(Startup, outcome{ok: true})
			w.answer(Readiness, outcome{ok: true})
			time.Sleep(30 * time.Second)
			if !w.p.Ready(pod, c, "1") {
				t.Errorf("%s: not ready though the probe succeeds", name)
			}
			w.p.Remove("u")
		}
	})
}

func TestNoAnswerAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pod := podWith(nil, probeOf(delayed), nil)
		w.p.Add(pod, nil)
		w.answer(Readiness, outcome{err: errors.New("no such port")})
		w.runs("1", podstate.Running)
		w.p.Changed("u")
		time.Sleep(5 * time.Second)
		w.expect("tried thrice", "4s readiness, 4s readiness, 4s readiness")
		want := []string{"4s web Warning Unhealthy: Readiness probe errored and resulted in unknown state: no such port"}
		_, events := w.told()
		if d := cmp.Diff(want, events); d != "" {
			t.Error(d)
		}
		evs := tracetest.Events[trace.ProbeAttempt](w.rec)
		if len(evs) != 2 || evs[1].Result != trace.ProbeError || evs[1].State != trace.ProbeDenies {
			t.Errorf("trace %+v", evs)
		}
		if waits := tracetest.Events[trace.Wait](w.rec); len(waits) < 2 || waits[0].Target != (trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}) {
			t.Errorf("waits %+v", waits)
		}
	})
}

// The record of an attempt says how it was made.
func TestHow(t *testing.T) {
	for want, h := range map[trace.ProbeHow]v1.ProbeHandler{
		trace.ProbeExec: {Exec: &v1.ExecAction{}}, trace.ProbeHTTP: {HTTPGet: &v1.HTTPGetAction{}},
		trace.ProbeTCP: {TCPSocket: &v1.TCPSocketAction{}}, trace.ProbeGRPC: {GRPC: &v1.GRPCAction{}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.p.Add(podWith(nil, nil, probeOf(func(p *v1.Probe) { p.ProbeHandler = h })), nil)
			w.answer(Liveness, success(""))
			w.runs("1", podstate.Running)
			w.p.Changed("u")
			time.Sleep(11 * time.Second)
			synctest.Wait()
			if got := tracetest.Events[trace.ProbeAttempt](w.rec); len(got) == 0 || got[0].How != want {
				t.Errorf("%s: told %+v", want, got)
			}
		})
	}
}

func TestWhoIsProbed(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{
			{Name: "setup", ReadinessProbe: probeOf()},
			{Name: "sidecar", RestartPolicy: &always, ReadinessProbe: probeOf()},
		},
		Containers: []v1.Container{{Name: "web", LivenessProbe: probeOf()}, {Name: "plain"}},
	}}
	var names []string
	for _, c := range collect(&podProbes{pod: pod}) {
		names = append(names, c.spec.Name)
	}
	if d := cmp.Diff([]string{"sidecar", "web"}, names); d != "" {
		t.Error(d)
	}
}
