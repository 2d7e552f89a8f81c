package node

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Queries about the node always have an answer: before there is a Node, before and after its object is seen, and while
// the object is being deleted.
func TestSelf(t *testing.T) {
	s := NewSelf()
	want := func(when string, uid types.UID, zone string) {
		t.Helper()
		if s.UID() != uid || s.Labels()["zone"] != zone {
			t.Errorf("%s: UID %q, zone %q, want %q and %q", when, s.UID(), s.Labels()["zone"], uid, zone)
		}
	}
	object := func(version string, uid types.UID, zone string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version, Labels: map[string]string{"zone": zone}}}
	}
	want("before there is a Node", "", "")
	s.before = func(*v1.Node) *v1.Node { return object("", "", "of --node-labels") }
	want("before it is in the API", "", "of --node-labels")
	s.see(object("10", "u", "a"), false)
	<-s.Registered()
	s.see(object("9", "u", "older"), false)
	want("in the API", "u", "a")
	leaving := object("11", "u", "a")
	leaving.DeletionTimestamp = &metav1.Time{}
	s.see(leaving, false)
	want("on its way out", "", "a")
	s.Changed()
	s.Changed() // nobody has received yet: it does not block
}
