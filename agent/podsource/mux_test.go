package podsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func aPod(name, uid string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid)}}
	for _, f := range change {
		f(p)
	}
	return p
}

// describe returns an update as text: OP source name/uid ...
func describe(u Update) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", u.Op, u.Source)
	for _, p := range u.Pods {
		fmt.Fprintf(&b, " %s/%s", p.Name, p.UID)
	}
	if u.AllSources {
		b.WriteString(" all")
	}
	return b.String()
}

func TestMerge(t *testing.T) {
	image := func(p *v1.Pod) { p.Spec.Containers = []v1.Container{{Image: "other"}} }
	running := func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }
	deleted := func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)} }
	hurried := func(p *v1.Pod) { p.DeletionGracePeriodSeconds = new(int64(0)) }
	version := func(p *v1.Pod) { p.ResourceVersion, p.Generation = "8", 3 }
	labelled := func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }
	memory := func(q string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"memory": resource.MustParse(q)}}}}
		}
	}
	annotated := func(k string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Annotations = map[string]string{k: "x"} }
	}
	cases := []struct {
		name      string
		old, next []*v1.Pod
		want      []string
	}{
		{"nothing", nil, nil, nil},
		{"new", nil, []*v1.Pod{aPod("a", "1"), aPod("b", "2")}, []string{"ADD  a/1 b/2"}},
		{"same", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "1")}, nil},
		{"gone", []*v1.Pod{aPod("b", "2"), aPod("a", "1")}, nil, []string{"REMOVE  a/1 b/2"}},
		{"edited static pod has a new UID", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "2", image)}, []string{"REMOVE  a/1", "ADD  a/2"}},
		{"changed spec", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "1", image)}, []string{"UPDATE  a/1"}},
		{"changed annotation", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "1", annotated("app"))}, []string{"UPDATE  a/1"}},
		{"removed annotation", []*v1.Pod{aPod("a", "1", annotated("app"))}, []*v1.Pod{aPod("a", "1")}, []string{"UPDATE  a/1"}},
		{"the agent's own annotation", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "1", annotated(podspec.AnnotationMirror))}, nil},
		{"status", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "1", running)}, []string{"RECONCILE  a/1"}},
		{"version", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "1", version)}, []string{"RECONCILE  a/1"}},
		{"less grace", []*v1.Pod{aPod("a", "1", deleted)}, []*v1.Pod{aPod("a", "1", deleted, hurried)}, []string{"DELETE  a/1"}},
		{"label", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "1", labelled, running)}, []string{"UPDATE  a/1"}},
		{"quantity spelt otherwise", []*v1.Pod{aPod("a", "1", memory("1024Mi"))}, []*v1.Pod{aPod("a", "1", memory("1Gi"))}, nil},
		{"resize", []*v1.Pod{aPod("a", "1", memory("1Gi"))}, []*v1.Pod{aPod("a", "1", memory("2Gi"))}, []string{"UPDATE  a/1"}},
		{"deletion", []*v1.Pod{aPod("a", "1")}, []*v1.Pod{aPod("a", "1", deleted)}, []string{"DELETE  a/1"}},
		{"still being deleted", []*v1.Pod{aPod("a", "1", deleted)}, []*v1.Pod{aPod("a", "1", deleted, running)}, []string{"RECONCILE  a/1"}},
		{"duplicate name", nil, []*v1.Pod{aPod("a", "1"), aPod("a", "2")}, []string{"ADD  a/1", "duplicate a/2"}},
		{"duplicate UID", nil, []*v1.Pod{aPod("a", "1"), aPod("b", "1")}, []string{"ADD  a/1", "duplicate b/1"}},
		{
			"all at once",
			[]*v1.Pod{aPod("a", "1"), aPod("b", "2"), aPod("c", "3"), aPod("d", "4")},
			[]*v1.Pod{aPod("e", "5"), aPod("b", "2", image), aPod("c", "3", deleted), aPod("d", "4", running)},
			[]string{"REMOVE  a/1", "ADD  e/5", "UPDATE  b/2", "DELETE  c/3", "RECONCILE  d/4"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			old, _ := merge(nil, "s", c.old, time.Unix(1, 0))
			next, d := merge(old, "s", c.next, time.Unix(2, 0))
			var got []string
			for _, u := range d.updates() {
				got = append(got, describe(u))
			}
			for _, p := range d.duplicates {
				got = append(got, fmt.Sprintf("duplicate %s/%s", p.Name, p.UID))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for uid, e := range next {
				want := time.Unix(2, 0)
				if _, known := old[uid]; known {
					want = time.Unix(1, 0)
				}
				if a := e.pod.Annotations; a[podspec.AnnotationSource] != "s" || a[podspec.AnnotationSeen] != want.Format(time.RFC3339Nano) {
					t.Errorf("%s: annotations %v, want seen at %s", uid, a, want)
				}
				if e.given.Annotations[podspec.AnnotationSource] != "" {
					t.Errorf("%s: the source's own pod was changed", uid)
				}
			}
		})
	}
}

