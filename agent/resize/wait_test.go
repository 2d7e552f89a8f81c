package resize

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func named(name, cpu string, priority int32, guaranteed bool) *v1.Pod {
	p := podWith(cpu, 1)
	p.Name, p.UID, p.Spec.Priority = name, types.UID(name), &priority
	if r := &p.Spec.Containers[0].Resources; guaranteed {
		r.Requests[v1.ResourceMemory] = resource.MustParse("1Gi")
		r.Limits = r.Requests.DeepCopy()
	}
	return p
}

// Free resources go to the pods that request no more than they have, then by priority, then to guaranteed pods, then to those that wait longest.
// A pod about which nobody has decided waits since now.
func TestWaitingOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := "OutOfcpu"
		m, err := New(Config{Dir: t.TempDir(), Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Reason: reason, Message: "no room"} }})
		if err != nil {
			t.Fatal(err)
		}
		var pods []*v1.Pod
		for _, c := range []struct {
			name, has, wants string
			priority         int32
			guaranteed       bool
		}{
			{"late", "1", "2", 0, false},
			{"late-guaranteed", "1", "2", 0, true},
			{"early", "1", "2", -1, false},
			{"early-too", "1", "2", -1, false},
			{"important", "1", "2", 1000, false},
			{"smaller", "2", "1", -5, false},
		} {
			m.Add(named(c.name, c.has, c.priority, c.guaranteed))
			want := named(c.name, c.wants, c.priority, c.guaranteed)
			m.Update(t.Context(), want, nil, trace.ResizeForUpdated)
			pods = append([]*v1.Pod{want}, pods...)
			time.Sleep(2 * time.Second)
		}
		m.Add(named("content", "1", 0, false))
		pods = append(pods, named("content", "1", 0, false))
		m.Add(named("undecided", "1", -1, false))
		undecided := named("undecided", "2", -1, false)
		m.Add(undecided)
		pods = append([]*v1.Pod{undecided}, pods...)
		check := func(want string) {
			t.Helper()
			var got []string
			for _, p := range m.Waiting(pods) {
				got = append(got, p.Name)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		check("smaller important late-guaranteed late early early-too undecided")
		reason = v1.PodReasonInfeasible
		m.Update(t.Context(), undecided, nil, trace.ResizeForAdded)
		check("smaller important late-guaranteed late early early-too")
	})
}

// A pod that waited when another agent stopped has waited since then.
func TestWaitsAcrossRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, room, dir := tracetest.New(t), false, t.TempDir()
		cfg := Config{Dir: dir, Bus: rec.Bus(), Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: room, Reason: "OutOfcpu", Message: "no room"} }}
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		wants := named("a", "2", 0, false)
		m.Add(named("a", "1", 0, false))
		m.Update(t.Context(), wants, nil, trace.ResizeForUpdated)
		wants.Status.Conditions = m.Conditions("a")
		if err := m.saveAdded(); err != nil {
			t.Fatal(err)
		}
		if m, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		m.Add(wants)
		if !waits(m, wants) {
			t.Error("it does not wait")
		}
		room = true
		m.Update(t.Context(), wants, nil, trace.ResizeForAdded)
		got := tracetest.Events[trace.Resize](rec)
		if len(got) != 1 || got[0] != (trace.Resize{Op: trace.ResizeWaited, End: trace.ResizeAccepted, Trigger: trace.ResizeForAdded, Priority: "normal", Took: time.Minute}) {
			t.Errorf("%+v", got)
		}
	})
}

// What is requested, how long a pod waited and how that ended, and how long its cgroups took to change is reported once.
func TestReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, room, reason := tracetest.New(t), false, "OutOfcpu"
		m, err := New(Config{Dir: t.TempDir(), Bus: rec.Bus(), Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: room, Reason: reason, Message: "no room"} }})
		if err != nil {
			t.Fatal(err)
		}
		has, wants := named("a", "1", 0, false), named("a", "2", 0, true)
		m.Add(has)
		m.Requested(t.Context(), has, wants)
		m.Update(t.Context(), wants, nil, trace.ResizeForUpdated)
		time.Sleep(3 * time.Second)
		m.Update(t.Context(), wants, nil, trace.ResizeForTerminated)
		room = true
		m.Update(t.Context(), wants, nil, trace.ResizeForRemoved)
		m.Begin("a")
		time.Sleep(time.Second)
		m.Failed(t.Context(), wants, "no")
		m.Failed(t.Context(), wants, "no")
		m.Begin("a")
		m.Done(t.Context(), wants)
		m.Done(t.Context(), wants)
		room = false
		m.Requested(t.Context(), wants, has)
		m.Update(t.Context(), has, nil, trace.ResizeForUpdated)
		m.Update(t.Context(), wants, nil, trace.ResizeForUpdated)
		for _, uid := range []types.UID{"b", "c"} {
			m.Add(named(string(uid), "1", 5, false))
			m.Update(t.Context(), named(string(uid), "2", 5, false), nil, trace.ResizeForUpdated)
		}
		reason = v1.PodReasonInfeasible
		m.Update(t.Context(), named("c", "3", 5, false), nil, trace.ResizeForUpdated)
		m.Forget("b")
		m.Forget("c")
		want := []trace.Resize{
			{Op: trace.ResizeRequested, Container: "c", Resource: "cpu", Bound: "requests", Change: trace.ResizeIncrease},
			{Op: trace.ResizeRequested, Container: "c", Resource: "cpu", Bound: "limits", Change: trace.ResizeAdd},
			{Op: trace.ResizeRequested, Container: "c", Resource: "memory", Bound: "requests", Change: trace.ResizeAdd},
			{Op: trace.ResizeRequested, Container: "c", Resource: "memory", Bound: "limits", Change: trace.ResizeAdd},
			{Op: trace.ResizeWaited, End: trace.ResizeAccepted, Trigger: trace.ResizeForRemoved, Priority: "normal", Took: 3 * time.Second},
			{Op: trace.ResizeActuated, Took: time.Second, Failed: true},
			{Op: trace.ResizeActuated},
			{Op: trace.ResizeRequested, Container: "c", Resource: "cpu", Bound: "requests", Change: trace.ResizeDecrease},
			{Op: trace.ResizeRequested, Container: "c", Resource: "cpu", Bound: "limits", Change: trace.ResizeRemove},
			{Op: trace.ResizeRequested, Container: "c", Resource: "memory", Bound: "requests", Change: trace.ResizeRemove},
			{Op: trace.ResizeRequested, Container: "c", Resource: "memory", Bound: "limits", Change: trace.ResizeRemove},
			{Op: trace.ResizeWaited, End: trace.ResizeReverted, Priority: "normal"},
			{Op: trace.ResizeWaited, End: trace.ResizeHopeless, Priority: "medium"},
			{Op: trace.ResizeWaited, End: trace.ResizeTerminated, Priority: "unknown"},
		}
		got := tracetest.Events[trace.Resize](rec)
		for i, e := range got {
			if i >= len(want) || e != want[i] {
				t.Errorf("%d: %+v", i, e)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d events, want %d", len(got), len(want))
		}
	})
}
