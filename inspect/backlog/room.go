package backlog

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
)

// podBytes is what a pod takes beside its records, about.
const podBytes = 2 << 10

// makeBytes counts what is kept, and lets go of what late readers need least where that is too much. It is called when as much has come
// as there was room for, a quarter of the budget at least, so that each record pays for a few of those kept.
func (k *Store) makeBytes() {
	items, before := k.count()
	room := k.opt.Bytes - k.opt.Bytes/4
	if k.bytes <= room {
		return
	}
	store.MakeRoom(items, room-len(k.pods)*podBytes)
	runs := k.letGo()
	_, after := k.count()
	told := uint64(0)
	for p, items := range runs {
		if k.pods[p.key] == p {
			n := k.kept.Missing(items)
			p.lost += n
			told += n
		}
	}
	k.lost += before - after - min(told, before-after)
}

// count returns all items that are kept, and how many records they are.
func (k *Store) count() (items []*store.Item, records uint64) {
	items, records, k.bytes = k.kept.Count(k.walk)
	k.bytes += len(k.pods) * podBytes
	for _, p := range k.pods {
		k.bytes += len(p.within) * store.ItemBytes
	}
	return items, records
}

// letGo has all holders let go of what is out, and returns what explained the runs of which something was. Pods are forgotten of which
// not even that is left by which they are told apart from earlier and later ones.
func (k *Store) letGo() map[*pod][]*store.Item {
	runs := map[*pod][]*store.Item{}
	stays := func(it *store.Item, _ store.Need) bool { return !it.Out() }
	k.walkNode(stays)
	for _, p := range k.pods {
		items, vital := p.explains(), p.vital()
		p.walk(stays)
		maps.DeleteFunc(p.within, func(id trace.SpanID, _ *volume) bool { return !k.kept.IsOpen(id) })
		if slices.ContainsFunc(items, (*store.Item).Out) {
			runs[p] = items
		}
		if p.vital() != vital {
			k.drop(p)
		}
	}
	return runs
}

// vital says which of the records are there that tell a pod's lives apart.
func (p *pod) vital() [4]bool {
	return [4]bool{p.last != nil, p.ending != nil, p.gone != nil, p.next != nil}
}

// told returns all holes in order: those of the stream, what had to go of a pod's run right after it was seen, so that a reader knows that
// as incomplete, and before all else what else had to go.
func (k *Store) told() []Hole {
	out, rest := slices.Clone(k.holes), k.lost
	for _, p := range k.pods {
		switch {
		case p.lost == 0:
		case p.seen == nil:
			rest += p.lost
		default:
			out = append(out, Hole{After: p.seen.Seq, Lost: p.lost})
		}
	}
	if rest > 0 {
		out = append(out, Hole{Lost: rest})
	}
	slices.SortStableFunc(out, func(a, b Hole) int { return cmp.Compare(a.After, b.After) })
	return out
}
