package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// Those who watch pods learn of each change, and can read the pods.
func TestStoreTells(t *testing.T) {
	var told []types.UID
	s := NewStore(func(uid types.UID) { told = append(told, uid) })
	s.put(podOf("a", "u1"), time.Now())
	s.put(podOf("b", "u2"), time.Now())
	s.put(podOf("a", "u1", hostPort(80)), time.Now())
	s.with("u2", func(e *entry) { e.status.Phase = v1.PodFailed })
	if p := s.Copy("u2"); p == nil || p.Name != "b" || p.Status.Phase != v1.PodFailed {
		t.Errorf("%+v", p)
	}
	s.drop("u1")
	s.retire("u2", func(*entry, *entry) {})
	if s.Copy("u1") != nil || s.Copy("u2") != nil {
		t.Error("pods that are gone are there")
	}
	if d := cmp.Diff([]types.UID{"u1", "u2", "u1", "u1", "u2"}, told); d != "" {
		t.Error(d)
	}
}

// A pod that has failed is active while it terminates, and one that is cleaned is not, whatever its phase is.
func TestStoreActive(t *testing.T) {
	for _, tc := range []struct {
		phase  v1.PodPhase
		worker worker.State
		want   bool
	}{
		{v1.PodPending, worker.None, true}, // not admitted yet
		{v1.PodFailed, worker.None, false}, // rejected
		{v1.PodRunning, worker.Syncing, true},
		{v1.PodFailed, worker.Syncing, true},
		{v1.PodRunning, worker.Terminating, true},
		{v1.PodFailed, worker.Terminating, true},
		{v1.PodSucceeded, worker.Terminating, true},
		{v1.PodRunning, worker.Terminated, false},
		{v1.PodFailed, worker.Terminated, false},
		{v1.PodFailed, worker.Gone, false},
	} {
		s := NewStore()
		s.put(podOf("a", "u1"), time.Now())
		s.with("u1", func(e *entry) { e.status.Phase = tc.phase })
		all := s.Active(func(types.UID) worker.State { return tc.worker })
		if got := len(all) == 1; got != tc.want {
			t.Errorf("phase %s, worker %s: active %v, want %v", tc.phase, tc.worker, got, tc.want)
		}
	}
}

// What other components than a kubelet write into a pod's status is in what local readers get.
func TestStoreHasForeignStatus(t *testing.T) {
	s := NewStore(func(types.UID) {})
	p := podOf("a", "u1")
	p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("a-gpu-x")}}
	p.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "a-extended-x"}
	p.Status.VolumeHealth = []v1.PodVolumeHealth{{Name: "data"}}
	s.put(p, time.Now())
	s.with("u1", func(e *entry) { e.status.Phase = v1.PodFailed })
	all := s.Pods()
	if len(all) != 1 || len(s.Everyone()) != 1 {
		t.Fatal(all)
	}
	for _, got := range []*v1.Pod{&all[0], s.Copy("u1"), s.Pod(p.Namespace, "a")} {
		st := got.Status
		if st.Phase != v1.PodFailed || len(st.ResourceClaimStatuses) != 1 || *st.ResourceClaimStatuses[0].ResourceClaimName != "a-gpu-x" || st.ExtendedResourceClaimStatus == nil || len(st.VolumeHealth) != 1 {
			t.Errorf("%+v", st)
		}
	}
}

// Of two pods of the same name, a request is about the new one: the other one was deleted by force, or its manifest has changed, and it still
// terminates.
func TestStoreOfOneName(t *testing.T) {
	removed := func(e *entry) { e.ended, e.removed = time.Now(), true }
	phase := func(p v1.PodPhase) func(*entry) { return func(e *entry) { e.status.Phase = p } }
	for name, c := range map[string]struct {
		first, second []func(*entry)
		want          types.UID
	}{
		"the first still runs":            {[]func(*entry){phase(v1.PodRunning), removed}, []func(*entry){phase(v1.PodPending)}, "u2"},
		"the second was rejected":         {[]func(*entry){phase(v1.PodRunning), removed}, []func(*entry){phase(v1.PodFailed)}, "u2"},
		"the first is not removed yet":    {[]func(*entry){phase(v1.PodRunning)}, []func(*entry){phase(v1.PodPending)}, "u2"},
		"the first has ended":             {[]func(*entry){phase(v1.PodSucceeded)}, []func(*entry){phase(v1.PodRunning)}, "u2"},
		"the second was removed":          {[]func(*entry){phase(v1.PodRunning)}, []func(*entry){phase(v1.PodRunning), removed}, "u1"},
		"the second has ended, not first": {[]func(*entry){phase(v1.PodRunning)}, []func(*entry){phase(v1.PodFailed)}, "u1"},
	} {
		s, now := NewStore(), time.Now()
		s.put(podOf("a", "u1"), now)
		s.put(podOf("a", "u2"), now.Add(time.Second))
		for uid, edits := range map[types.UID][]func(*entry){"u1": c.first, "u2": c.second} {
			for _, edit := range edits {
				s.with(uid, edit)
			}
		}
		for range 50 { // a map has no order
			if got := s.Pod("default", "a"); got.UID != c.want {
				t.Errorf("%s: %s, want %s", name, got.UID, c.want)
				break
			}
		}
		for state, want := range map[worker.State]types.UID{worker.Syncing: c.want, worker.Terminated: ""} {
			var got types.UID
			if p := s.ActiveNamed("default", "a", func(types.UID) worker.State { return state }); p != nil {
				got = p.UID
			}
			if got != want {
				t.Errorf("%s, workers %s: %q is active, want %q", name, state, got, want)
			}
		}
	}
}
