package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// bench is a Manager and a Syncer with real workers between them and a fake runtime, in simulated time.
type bench struct {
	*Manager
	t       *testing.T
	rec     *tracetest.Recorder
	rt      *fakeRuntime
	network *fakeNetwork
	seen    fakeSeen
	workers *worker.Manager
	syncer  *Syncer
	ready   bool // the readiness in statuses
	stop    func()
	// afterClean, if set, is called when nothing is left of a pod but its worker.
	afterClean func()
	// starts and startsOver count the syncs of pods that have not started, and their ends.
	starts, startsOver atomic.Int32
}

// hooked is the Syncer as the workers call it.
type hooked struct {
	*Syncer
	b *bench
}

func (h hooked) Clean(ctx context.Context, pod *v1.Pod, remove bool, order uint64) error {
	err := h.Syncer.Clean(ctx, pod, remove, order)
	if h.b.afterClean != nil {
		h.b.afterClean()
	}
	return err
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, rec: tracetest.New(t), rt: &fakeRuntime{}, network: &fakeNetwork{}, seen: fakeSeen{}}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store := NewStore()
	var err error
	b.syncer, err = NewSyncer(SyncerConfig{Runtime: b.rt, Network: b.network, Store: store, Status: b.status, Bus: b.rec.Bus(), Starting: b.starting})
	check(err)
	b.workers, err = worker.New(worker.Config{Syncer: hooked{b.syncer, b}, Bus: b.rec.Bus()})
	check(err)
	b.Manager, err = New(Config{Workers: b.workers, Seen: b.seen, Store: store, Bus: b.rec.Bus()})
	check(err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.workers.Run(ctx) }()
	b.stop = func() {
		t.Helper()
		cancel()
		check(<-done)
		b.syncer.Settle()
		if open := openWaits(t, b.rec); len(open) > 0 {
			t.Errorf("waits without an end: %v", open)
		}
	}
	return b
}

// starting counts the syncs of pods that have not started.
func (b *bench) starting() func() {
	b.starts.Add(1)
	return func() { b.startsOver.Add(1) }
}

// status is a StatusFunc with the bench's values.
func (b *bench) status(StatusInput) (v1.PodStatus, trace.PodStatus) {
	st, said := v1.PodStatus{Phase: v1.PodRunning, StartTime: new(metav1.Now())}, trace.PodStatus{Phase: trace.PodRunning, Total: 1}
	if b.ready {
		st.Conditions, said.Ready = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}, 1
	}
	return st, said
}

// send sends an update as the loop does, and waits for its effects.
func (b *bench) send(op podsource.Op, pods ...*v1.Pod) {
	b.Config(b.t.Context(), podsource.Update{Op: op, Source: "file", Pods: pods})
	synctest.Wait()
}

func (b *bench) allSources() {
	b.Config(b.t.Context(), podsource.Update{Op: podsource.OpAdd, AllSources: true})
}

// wake wakes a pod's worker.
func (b *bench) wake(uid types.UID) {
	b.t.Helper()
	if !b.workers.Wake(uid, worker.Cause{Text: "ContainerStarted"}) {
		b.t.Errorf("pod %s has no worker", uid)
	}
	synctest.Wait()
}

func (b *bench) expect(what string, want, got []string) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// A pod's life: each milestone once, in order, with the time since the pod was seen, or for its end since the
// termination request.
func TestMilestones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.rt.sync = func(context.Context, *v1.Pod) (podruntime.Outcome, error) {
			time.Sleep(2 * time.Second)
			return podruntime.Outcome{Running: true, Acted: true}, nil
		}
		b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(4 * time.Second); return nil }
		b.rt.clean = func(context.Context, *v1.Pod, bool) error { time.Sleep(time.Second); return nil }
		pod := podOf("web", "u1")
		b.send(podsource.OpAdd, pod)
		pass(5 * time.Second)
		for range 3 {
			b.wake("u1")
			pass(3 * time.Second)
		}
		b.ready = true
		for range 3 {
			b.wake("u1")
			pass(3 * time.Second)
		}
		b.send(podsource.OpRemove, pod)
		pass(time.Minute)
		b.expect("milestones", []string{
			"seen web", "started web 2s", "ready web 16s", "terminating web 23s", "gone web 5s",
		}, milestones(b.rec))
		b.expect("calls of the end", []string{"kill web grace=30, removed from its source", "clean web remove=true", "forget u1"}, b.rt.took()[7:])
		if n, over := b.starts.Load(), b.startsOver.Load(); n != 1 || over != 1 {
			t.Errorf("%d syncs of a pod that had not started, %d of them have ended, want the first alone", n, over)
		}
		if b.cfg.Store.Known("u1") || b.workers.State("u1") != worker.None {
			t.Error("something of it is left")
		}
		b.stop()
	})
}

