package node

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Objects come from the watch and from responses at the same time: whoever follows them must end with the newest.
func TestSeenInOrder(t *testing.T) {
	var w *world
	object := func(version string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", ResourceVersion: version}}
	}
	next := make(chan struct{})
	var got []string
	w = newWorld(t, func(c *Config) {
		c.Seen = func(o *v1.Node) {
			if o.ResourceVersion == "1" {
				go func() { w.see(object("2")); close(next) }()
				select {
				case <-next:
				case <-time.After(20 * time.Millisecond): // it waits, as it must
				}
			}
			got = append(got, o.ResourceVersion)
		}
	})
	w.see(object("1"))
	<-next
	if want := []string{"1", "2"}; !slices.Equal(got, want) {
		t.Errorf("the objects are seen in the order %v, want %v", got, want)
	}
}

// object returns a version of an object of the node.
func object(uid types.UID, version string, cordoned bool) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lab-1", UID: uid, ResourceVersion: version}, Spec: v1.NodeSpec{Unschedulable: cordoned}}
}

// has returns the version of the object that is known; "" for none.
func (w *world) has() string {
	if o := w.latest(); o != nil {
		return string(o.UID) + " " + o.ResourceVersion
	}
	return ""
}

// A change is told once, whether the watch or a response brings it, and a late answer of the watch tells nothing.
func TestSchedulable(t *testing.T) {
	ctx := t.Context()
	for name, tc := range map[string]struct {
		do   func(w *world)
		want []string
	}{
		"not":           {func(w *world) { w.Node.told(ctx, nil, object("a", "1", false)) }, nil},
		"at the start":  {func(w *world) { w.reported(ctx, object("a", "1", true), nil, true) }, []string{"NodeNotSchedulable"}},
		"watch":         {func(w *world) { w.Node.told(ctx, nil, object("a", "1", true)) }, []string{"NodeNotSchedulable"}},
		"response":      {func(w *world) { w.see(object("a", "1", false)); w.see(object("a", "3", true)) }, nil},
		"response, too": {func(w *world) { w.see(object("a", "3", true)); w.Node.told(ctx, nil, object("a", "3", true)) }, []string{"NodeNotSchedulable"}},
		"late watch": {func(w *world) {
			w.reported(ctx, object("a", "3", true), nil, true)
			w.Node.told(ctx, object("a", "1", false), object("a", "2", false))
			w.Node.told(ctx, object("a", "2", false), object("a", "3", true))
		}, []string{"NodeNotSchedulable"}},
		"back": {func(w *world) {
			w.Node.told(ctx, nil, object("a", "1", true))
			w.Node.told(ctx, object("a", "1", true), object("a", "2", false))
		}, []string{"NodeNotSchedulable", "NodeSchedulable"}},
	} {
		w := newWorld(t, nil)
		tc.do(w)
		if got := w.told(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: events %v, want %v", name, got, tc.want)
		}
	}
}

// The watch decides what exists; answers may be late.
func TestWatchDecides(t *testing.T) {
	ctx := t.Context()
	type step struct {
		do   func(w *world)
		want string
	}
	for name, steps := range map[string][]step{
		"restored from a backup": {
			{func(w *world) { w.Node.told(ctx, nil, object("a", "100", false)) }, "a 100"},
			{func(w *world) { w.see(object("a", "50", false)) }, "a 100"},
			{func(w *world) { w.Node.told(ctx, object("a", "100", false), object("a", "50", false)) }, "a 50"},
			{func(w *world) { w.see(object("a", "60", false)) }, "a 60"},
			{func(w *world) { w.Node.told(ctx, object("a", "50", false), object("a", "55", false)) }, "a 60"},
		},
		"a late answer about the deleted object": {
			{func(w *world) { w.Node.told(ctx, nil, object("a", "1", false)) }, "a 1"},
			{func(w *world) { w.deleted(object("a", "2", false)) }, ""},
			{func(w *world) { w.see(object("a", "2", false)) }, ""},
			{func(w *world) { w.see(object("b", "3", false)) }, "b 3"},
		},
		"a late end of the earlier object": {
			{func(w *world) { w.see(object("b", "3", false)) }, "b 3"},
			{func(w *world) { w.deleted(object("a", "2", false)) }, "b 3"},
			{func(w *world) { w.deleted(cache.DeletedFinalStateUnknown{Obj: object("b", "3", false)}) }, ""},
		},
		"it exists all the same": {
			{func(w *world) { w.see(object("a", "1", false)) }, "a 1"},
			{func(w *world) { w.deleted(object("a", "1", false)) }, ""},
			{func(w *world) { w.exists(object("a", "1", false)) }, ""},
			{func(w *world) { w.see(object("a", "2", false)) }, "a 2"},
		},
		"the watch has it again": {
			{func(w *world) { w.deleted(object("a", "1", false)) }, ""},
			{func(w *world) { w.Node.told(ctx, nil, object("a", "1", false)) }, "a 1"},
			{func(w *world) { w.see(object("a", "2", false)) }, "a 2"},
		},
	} {
		w := newWorld(t, nil)
		for i, s := range steps {
			s.do(w)
			if got := w.has(); got != s.want {
				t.Errorf("%s: after step %d %q is known, want %q", name, i, got, s.want)
			}
		}
	}
}
