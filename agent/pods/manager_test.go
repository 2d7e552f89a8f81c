package pods

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/worker"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// desk is a Manager with fakes.
type desk struct {
	*Manager
	t       *testing.T
	rec     *tracetest.Recorder
	workers *fakeWorkers
	seen    fakeSeen
	tidied  int
	cleaned func(known func(types.UID) bool) ([]string, error)
}

func newDesk(t *testing.T, maxPods int) *desk {
	t.Helper()
	d := &desk{t: t, rec: tracetest.New(t), workers: &fakeWorkers{states: map[types.UID]worker.State{}}, seen: fakeSeen{}}
	m, err := New(Config{
		Workers: d.workers, Seen: d.seen, Store: NewStore(), MaxPods: maxPods, Bus: d.rec.Bus(),
		Tidy: func() { d.tidied++ }, Orphans: []Orphans{d},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Manager = m
	t.Cleanup(func() {
		for _, pod := range m.cfg.Store.Everyone() {
			m.cfg.Store.with(pod.UID, func(e *entry) { e.kill.stop() })
		}
	})
	return d
}

// Clean implements Orphans.
func (d *desk) Clean(_ context.Context, known func(types.UID) bool) ([]string, error) {
	if d.cleaned == nil {
		return nil, nil
	}
	return d.cleaned(known)
}

func (d *desk) send(op podsource.Op, pods ...*v1.Pod) {
	d.Config(d.t.Context(), podsource.Update{Op: op, Source: "file", Pods: pods})
}

func (d *desk) allSources() {
	d.Config(d.t.Context(), podsource.Update{Op: podsource.OpAdd, AllSources: true})
}

func (d *desk) asked(want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.workers.took()); diff != "" {
		d.t.Errorf("asked of the workers (-want +got):\n%s", diff)
	}
}

func (d *desk) decided(want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, decisions(d.rec)); diff != "" {
		d.t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func TestOperations(t *testing.T) {
	d := newDesk(t, 0)
	pod := podOf("web", "u1")
	d.send(podsource.OpAdd, pod)
	d.asked("u1: ADD")
	d.decided("admission default/web: admit, all checks passed")
	newer := podOf("web", "u1", func(p *v1.Pod) { p.Labels = map[string]string{"new": "yes"} })
	d.send(podsource.OpUpdate, newer)
	d.asked("u1: UPDATE")
	if got := d.cfg.Store.Pods(); len(got) != 1 || got[0].Labels["new"] != "yes" {
		t.Errorf("the store has %+v, want the newer pod", got)
	}
	d.send(podsource.OpReconcile, newer)
	d.asked() // a status, usually written by this agent
	gated := podOf("web", "u1", func(p *v1.Pod) { p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/up"}} })
	d.send(podsource.OpReconcile, gated)
	d.asked("u1: wake RECONCILE retry=false known=true")
	d.send(podsource.OpReconcile, newer)
	claimed := podOf("web", "u1", func(p *v1.Pod) {
		p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("web-gpu")}}
	})
	d.send(podsource.OpReconcile, claimed) // a controller made its claim
	d.send(podsource.OpReconcile, claimed)
	d.asked("u1: wake RECONCILE retry=false known=true")
	if got := d.cfg.Store.Newest("u1"); got == nil || len(got.Status.ResourceClaimStatuses) != 1 || d.cfg.Store.Newest("none") != nil {
		t.Errorf("newest %+v", got)
	}
	d.send(podsource.OpDelete, podOf("web", "u1", func(p *v1.Pod) { p.DeletionGracePeriodSeconds = new(int64(5)) }))
	d.asked("u1: DELETE end grace=5, deleted")
	d.send(podsource.OpRemove, newer)
	d.asked("u1: REMOVE end remove, removed from its source")
	if diff := cmp.Diff([]string{"seen web"}, milestones(d.rec)); diff != "" {
		t.Errorf("milestones (-want +got):\n%s", diff)
	}
}

func TestSyncAndLifecycleWake(t *testing.T) {
	d := newDesk(t, 0)
	d.send(podsource.OpAdd, podOf("web", "u1"))
	d.allSources()
	d.workers.took()
	d.tidied = 0
	d.Sync(t.Context(), "u1")
	d.Lifecycle(t.Context(), pleg.Event{UID: "u1", Type: pleg.ContainerDied})
	d.asked("u1: wake due retry=true known=true", "u1: wake ContainerDied retry=false known=true")
	if d.tidied != 0 {
		t.Errorf("housekeeping was asked for %d times because of a known pod", d.tidied)
	}
}

// Housekeeping handles events of unknown pods, when all sources have reported.
func TestLifecycleOfAStranger(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources bool
		states  []string
		event   pleg.Type
		want    int
	}{
		{"it runs", true, []string{"running"}, pleg.ContainerStarted, 1},
		{"it does not run", true, []string{"exited"}, pleg.ContainerDied, 0},
		{"something of it was removed", true, []string{"running"}, pleg.ContainerRemoved, 0},
		{"too early", false, []string{"running"}, pleg.ContainerStarted, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, 0)
			if c.sources {
				close(d.complete)
			}
			d.seen.run("stray", "u9", c.states...)
			d.Lifecycle(t.Context(), pleg.Event{UID: "u9", Type: c.event})
			if d.tidied != c.want {
				t.Errorf("housekeeping was asked for %d times, want %d", d.tidied, c.want)
			}
		})
	}
}

