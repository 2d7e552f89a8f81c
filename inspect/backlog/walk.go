package backlog

import (
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
)

// need is how much a late reader needs a record, the most needed first.
type need uint8

const (
	needNode     need = iota // what the node is
	needPod                  // what a pod is
	needOpen                 // what continues
	needParts                // what a pod consists of, and the parts of the node of which there may be many
	needHistory              // what happened last
	needPast                 // what explains that, and starts that are over
	needEvidence             // what else explains what became of pods
)

// visit sees an item at a holder, which lets go of it where visit returns false.
type visit func(it *item, n need) bool

// walk visits all that is kept, at each of its holders.
func (k *Store) walk(v visit) {
	k.walkNode(v)
	for _, p := range k.pods {
		p.walk(v)
	}
}

// walkNode visits what is not kept for a pod.
func (k *Store) walkNode(v visit) {
	one(v, needNode, &k.last)
	k.open.Drop(func(it *item) bool { return v(it, needOpen) })
	history(v, needHistory, &k.calls)
	history(v, needHistory, &k.decisions)
	history(v, needHistory, &k.lines)
	history(v, needEvidence, &k.around)
	k.loops.walk(v)
	k.passes.walk(v)
	k.node.walk(v)
	k.api.walk(v)
}

func one(v visit, n need, of ...**item) {
	for _, it := range of {
		if *it != nil && !v(*it, n) {
			*it = nil
		}
	}
}

func many(v visit, n need, of *[]*item) {
	*of = slices.DeleteFunc(*of, func(it *item) bool { return it == nil || !v(it, n) })
}

func table[K comparable](v visit, n need, of map[K]*item) {
	maps.DeleteFunc(of, func(_ K, it *item) bool { return !v(it, n) })
}

func history(v visit, n need, of *ring.Ring[*item]) {
	gone := map[*item]bool{}
	of.Each(func(it *item) {
		if !v(it, n) {
			gone[it] = true
		}
	})
	if len(gone) > 0 {
		of.Drop(func(it *item) bool { return gone[it] })
	}
}