// A pod that finishes by itself is cleaned and stays until its source removes it.
func TestPodThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.rt.sync = func(context.Context, *v1.Pod) (podruntime.Outcome, error) {
			return podruntime.Outcome{Finished: true}, nil
		}
		pod := podOf("job", "u1")
		b.send(podsource.OpAdd, pod)
		b.expect("calls", []string{"sync job", "kill job grace=30, all containers have ended", "clean job remove=false"}, b.rt.took())
		if !b.cfg.Store.Known("u1") {
			t.Error("it is forgotten while its source has it")
		}
		pass(time.Minute)
		b.send(podsource.OpRemove, pod)
		b.expect("calls of the end", []string{"clean job remove=true", "forget u1"}, b.rt.took())
		b.expect("milestones", []string{"seen job", "terminating job", "gone job 1m0s"}, milestones(b.rec))
		b.stop()
	})
}

// The containers of a pod run and are ready, but the agent cannot sync it because the network is not ready: the pod is
// not ready before it has started.
func TestReadyComesAfterStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.ready = true
		b.network.set("no CNI")
		b.rt.sync = func(context.Context, *v1.Pod) (podruntime.Outcome, error) {
			return podruntime.Outcome{Running: true}, nil
		}
		b.send(podsource.OpAdd, podOf("web", "u1"))
		b.expect("milestones", []string{"seen web"}, milestones(b.rec))
		b.network.set("")
		pass(time.Second)
		b.expect("milestones", []string{"seen web", "started web 1s adopted", "ready web 1s"}, milestones(b.rec))
		b.stop()
	})
}

// A pod that was never ready does not become ready while it terminates.
func TestNoReadyAfterTerminating(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.send(podsource.OpAdd, podOf("web", "u1"))
		b.ready = true
		var tries atomic.Int32
		b.rt.kill = func(context.Context, *v1.Pod) error {
			if tries.Add(1) == 1 {
				return errors.New("not now")
			}
			return nil
		}
		b.send(podsource.OpRemove, podOf("web", "u1"))
		pass(time.Second)
		b.expect("milestones", []string{"seen web", "started web", "terminating web", "gone web 1s"}, milestones(b.rec))
		b.stop()
	})
}

func TestStatusIsPublishedOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.send(podsource.OpAdd, podOf("web", "u1"))
		for range 5 {
			b.wake("u1")
		}
		b.ready = true
		for range 5 {
			b.wake("u1")
		}
		var got []string
		for _, r := range b.rec.OfKind("pod.status") {
			s, _ := r.Event.(*trace.PodStatus)
			got = append(got, fmt.Sprintf("%s %d/%d", r.Pod.Name, s.Ready, s.Total))
		}
		b.expect("statuses", []string{"web 0/1", "web 1/1"}, got)
		b.stop()
	})
}

