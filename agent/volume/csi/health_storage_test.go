package csi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func slow(reason, message string) storagev1.StorageHealthCondition {
	return storagev1.StorageHealthCondition{Status: storagev1.StorageDegraded, Reason: reason, Message: message}
}

func TestWithHealth(t *testing.T) {
	before, now := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	at := func(c storagev1.StorageHealthCondition, when metav1.Time) storagev1.StorageHealthCondition {
		c.LastTransitionTime = when
		return c
	}
	block := v1.PersistentVolumeBlock
	ofBlocks := slow("A", "")
	ofBlocks.VolumeMode = &block
	other := storagev1.StorageHealth{Name: "other", HealthConditions: []storagev1.StorageHealthCondition{slow("X", "")}}
	mine := func(list ...storagev1.StorageHealthCondition) storagev1.StorageHealth {
		return storagev1.StorageHealth{Name: "d", HealthConditions: list}
	}
	type list = []storagev1.StorageHealth
	type conditions = []storagev1.StorageHealthCondition
	for _, c := range []struct {
		name string
		all  list
		set  conditions
		want list // nil if nothing changes
	}{
		{"healthy as before", list{other}, nil, nil},
		{"the first", list{other}, conditions{slow("A", "")}, list{other, mine(at(slow("A", ""), now))}},
		{"another message", list{mine(at(slow("A", "old"), before)), other}, conditions{slow("A", "new")}, nil},
		{"another order", list{mine(slow("A", ""), slow("B", ""))}, conditions{slow("B", ""), slow("A", "")}, nil},
		{
			"one more",
			list{mine(at(slow("A", ""), before)), other},
			conditions{slow("B", ""), slow("A", "")},
			list{other, mine(at(slow("B", ""), now), at(slow("A", ""), before))},
		},
		{"one less", list{mine(at(slow("A", ""), before), at(slow("B", ""), before))}, conditions{slow("B", "")}, list{mine(at(slow("B", ""), before))}},
		{"of other volumes", list{mine(at(slow("A", ""), before))}, conditions{ofBlocks}, list{mine(at(ofBlocks, now))}},
		{"healthy again", list{mine(slow("A", "")), other}, nil, list{other}},
		{"upstream's, without times", list{mine(slow("A", ""))}, conditions{slow("A", "")}, nil},
	} {
		got, changed := withHealth(c.all, "d", c.set, now)
		if changed != (c.want != nil) {
			t.Errorf("%s: changed %v", c.name, changed)
		}
		if diff := cmp.Diff(c.want, got); changed && diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func ownedCSINode(health ...storagev1.StorageHealth) (*v1.Node, *storagev1.CSINode) {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: "n", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "n", UID: "u"}}},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "d", NodeID: "id"}}},
		Status:     storagev1.CSINodeStatus{StorageHealth: health},
	}
}

// The status is written once for each change, again after a conflict, and nothing else of the object changes.
func TestStoreHealth(t *testing.T) {
	node, obj := ownedCSINode(storagev1.StorageHealth{Name: "other", HealthConditions: []storagev1.StorageHealthCondition{slow("X", "")}})
	api := fake.NewClientset(node, obj)
	writes, conflicts := 0, 1
	api.PrependReactor("update", "csinodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if writes++; a.GetSubresource() != "status" {
			t.Errorf("written: %q", a.GetSubresource())
		}
		if conflicts--; conflicts >= 0 {
			return true, nil, apierrors.NewConflict(storagev1.Resource("csinodes"), "n", nil)
		}
		return false, nil, nil
	})
	p := newPlugin(t, api)
	for i, c := range []struct {
		set          []storagev1.StorageHealthCondition
		writes, have int
	}{
		{nil, 0, 1},
		{[]storagev1.StorageHealthCondition{slow("A", "1")}, 2, 2},
		{[]storagev1.StorageHealthCondition{slow("A", "2")}, 2, 2},
		{[]storagev1.StorageHealthCondition{slow("B", "2")}, 3, 2},
		{nil, 4, 1},
	} {
		if err := p.storeHealth(t.Context(), "d", c.set); err != nil {
			t.Fatal(err)
		}
		got, err := api.StorageV1().CSINodes().Get(t.Context(), "n", metav1.GetOptions{})
		if err != nil || writes != c.writes || len(got.Status.StorageHealth) != c.have || got.Status.StorageHealth[0].Name != "other" || len(got.Spec.Drivers) != 1 {
			t.Errorf("step %d: %d writes, %+v %+v, %v", i, writes, got.Spec, got.Status, err)
		}
	}
}