func TestAdmission(t *testing.T) {
	over := func(d *desk, uid types.UID, phase v1.PodPhase) {
		d.cfg.Store.with(uid, func(e *entry) { e.status.Phase = phase })
	}
	ended := podOf("a", "u1", func(p *v1.Pod) {
		p.Annotations = map[string]string{podspec.AnnotationSource: podspec.SourceAPI}
		p.Status.Phase = v1.PodSucceeded
	})
	for _, c := range []struct {
		name string
		max  int
		prep func(d *desk)
		pod  *v1.Pod
		want string
	}{
		{"room for one", 2, func(d *desk) { d.send(podsource.OpAdd, podOf("a", "u1")) }, podOf("web", "u2"), ""},
		{"no room", 1, func(d *desk) { d.send(podsource.OpAdd, podOf("a", "u1")) }, podOf("web", "u2"), "OutOfpods"},
		{"one that is over takes no room", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"))
			over(d, "u1", v1.PodSucceeded)
		}, podOf("web", "u2"), ""},
		{"a rejected one takes no room", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: "plan9"} }))
		}, podOf("web", "u2"), ""},
		{"one that terminates takes room", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"))
			d.send(podsource.OpDelete, podOf("a", "u1"))
		}, podOf("web", "u2"), "OutOfpods"},
		{"so does its port", 0, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1", hostPort(80)))
			d.send(podsource.OpDelete, podOf("a", "u1", hostPort(80)))
		}, podOf("web", "u2", hostPort(80)), "NodePorts"},
		{"one that has failed and still terminates takes room", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"))
			over(d, "u1", v1.PodFailed)
			d.workers.states["u1"] = worker.Terminating
		}, podOf("web", "u2"), "OutOfpods"},
		{"one that has terminated takes no room", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"))
			d.send(podsource.OpDelete, podOf("a", "u1"))
			d.workers.states["u1"] = worker.Terminated
		}, podOf("web", "u2"), ""},
		{"one that had ended before the agent started takes no room", 1, func(d *desk) { d.send(podsource.OpAdd, ended) }, podOf("web", "u2"), ""},
		{"unless something of it runs", 1, func(d *desk) {
			d.seen.run("a", "u1", "running")
			d.send(podsource.OpAdd, ended)
		}, podOf("web", "u2", fromAPI), "OutOfpods"},
		{"a preempted one takes no room", 2, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"), podOf("b", "u3", fromAPI), podOf("critical", "u4"))
			d.send(podsource.OpRemove, podOf("a", "u1"))
		}, podOf("web", "u2", fromAPI), ""},
		{"one that goes takes no room", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"))
			d.send(podsource.OpRemove, podOf("a", "u1"))
		}, podOf("web", "u2"), ""},
		{"one that goes and comes again takes room", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"))
			d.send(podsource.OpRemove, podOf("a", "u1"))
			d.send(podsource.OpAdd, podOf("a", "u1"))
		}, podOf("web", "u2"), "OutOfpods"},
		{"a host port is taken", 0, func(d *desk) { d.send(podsource.OpAdd, podOf("a", "u1", hostPort(80))) }, podOf("web", "u2", hostPort(80)), "NodePorts"},
		{"another system", 0, func(*desk) {}, podOf("web", "u2", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: "plan9"} }), "PodOSNotSupported"},
		{"no room, but it runs already", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"))
			d.seen.run("web", "u2", "running")
		}, podOf("web", "u2"), ""},
		{"no room, and what it was is dead", 1, func(d *desk) {
			d.send(podsource.OpAdd, podOf("a", "u1"))
			d.seen.run("web", "u2", "exited")
		}, podOf("web", "u2"), "OutOfpods"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, c.max)
			c.prep(d)
			d.workers.took()
			d.send(podsource.OpAdd, c.pod)
			verdicts := decisions(d.rec)
			last := verdicts[len(verdicts)-1]
			if c.want == "" {
				d.asked("u2: ADD")
				if !strings.HasPrefix(last, "admission default/web: admit, ") {
					t.Errorf("decided %q", last)
				}
				return
			}
			d.asked()
			if !strings.HasPrefix(last, "admission default/web: reject, "+c.want+": ") {
				t.Errorf("decided %q, want rejected with %s", last, c.want)
			}
			for _, p := range d.cfg.Store.Pods() {
				if p.UID == "u2" && (p.Status.Phase != v1.PodFailed || p.Status.Reason != c.want || p.Status.StartTime == nil) {
					t.Errorf("its status is %+v", p.Status)
				}
			}
			said := tracetest.Events[trace.PodStatus](d.rec)
			if s := said[len(said)-1]; s.Phase != trace.PodFailed || s.Reason != c.want || !strings.HasPrefix(s.Message, "Pod was rejected: ") {
				t.Errorf("published status %+v", s)
			}
			events := tracetest.Events[trace.NodeEvent](d.rec)
			if e := events[len(events)-1]; e.Type != trace.EventWarning || e.Reason != c.want {
				t.Errorf("published event %+v", e)
			}
		})
	}
}