// While the pod network is not ready, pods wait, are checked each second and report each reason at once, and then every five minutes; pods with
// hostNetwork do not wait.
func TestNetworkNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.network.set("no CNI")
		b.send(podsource.OpAdd, podOf("web", "u1"), podOf("host", "u2", func(p *v1.Pod) { p.Spec.HostNetwork = true }))
		b.expect("calls", []string{"sync host"}, b.rt.took())
		b.expect("open waits", []string{"runtime: the pod network no CNI"}, openWaits(t, b.rec))
		pass(10500 * time.Millisecond)
		b.network.set("CNI is broken")
		pass(2 * time.Second)
		b.expect("calls", nil, b.rt.took())
		said := func() (out []string) {
			for _, r := range b.rec.OfKind("node.event") {
				e, _ := r.Event.(*trace.NodeEvent)
				out = append(out, r.Pod.Name+" "+e.Reason+": "+e.Message)
			}
			return out
		}
		want := []string{
			"web NetworkNotReady: network is not ready: container runtime network not ready: no CNI",
			"web NetworkNotReady: network is not ready: container runtime network not ready: CNI is broken",
		}
		b.expect("events", want, said())
		for range 2 {
			pass(networkRepeat - 5*time.Second)
			b.expect("events before it is repeated", want, said())
			pass(5 * time.Second)
			want = append(want, want[1])
			b.expect("events", want, said())
		}
		b.network.set("")
		pass(time.Second)
		b.expect("calls", []string{"sync web"}, b.rt.took())
		b.network.set("CNI is broken")
		b.wake("u1")
		b.expect("events when it fails again", append(want, want[1]), said())
		b.network.set("")
		pass(time.Second)
		b.expect("calls", []string{"sync web"}, b.rt.took())
		b.expect("open waits", nil, openWaits(t, b.rec))
		b.stop()
	})
}

// The wait for an init container begins when a sync leaves one running and ends with
// the next sync, the pod's end or the agent's.
func TestInitWait(t *testing.T) {
	const open = "init: init container migrate"
	for _, c := range []struct {
		name string
		then func(b *bench)
		want []string
	}{
		{"it is done", func(b *bench) {
			b.rt.sync = nil
			b.wake("u1")
		}, nil},
		{"it goes on", func(b *bench) { b.wake("u1") }, []string{open}},
		{"the sync fails", func(b *bench) {
			b.rt.sync = func(context.Context, *v1.Pod) (podruntime.Outcome, error) {
				return podruntime.Outcome{}, errors.New("no luck")
			}
			b.wake("u1")
		}, []string{"backoff: the retry after an error no luck"}},
		{"the pod ends", func(b *bench) { b.send(podsource.OpRemove, podOf("web", "u1")) }, nil},
		{"the agent ends", func(b *bench) { b.stop() }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.rt.sync = func(context.Context, *v1.Pod) (podruntime.Outcome, error) {
					return podruntime.Outcome{Acted: true, Init: "migrate"}, nil
				}
				b.send(podsource.OpAdd, podOf("web", "u1"))
				b.expect("open waits", []string{open}, openWaits(t, b.rec))
				pass(time.Second)
				c.then(b)
				b.expect("open waits afterwards", c.want, openWaits(t, b.rec))
				if c.name != "the agent ends" {
					b.stop()
				}
			})
		})
	}
}

// The time until a retry that a sync requests is a named wait.
func TestWaitsOfASync(t *testing.T) {
	for _, c := range []struct {
		name string
		out  podruntime.Outcome
		want []string
	}{
		{"nothing", podruntime.Outcome{}, nil},
		{"a back-off", podruntime.Outcome{RetryAt: time.Unix(1<<33, 0)}, []string{
			"backoff: the retry of containers app, db app: CrashLoopBackOff, db: ImagePullBackOff",
		}},
		{"the runtime", podruntime.Outcome{RetryAt: time.Unix(1<<33, 0), Early: true}, []string{"runtime: the runtime's event about the latest action"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.rt.why = map[string]podruntime.Reason{"db": {Reason: "ImagePullBackOff"}, "app": {Reason: "CrashLoopBackOff"}}
				b.rt.sync = func(context.Context, *v1.Pod) (podruntime.Outcome, error) { return c.out, nil }
				b.send(podsource.OpAdd, podOf("web", "u1"))
				b.expect("open waits", c.want, openWaits(t, b.rec))
				b.stop()
			})
		})
	}
}

// A status with a failure waits for the log of the failed container.
func TestWaitForALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		by := time.Now().Add(time.Second)
		b.syncer.cfg.LogsBy = func(types.UID) time.Time { return by }
		b.send(podsource.OpAdd, podOf("web", "u1"))
		if waits := tracetest.Events[trace.Wait](b.rec); len(waits) != 1 || waits[0].For != trace.WaitRuntime || waits[0].Target.Kind != trace.TargetLog {
			t.Errorf("waits %+v", waits)
		}
		pass(time.Second)
		b.expect("open waits afterwards", nil, openWaits(t, b.rec))
		b.stop()
	})
}

