package backlog

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// What is counted beside records, about: an item with the places that hold it, and a pod.
const (
	itemBytes = 128
	podBytes  = 2 << 10
)

// levelBytes is how much of a pod's records has the same right to stay: a pod that has more than others gives way before them.
const levelBytes = 64 << 10

// weigh counts a record that came.
func (k *Store) weigh(it *item, r *trace.Record) {
	n := r.Size() + itemBytes
	it.size += n
	k.bytes += n
}

// makeBytes counts what is kept, and lets go of what late readers need least where that is too much. It is called when as much has come
// as there was room for, a quarter of the budget at least, so that each record pays for a few of those kept.
func (k *Store) makeBytes() {
	items, before := k.count()
	room := k.opt.Bytes - k.opt.Bytes/4
	if k.bytes <= room {
		return
	}
	rank(items)
	left := room - len(k.pods)*podBytes
	for _, it := range items {
		left -= it.size
		it.out = left < 0
	}
	runs := k.letGo()
	_, after := k.count()
	told := uint64(0)
	for p, items := range runs {
		if k.pods[p.key] == p {
			n := k.missing(items)
			p.run.lost += n
			told += n
		}
	}
	k.lost += before - after - min(told, before-after)
}

// count returns all items that are kept, each with how much it is needed, and how many records they are.
func (k *Store) count() (items []*item, records uint64) {
	k.round++
	k.bytes = len(k.pods) * podBytes
	for _, p := range k.pods {
		k.bytes += len(p.within) * itemBytes
	}
	k.walk(func(it *item, n need) bool {
		if it.round == k.round {
			it.need = min(it.need, n)
			return true
		}
		it.round, it.need = k.round, n
		items = append(items, it)
		records += it.records()
		k.bytes += it.size
		return true
	})
	return items, records
}

// records is how many records an item has.
func (it *item) records() uint64 {
	if it.end != nil {
		return 2
	}
	return 1
}

// rank sorts items, the most needed first. Of those that are needed alike, the newest 64 KiB of each pod come before the next 64 KiB of any.
func rank(items []*item) {
	newest := func(a, b *item) int { return cmp.Compare(b.last().Seq, a.last().Seq) }
	slices.SortFunc(items, newest)
	type share struct {
		pod  trace.Pod
		need need
	}
	used := map[share]int{}
	for _, it := range items {
		of := share{it.first.Pod, it.need}
		it.level = used[of] / levelBytes
		used[of] += it.size
	}
	slices.SortStableFunc(items, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.need, b.need), cmp.Compare(a.level, b.level))
	})
}

// letGo has all holders let go of what is out, and returns what explained the runs of which something was. Pods are forgotten of which
// not even that is left by which they are told apart from earlier and later ones.
func (k *Store) letGo() map[*pod][]*item {
	runs := map[*pod][]*item{}
	stays := func(it *item, _ need) bool { return !it.out }
	k.walkNode(stays)
	for _, p := range k.pods {
		items, vital := p.run.all(), p.vital()
		p.walk(stays)
		maps.DeleteFunc(p.within, func(id trace.SpanID, _ *volume) bool { return !k.open.Has(id) })
		if slices.ContainsFunc(items, func(it *item) bool { return it.out }) {
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

// missing is how many of the records of items are kept no more, as of the last count.
func (k *Store) missing(items []*item) (n uint64) {
	for _, it := range items {
		if it.round != k.round {
			n += it.records()
		}
	}
	return n
}

// told returns all holes in order: those of the stream, what had to go of a pod's run right after it was seen, so that a reader knows that
// as incomplete, and before all else what else had to go.
func (k *Store) told() []Hole {
	out, rest := slices.Clone(k.holes), k.lost
	for _, p := range k.pods {
		switch {
		case p.run.lost == 0:
		case p.seen == nil:
			rest += p.run.lost
		default:
			out = append(out, Hole{After: p.seen.first.Seq, Lost: p.run.lost})
		}
	}
	if rest > 0 {
		out = append(out, Hole{Lost: rest})
	}
	slices.SortStableFunc(out, func(a, b Hole) int { return cmp.Compare(a.After, b.After) })
	return out
}