// A rejected pod has no worker. It stays failed until its source removes it, and may be added again.
func TestRejectedPod(t *testing.T) {
	d := newDesk(t, 0)
	bad := podOf("web", "u1", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: "plan9"} })
	d.send(podsource.OpAdd, bad)
	d.send(podsource.OpAdd, bad)
	d.send(podsource.OpUpdate, bad)
	d.send(podsource.OpDelete, bad)
	d.asked()
	d.allSources()
	d.Housekeep(t.Context())
	if !d.cfg.Store.Known("u1") {
		t.Fatal("it is forgotten while its source has it")
	}
	d.send(podsource.OpRemove, bad)
	d.asked()
	if d.cfg.Store.Known("u1") {
		t.Error("it is known after its source dropped it")
	}
	d.send(podsource.OpAdd, bad)
	d.asked()
	if diff := cmp.Diff([]string{"seen web", "gone web", "seen web"}, milestones(d.rec)); diff != "" {
		t.Errorf("milestones (-want +got):\n%s", diff)
	}
}

func TestAdoption(t *testing.T) {
	d := newDesk(t, 0)
	d.seen.run("web", "u1", "running")
	d.send(podsource.OpAdd, podOf("web", "u1"))
	d.asked("u1: ADD")
	d.decided("admission default/web: admit, its containers run already: it is adopted")
	if diff := cmp.Diff([]string{"seen web adopted"}, milestones(d.rec)); diff != "" {
		t.Errorf("milestones (-want +got):\n%s", diff)
	}
}

// If a static pod's manifest changed while no agent ran, the running version is terminated. Pods of other names, known
// pods and pods of the API server are not.
func TestReplaceOfAnEarlierVersion(t *testing.T) {
	t.Run("static", func(t *testing.T) {
		d := newDesk(t, 0)
		d.seen.run("web", "old", "running")
		d.seen.run("db", "other", "running")
		d.send(podsource.OpAdd, podOf("web", "new"))
		d.asked("old: housekeeping end grace=1 remove, its manifest has changed since", "new: ADD")
		d.decided("admission default/web: admit, all checks passed", "housekeeping default/web: remove, its manifest has changed since")
	})
	t.Run("known", func(t *testing.T) {
		d := newDesk(t, 0)
		d.seen.run("web", "old", "running")
		d.send(podsource.OpAdd, podOf("web", "old"))
		d.send(podsource.OpRemove, podOf("web", "old"))
		d.workers.took()
		d.send(podsource.OpAdd, podOf("web", "new"))
		d.asked("new: ADD")
	})
	t.Run("of the API server", func(t *testing.T) {
		d := newDesk(t, 0)
		d.seen.run("web", "old", "running")
		d.send(podsource.OpAdd, podOf("web", "new", func(p *v1.Pod) { p.Annotations["kubernetes.io/config.source"] = "api" }))
		d.asked("new: ADD")
	})
}