func TestWaitForNamesWhatIsHeldBack(t *testing.T) {
	for want, reasons := range map[string]map[string]podruntime.Reason{
		"the retry|": nil,
		"the restart of container app|CrashLoopBackOff":            {"app": {Reason: "CrashLoopBackOff"}},
		"the retry of container app|ImagePullBackOff":              {"app": {Reason: "ImagePullBackOff"}},
		"the retry of containers a, b|a: Odd, b: CrashLoopBackOff": {"b": {Reason: "CrashLoopBackOff"}, "a": {Reason: "Odd"}},
	} {
		if w := waitFor(reasons); say.On(&w)+"|"+say.Detail(&w, 0) != want || w.For != trace.WaitBackoff {
			t.Errorf("%+v, want %s", w, want)
		}
	}
}

// A manifest that is removed and restored has the same UID: the pod terminates, then starts again. Its containers are restarted if it
// always restarts; otherwise, nothing of its first life remains.
func TestAddedAnewWhileItGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(5 * time.Second); return nil }
		pod := podOf("web", "u1")
		b.send(podsource.OpAdd, pod)
		b.send(podsource.OpRemove, pod)
		pass(time.Second)
		b.send(podsource.OpAdd, pod)
		b.expect("milestones while it goes", []string{"seen web", "started web", "terminating web"}, milestones(b.rec))
		b.send(podsource.OpUpdate, podOf("web", "u1", func(p *v1.Pod) { p.Spec.Containers[0].Image = "app:2" }))
		pass(10 * time.Second)
		b.expect("milestones", []string{
			"seen web", "started web", "terminating web", "gone web 5s", "seen web", "started web",
		}, milestones(b.rec))
		b.expect("calls", []string{"sync web", "kill web grace=30, removed from its source", "clean web remove=false", "forget u1", "sync web"}, b.rt.took())
		var images []string
		for _, m := range tracetest.Events[trace.Milestone](b.rec) {
			if m.Spec != nil {
				images = append(images, m.Spec.Containers[0].Image)
			}
		}
		b.expect("images of the lives", []string{"app:1", "app:2"}, images)
		b.stop()
	})
}

func TestAddedAnewThatDoesNotAlwaysRestart(t *testing.T) {
	for _, policy := range []v1.RestartPolicy{v1.RestartPolicyOnFailure, v1.RestartPolicyNever} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(5 * time.Second); return nil }
			pod := podOf("web", "u1", func(p *v1.Pod) { p.Spec.RestartPolicy = policy })
			b.send(podsource.OpAdd, pod)
			b.send(podsource.OpRemove, pod)
			b.send(podsource.OpAdd, pod)
			pass(10 * time.Second)
			b.expect("calls", []string{"sync web", "kill web grace=30, removed from its source", "clean web remove=true", "forget u1", "sync web"}, b.rt.took())
			b.stop()
		})
	}
}

// If it is removed again before its earlier life has ended, it does not start again.
func TestAddedAnewAndRemovedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(5 * time.Second); return nil }
		pod := podOf("web", "u1")
		b.send(podsource.OpAdd, pod)
		b.send(podsource.OpRemove, pod)
		b.send(podsource.OpAdd, pod)
		b.send(podsource.OpRemove, pod)
		pass(time.Minute)
		b.expect("milestones", []string{"seen web", "started web", "terminating web", "gone web 5s"}, milestones(b.rec))
		if b.cfg.Store.Known("u1") || b.workers.State("u1") != worker.None {
			t.Error("something of it is left")
		}
		b.stop()
	})
}

