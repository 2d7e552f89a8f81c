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