func TestHousekeepingWaitsForAllSources(t *testing.T) {
	d := newDesk(t, 0)
	d.cleaned = func(func(types.UID) bool) ([]string, error) {
		t.Error("orphans are cleaned before every source has reported")
		return nil, nil
	}
	d.seen.run("stray", "u9", "running")
	d.send(podsource.OpAdd, podOf("web", "u1"))
	d.workers.took()
	if got := d.Housekeep(t.Context()); got != "not every source has reported: nothing is removed" {
		t.Errorf("it says %q", got)
	}
	d.asked()
	d.cleaned = nil
	d.allSources()
	d.allSources()
	if d.tidied != 1 {
		t.Errorf("housekeeping was asked for %d times by the last source, want once", d.tidied)
	}
	if got := d.Housekeep(t.Context()); got != "ended default/stray" {
		t.Errorf("it says %q", got)
	}
	d.asked("u9: housekeeping end grace=1 remove, no source has it")
	if got := d.Housekeep(t.Context()); got != "" {
		t.Errorf("the second time it says %q", got)
	}
	d.asked()
	told := tracetest.Events[trace.Decision](d.rec)[1]
	if told.By != trace.ByHousekeeping || told.Verdict != trace.VerdictRemove {
		t.Errorf("decision %+v", told)
	}
	if diff := cmp.Diff([]trace.KV{{K: "containers", V: "1"}, {K: "active", V: "true"}}, told.Inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

// A pod that is gone stays in the cache until the runtime has reported its end. Meanwhile it is neither an orphan nor
// an earlier version of its successor.
func TestWhatWasSeenBeforeTheEndIsNoOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, 0)
		d.allSources()
		d.seen.run("web", "u1", "running")
		time.Sleep(time.Second)
		d.cfg.Store.retire("u1", func(*entry, *entry) {})
		d.Housekeep(t.Context())
		d.send(podsource.OpAdd, podOf("web", "u2"))
		d.asked("u2: ADD")
		time.Sleep(time.Second)
		d.seen.run("web", "u1", "running") // a call that timed out created it nevertheless
		d.Housekeep(t.Context())
		d.asked("u1: housekeeping end grace=1 remove, no source has it")
		d.seen.forget("u1")
		d.Housekeep(t.Context())
		if n := len(d.cfg.Store.gone); n != 0 {
			t.Errorf("%d ends are remembered of pods that nobody sees", n)
		}
	})
}

// The cleanup of one pod hangs. The syncLoop's handler does not, and other pods start. A pod that returns with the UID
// that is being cleaned starts when the cleanup is finished.
func TestHungCleaningStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		close(b.complete)
		hung := make(chan struct{})
		cleans := 0
		b.cfg.Orphans = []Orphans{cleanFunc(func(known func(types.UID) bool) {
			if cleans++; cleans > 1 {
				return
			}
			if known("u1") {
				t.Error("a pod is known that nobody knows")
			}
			<-hung
			if !known("u1") {
				t.Error("a pod is not known that came back meanwhile")
			}
		})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Manager.Run(ctx) }()
		b.Housekeep(t.Context())
		synctest.Wait()
		b.Housekeep(t.Context()) // returns: requested again, without waiting
		b.send(podsource.OpAdd, podOf("web", "u1"), podOf("db", "u2"))
		if diff := cmp.Diff([]string{"seen web", "seen db", "started db"}, milestones(b.rec)); diff != "" {
			t.Errorf("milestones while cleaning hangs (-want +got):\n%s", diff)
		}
		if waits := tracetest.Events[trace.Wait](b.rec); len(waits) != 1 || waits[0].For != trace.WaitLock || waits[0].Target.Kind != trace.TargetLeftovers {
			t.Errorf("waits while cleaning hangs: %+v", waits)
		}
		close(hung)
		pass(time.Second)
		if diff := cmp.Diff([]string{"seen web", "seen db", "started db", "started web"}, milestones(b.rec)); diff != "" {
			t.Errorf("milestones (-want +got):\n%s", diff)
		}
		if cleans != 2 {
			t.Errorf("cleaned %d times, asked for twice", cleans)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		b.stop()
	})
}

// cleanFunc implements Orphans.
type cleanFunc func(known func(types.UID) bool)

// Clean implements Orphans.
func (f cleanFunc) Clean(_ context.Context, known func(types.UID) bool) ([]string, error) {
	f(known)
	return nil, nil
}

// A terminating pod has a worker until it is gone. If it has none, housekeeping creates one.
func TestHousekeepingFinishesWhatEnds(t *testing.T) {
	d := newDesk(t, 0)
	d.allSources()
	d.send(podsource.OpAdd, podOf("web", "u1"), podOf("db", "u2"))
	d.send(podsource.OpRemove, podOf("web", "u1"))
	d.workers.took()
	d.Housekeep(t.Context())
	d.asked()
	delete(d.workers.states, "u1")
	delete(d.workers.states, "u2") // its termination was not requested
	if got := d.Housekeep(t.Context()); got != "ended default/web" {
		t.Errorf("it says %q", got)
	}
	d.asked("u1: housekeeping end remove, removed from its source")
}

