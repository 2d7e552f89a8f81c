package volume

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// op is one operation on one volume.
type op struct {
	verb verb
	key  key
	// adopt says that the volume was found on disk.
	adopt bool
	// quiet says that the volume is mounted and usable during the operation.
	quiet bool
}

// plan returns the operations that lead from the actual to the desired state, in the pods' order of arrival, and when
// to plan again if nothing else happens (zero: never).
//
// confirmed, if not nil, are the volumes that the node's status lists as in use. A volume that a controller attaches is
// not used before that, because the controller might detach it again. Nor is a volume that is mounted with another SELinux label; left are
// the volumes of pods that are not known yet.
//
// No operation is planned for a volume with a running operation or in back-off, nor for one whose pod is not known yet:
// after a restart, its pod may still arrive.
//
// Upstream: pkg/kubelet/volumemanager/reconciler/reconciler.go, reconcile.
func plan(pods map[types.UID]*pod, states map[key]*state, left map[key]leftover, confirmed map[v1.UniqueVolumeName]bool, now time.Time) (ops []op, next time.Time) {
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	add := func(o op, s *state) {
		switch {
		case s != nil && s.busy:
		case s != nil && s.retryAt.After(now):
			sooner(s.retryAt)
		default:
			ops = append(ops, o)
		}
	}
	for _, p := range pods {
		for k, w := range p.wanted {
			s := states[k]
			switch {
			case p.released:
			case !s.satisfies(w):
				if found := s != nil && s.found; found || w.inUse(confirmed) && holdOf(pods, states, left, k, w) == nil {
					add(op{verb: setUp, key: k, adopt: found}, s)
				}
			default:
				now, later := s.due(w, now)
				sooner(later)
				if now {
					add(op{verb: setUp, key: k, quiet: true}, s)
				}
			}
		}
	}
	for k, s := range states {
		if p := pods[k.uid]; p != nil && p.released {
			add(op{verb: tearDown, key: k}, s)
		}
	}
	sorting.Stable(ops, func(a, b *op) int {
		return cmp.Or(
			cmp.Compare(pods[a.key.uid].order, pods[b.key.uid].order),
			cmp.Compare(a.key.name, b.key.name), cmp.Compare(a.key.plugin, b.key.plugin))
	})
	return ops, next
}

// inUse reports whether the volume's attachment permits its use.
func (w *wanted) inUse(confirmed map[v1.UniqueVolumeName]bool) bool {
	return w.attach == "" || confirmed == nil || confirmed[w.attach]
}
