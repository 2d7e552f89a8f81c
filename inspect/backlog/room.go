package backlog

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// podBytes is about what a pod needs in addition to its records.
const podBytes = 2 << 10

// makeBytes measures what is kept, and over the limit drops what late readers need least. It is called after as many
// bytes as were free, at least a quarter of the limit, so that the amortized cost for each record is small.
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

// count returns all items that are kept, and the number of records.
func (k *Store) count() (items []*store.Item, records uint64) {
	items, records, k.bytes = k.kept.Count(k.walk)
	k.bytes += len(k.pods) * podBytes
	for _, p := range k.pods {
		k.bytes += len(p.within) * store.ItemBytes
	}
	return items, records
}

// letGo removes the dropped items from all holders, and returns for each run that lost some the records that explained
// it. It also removes pods that have lost even the records that separate them from earlier and later pods.
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

// vital reports which of the records that separate a pod's runs are present.
func (p *pod) vital() [4]bool {
	return [4]bool{p.last != nil, p.ending != nil, p.gone != nil, p.next != nil}
}

// told returns all holes in order: those of the stream; one directly after the milestone seen of each pod whose run
// lost records, so that a reader knows that the run is incomplete; and first of all one for everything else that was
// dropped.
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
	sorting.Stable(out, func(a, b *Hole) int { return cmp.Compare(a.After, b.After) })
	return out
}