func TestOrphanCleaners(t *testing.T) {
	d := newDesk(t, 0)
	d.send(podsource.OpAdd, podOf("web", "desired"))
	d.send(podsource.OpAdd, podOf("bad", "rejected", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: "plan9"} }))
	d.workers.states["ending"] = worker.Terminating
	d.seen.run("stray", "stray", "running")
	d.seen.run("dead", "dead", "exited")
	d.allSources()
	known := map[types.UID]bool{}
	d.cleaned = func(ask func(types.UID) bool) ([]string, error) {
		for _, uid := range []types.UID{"desired", "rejected", "ending", "stray", "dead", "unknown"} {
			known[uid] = ask(uid)
		}
		return []string{"directory of unknown"}, errors.New("cannot remove another")
	}
	d.Housekeep(t.Context())
	d.cleanOrphans(t.Context())
	want := map[types.UID]bool{"desired": true, "rejected": true, "ending": true, "stray": true, "dead": true, "unknown": false}
	if diff := cmp.Diff(want, known); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	logs := tracetest.Events[trace.Log](d.rec)
	if len(logs) != 1 || !strings.HasSuffix(logs[0].Message, "cannot remove another") {
		t.Errorf("logs %v", logs)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error for an empty Config")
	}
	if _, err := NewSyncer(SyncerConfig{}); err == nil {
		t.Error("no error for an empty SyncerConfig")
	}
}

// When a source drops a rejected pod, nothing of it is kept: no mirror pod, which would block the next static pod of
// that name, and no stored data.
func TestRejectedPodIsForgotten(t *testing.T) {
	d := newDesk(t, 0)
	m := &mirrorsNoted{}
	var forgotten []types.UID
	d.cfg.Mirrors, d.cfg.Forget = m, func(uid types.UID) { forgotten = append(forgotten, uid) }
	bad := podOf("web", "u1", func(p *v1.Pod) {
		p.Spec.OS = &v1.PodOS{Name: "plan9"}
		p.Annotations = map[string]string{podspec.AnnotationSource: podspec.SourceFile}
	})
	d.send(podsource.OpAdd, bad)
	if len(m.have) != 1 || len(forgotten) > 0 {
		t.Fatalf("mirrors of %v, forgotten %v, while the source has it", m.have, forgotten)
	}
	d.send(podsource.OpRemove, bad)
	if len(m.have) > 0 || len(forgotten) != 1 || forgotten[0] != "u1" {
		t.Errorf("mirrors of %v, forgotten %v, want none, and u1", m.have, forgotten)
	}
}

// mirrorsNoted are the static pods that should have mirror pods.
type mirrorsNoted struct{ have []types.UID }

func (m *mirrorsNoted) Add(p *v1.Pod) { m.have = append(m.have, p.UID) }
func (m *mirrorsNoted) Remove(uid types.UID) {
	m.have = slices.DeleteFunc(m.have, func(u types.UID) bool { return u == uid })
}
func (m *mirrorsNoted) Complete() {}

// TestDescribed: the fields of a spec in records.
func TestDescribed(t *testing.T) {
	some := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi")}
	for _, tt := range []struct {
		policy v1.RestartPolicy
		has    v1.ResourceRequirements
		want   trace.PodSpec
	}{
		{v1.RestartPolicyAlways, v1.ResourceRequirements{Limits: some, Requests: some}, trace.PodSpec{RestartPolicy: trace.RestartAlways, QoS: trace.QoSGuaranteed}},
		{v1.RestartPolicyOnFailure, v1.ResourceRequirements{Requests: some}, trace.PodSpec{RestartPolicy: trace.RestartOnFailure, QoS: trace.QoSBurstable}},
		{v1.RestartPolicyNever, v1.ResourceRequirements{}, trace.PodSpec{RestartPolicy: trace.RestartNever, QoS: trace.QoSBestEffort}},
	} {
		pod := podOf("web", "u1", func(p *v1.Pod) {
			p.Spec.RestartPolicy, p.Spec.Containers = tt.policy, []v1.Container{{Name: "web", Image: "web:1", Resources: tt.has}}
			p.Spec.InitContainers, p.Spec.Volumes = nil, nil
		})
		tt.want.Containers = []trace.ContainerSpec{{Name: "web", Image: "web:1", MemoryLimit: tt.has.Limits.Memory().Value()}}
		if diff := cmp.Diff(&tt.want, describe(pod)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.policy, diff)
		}
	}
}
