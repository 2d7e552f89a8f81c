package backlog

import (
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/internal/ring"
	"github.com/kubeloupe/kubeloupe/inspect/store"
)

// How much a late reader needs a record, the most needed first.
const (
	needNode     store.Need = iota // what the node is
	needPod                        // what a pod is
	needOpen                       // what continues
	needParts                      // what a pod consists of, and the parts of the node of which there may be many
	needHistory                    // what happened last
	needPast                       // what explains that, and starts that are over
	needEvidence                   // what else explains what became of pods
)

type visit = store.Visit

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
	k.kept.Walk(v, needEvidence, needOpen)
	history(v, needHistory, &k.calls)
	history(v, needHistory, &k.decisions)
	history(v, needHistory, &k.lines)
	history(v, needHistory, &k.alarms)
	k.loops.walk(v)
	k.passes.walk(v)
	k.node.walk(v)
	k.api.walk(v)
}

func one(v visit, n store.Need, of ...**store.Item) {
	for _, it := range of {
		if *it != nil && !v(*it, n) {
			*it = nil
		}
	}
}

func many(v visit, n store.Need, of *[]*store.Item) {
	*of = slices.DeleteFunc(*of, func(it *store.Item) bool { return it == nil || !v(it, n) })
}

func table[K comparable](v visit, n store.Need, of map[K]*store.Item) {
	maps.DeleteFunc(of, func(_ K, it *store.Item) bool { return !v(it, n) })
}

func history(v visit, n store.Need, of *ring.Ring[*store.Item]) {
	gone := map[*store.Item]bool{}
	of.Each(func(it *store.Item) {
		if !v(it, n) {
			gone[it] = true
		}
	})
	if len(gone) > 0 {
		of.Drop(func(it *store.Item) bool { return gone[it] })
	}
}