// If it is added again when nothing of it is left but its worker, it starts again. If it is removed again at that
// moment, the next housekeeping removes it at the latest.
func TestAddedAnewInTheLastMoment(t *testing.T) {
	for _, c := range []struct {
		name  string
		ops   []podsource.Op
		alive bool
	}{
		{"added", []podsource.Op{podsource.OpAdd}, true},
		{"added and removed", []podsource.Op{podsource.OpAdd, podsource.OpRemove}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				close(b.complete)
				pod := podOf("web", "u1")
				b.afterClean = func() {
					b.afterClean = nil
					for _, op := range c.ops {
						b.Config(t.Context(), podsource.Update{Op: op, Source: "file", Pods: []*v1.Pod{pod}})
					}
				}
				b.send(podsource.OpAdd, pod)
				b.send(podsource.OpRemove, pod)
				b.Housekeep(t.Context())
				synctest.Wait()
				want := []string{"seen web", "started web", "terminating web", "gone web", "seen web"}
				if c.alive {
					want = append(want, "started web")
				} else {
					want = append(want, "terminating web", "gone web")
				}
				b.expect("milestones", want, milestones(b.rec))
				if known, working := b.cfg.Store.Known("u1"), b.workers.State("u1") != worker.None; known != c.alive || working != c.alive {
					t.Errorf("known %t, has a worker %t, want %t", known, working, c.alive)
				}
				b.stop()
			})
		})
	}
}

// A pod that a source has again while it is terminated as an unknown one is added when that is gone: what ends it would otherwise remove the
// pod's mirror pod and status, too.
func TestOrphanReturns(t *testing.T) {
	for _, c := range []struct {
		name string
		ops  []podsource.Op
		want []string
	}{
		{"added", []podsource.Op{podsource.OpAdd}, []string{"terminating web adopted", "gone web", "seen web", "started web"}},
		{"added and changed", []podsource.Op{podsource.OpAdd, podsource.OpUpdate}, []string{"terminating web adopted", "gone web", "seen web", "started web"}},
		{"added and removed", []podsource.Op{podsource.OpAdd, podsource.OpRemove}, []string{"terminating web adopted", "gone web"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				close(b.complete)
				mirrors := &mirrorsNoted{}
				b.Manager.cfg.Mirrors, b.syncer.cfg.Mirrors = mirrors, mirrors
				tidy := make(chan struct{}, 1)
				b.Manager.cfg.Tidy = func() {
					select {
					case tidy <- struct{}{}:
					default:
					}
				}
				asked := func() {
					for range 10 {
						pass(time.Second)
						select {
						case <-tidy:
							b.Housekeep(t.Context())
						default:
						}
					}
				}
				b.rt.kill = func(context.Context, *v1.Pod) error { time.Sleep(5 * time.Second); return nil }
				b.seen.run("web", "u1", "running")
				b.Housekeep(t.Context())
				pod := podOf("web", "u1", func(p *v1.Pod) { p.Annotations = map[string]string{podspec.AnnotationSource: podspec.SourceFile} })
				for _, op := range c.ops {
					pass(time.Second)
					b.send(op, pod)
				}
				b.expect("milestones while it goes", []string{"terminating web adopted"}, milestones(b.rec))
				b.seen.forget("u1")
				asked()
				b.expect("milestones", c.want, milestones(b.rec))
				b.Housekeep(t.Context())
				if lives := len(c.want) > 2; b.Manager.cfg.Store.Known("u1") != lives || slices.Contains(mirrors.have, "u1") != lives || len(b.delayed.pods)+len(b.delayed.orphans) > 0 {
					t.Errorf("it lives: %t; known %t, mirrors of %v, delayed %+v", lives, b.Manager.cfg.Store.Known("u1"), mirrors.have, b.delayed)
				}
				b.stop()
			})
		})
	}
}

// An unknown pod is terminated without a milestone "seen": it was found running.
func TestOrphanEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		close(b.complete)
		b.seen.run("stray", "u9", "running")
		b.Housekeep(t.Context())
		pass(time.Second)
		b.expect("calls", []string{"kill stray grace=1, no source has it", "clean stray remove=true", "forget u9"}, b.rt.took())
		b.Housekeep(t.Context())
		pass(time.Second)
		b.expect("calls of the next pass", nil, b.rt.took())
		b.expect("milestones", []string{"terminating stray adopted", "gone stray"}, milestones(b.rec))
		b.stop()
	})
}
