package pods

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	if all := s.Active(); len(all) != 1 || all[0].UID != "u1" {
		t.Errorf("active: %v", all)
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