// run starts the mux and returns a function that receives the next update.
func run(t *testing.T, m *Mux) func() Update {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return func() Update {
		t.Helper()
		select {
		case u := <-m.Updates():
			return u
		case <-time.After(time.Minute):
			t.Fatal("no update within a minute")
			return Update{}
		}
	}
}

func TestMux(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		a, b := NewMemory("a", rec.Bus()), NewMemory("b", rec.Bus())
		m, err := New(Config{Sources: []Source{a, b}, Bus: rec.Bus()})
		if err != nil {
			t.Fatal(err)
		}
		next := run(t, m)
		a.Set(aPod("x", "1"), aPod("x", "dup"))
		first := next()
		a.Set(aPod("x", "2"))
		var got []string
		got = append(got, describe(first), describe(next()), describe(next()))
		b.Set()
		got = append(got, describe(next()))
		b.Set(aPod("x", "3"))
		got = append(got, describe(next()))
		want := []string{"ADD a x/1", "REMOVE a x/1", "ADD a x/2", "ADD b all", "ADD b x/3 all"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("updates (-want +got):\n%s", d)
		}
		synctest.Wait()

		var events []string
		for _, r := range rec.Records() {
			switch e := r.Event.(type) {
			case *trace.Source:
				if e.Op != trace.OpSet {
					events = append(events, string(e.Op)+" "+r.Pod.String())
					if r.Parent == 0 || r.Trace.IsZero() {
						t.Errorf("%s has no cause", e.Op)
					}
				}
			case *trace.SourceError:
				events = append(events, "error "+r.Pod.UID)
			}
		}
		wantEvents := []string{"error dup", "ADD default/x", "REMOVE default/x", "ADD default/x", "ADD default/x"}
		if d := cmp.Diff(wantEvents, events); d != "" {
			t.Errorf("events (-want +got):\n%s", d)
		}
		if set := rec.Records()[0]; first.Span.ID != set.Span || set.Span == 0 {
			t.Errorf("update's span %v is not the SET's %v", first.Span.ID, set.Span)
		}
	})
}

func TestMuxOwnership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewMemory("a", nil)
		m, err := New(Config{Sources: []Source{a}})
		if err != nil {
			t.Fatal(err)
		}
		next := run(t, m)
		given := aPod("x", "1")
		a.Set(given)
		next().Pods[0].Spec.NodeName = "scribbled by the receiver"
		changed := given.DeepCopy()
		changed.Spec.Hostname = "h"
		a.Set(changed)
		if p := next().Pods[0]; p.Spec.NodeName != "" || p.Spec.Hostname != "h" {
			t.Errorf("the receiver's changes came back: %+v", p.Spec)
		}
	})
}

type failing struct{ error }

func (failing) Name() string { return "failing" }

func (f failing) Run(context.Context, func(Set)) error { return f.error }

func TestMuxErrors(t *testing.T) {
	broken := errors.New("broken")
	m, err := New(Config{Sources: []Source{NewMemory("a", nil), failing{broken}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "pod source failing") {
		t.Errorf("Run = %v", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a mux without sources was made")
	}
	if _, err := New(Config{Sources: []Source{NewMemory("a", nil), NewMemory("a", nil)}}); err == nil {
		t.Error("two sources have one name")
	}
}
