package objcache

import (
	"context"
	"maps"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// item is one object, guarded by the cache's mu.
type item struct {
	key   key
	users map[types.UID][]string // pods, with their volumes that show it

	obj  metav1.Object // nil: there is none, or it is not known yet
	asOf time.Time     // when the last successful fetch began

	// Each reference from a new pod increments want. A fetch that began after that sets have to it.
	want, have uint64
	fetching   bool
	done       chan struct{} // closed when the running fetch ends
	err        error         // of the last fetch

	watching context.CancelFunc // nil if no watch runs
	synced   bool               // the watch has delivered the current state
}

// shown reports whether a volume shows the object.
func (it *item) shown() bool {
	for _, volumes := range it.users {
		if len(volumes) > 0 {
			return true
		}
	}
	return false
}

func (it *item) unwatch() {
	if it.watching != nil {
		it.watching()
		it.watching, it.synced = nil, false
	}
}

// learn stores an object, nil for none, and reports whether a volume would show other content. It ignores an object
// that is older than the known one.
func (it *item) learn(obj metav1.Object) (changed bool) {
	before := it.obj
	if obj != nil && before != nil && older(obj.GetResourceVersion(), before.GetResourceVersion()) {
		return false
	}
	if obj != nil {
		obj.SetManagedFields(nil) // they need memory, and are not used
	}
	it.obj = obj
	return it.have > 0 && !sameData(before, obj)
}

// audience returns the pods and volumes that must be notified of a change.
func (it *item) audience() map[types.UID][]string {
	out := maps.Clone(it.users)
	maps.DeleteFunc(out, func(_ types.UID, volumes []string) bool { return len(volumes) == 0 })
	return out
}

// older reports whether resource version a is older than b; false if they cannot be compared.
func older(a, b string) bool {
	n, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && n < 0
}

func sameData(a, b metav1.Object) bool {
	switch a := a.(type) {
	case *v1.ConfigMap:
		b, ok := b.(*v1.ConfigMap)
		return ok && maps.Equal(a.Data, b.Data) && reflect.DeepEqual(a.BinaryData, b.BinaryData)
	case *v1.Secret:
		b, ok := b.(*v1.Secret)
		return ok && reflect.DeepEqual(a.Data, b.Data)
	}
	return b == nil
}

func immutable(obj metav1.Object) bool {
	switch o := obj.(type) {
	case *v1.ConfigMap:
		return o.Immutable != nil && *o.Immutable
	case *v1.Secret:
		return o.Immutable != nil && *o.Immutable
	}
	return false
}
