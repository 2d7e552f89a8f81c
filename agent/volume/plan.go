package volume

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// op is one operation on one volume.
type op struct {
	verb verb
	key  key
	// adopt says that what is set up was found on disk.
	adopt bool
}

// plan says what to do now to get from what is there to what is wanted, in the pods'
// order of arrival, and when to look again if nothing else happens (zero: never).
//
// A volume with an operation under way or in back-off is left alone, and so is one of a
// pod that nobody has spoken for yet: after a restart its pod may be on its way.
//
// Upstream: pkg/kubelet/volumemanager/reconciler/reconciler.go, reconcile.
func plan(pods map[types.UID]*pod, states map[key]*state, now time.Time) (ops []op, next time.Time) {
	add := func(o op, s *state) {
		switch {
		case s != nil && s.busy:
		case s != nil && s.retryAt.After(now):
			if next.IsZero() || s.retryAt.Before(next) {
				next = s.retryAt
			}
		default:
			ops = append(ops, o)
		}
	}
	for _, p := range pods {
		for k, w := range p.wanted {
			if s := states[k]; !p.released && !s.satisfies(w) {
				add(op{setUp, k, s != nil && s.found}, s)
			}
		}
	}
	for k, s := range states {
		if p := pods[k.uid]; p != nil && p.released {
			add(op{tearDown, k, false}, s)
		}
	}
	slices.SortFunc(ops, func(a, b op) int {
		return cmp.Or(
			cmp.Compare(pods[a.key.uid].order, pods[b.key.uid].order),
			cmp.Compare(a.key.name, b.key.name), cmp.Compare(a.key.plugin, b.key.plugin))
	})
	return ops, next
}
