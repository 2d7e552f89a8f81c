package export

import (
	"container/heap"
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// lane is a track on which spans nest: each lies within the one below it in the stack, or after it.
type lane struct {
	name  string
	order int // among all lanes
	spans []*span
	stack []*span
	until int64 // when what lies at the bottom ends
}

// laneMap assigns the spans of a session to lanes.
type laneMap struct {
	session *session
	pods    map[trace.Pod][]*lane
	sets    map[laneKey]*laneSet
	all     []*lane
	of      map[*span]*lane
}

// assign puts each span on its parent's lane if it is part of it and fits, else on a free lane with the name of its
// kind. There are as many lanes of a name as things ran at once.
func assign(s *session) *laneMap {
	m := &laneMap{session: s, pods: map[trace.Pod][]*lane{}, sets: map[laneKey]*laneSet{}, of: map[*span]*lane{}}
	for _, sp := range s.spans {
		l := m.below(sp)
		if l == nil {
			l = m.free(sp)
		}
		l.spans = append(l.spans, sp)
		l.stack = append(l.stack, sp)
		m.of[sp] = l
	}
	return m
}

// below returns the parent's lane if sp can be drawn within its parent.
func (m *laneMap) below(sp *span) *lane {
	up := m.session.by.Get(sp.parent)
	if sp.parent == 0 || up == nil || up == sp || up.pod != sp.pod || !nests(sp.event) {
		return nil
	}
	l := m.of[up]
	if l == nil || sp.end > up.end {
		return nil
	}
	l.leave(sp.start)
	if n := len(l.stack); n == 0 || l.stack[n-1] != up {
		return nil
	}
	return l
}

// free returns a lane of the right name on which nothing continues.
func (m *laneMap) free(sp *span) *lane {
	name := laneOf(sp.event)
	key := laneKey{sp.pod, name}
	set := m.sets[key]
	if set == nil {
		set = &laneSet{}
		m.sets[key] = set
	}
	for set.busy.Len() > 0 && set.busy.lanes[0].until <= sp.start {
		heap.Push(&set.idle, heap.Pop(&set.busy))
	}
	var l *lane
	if set.idle.Len() > 0 {
		l, _ = heap.Pop(&set.idle).(*lane)
		l.leave(sp.start)
	} else {
		set.made++
		l = &lane{name: numbered(name, set.made), order: len(m.all)}
		m.pods[sp.pod], m.all = append(m.pods[sp.pod], l), append(m.all, l)
	}
	l.until = sp.end // what is drawn within sp ends before
	heap.Push(&set.busy, l)
	return l
}

// laneSet is the lanes of one name of one pod: those on which something continues, the one that ends first at first, and the others, by
// their order. Spans come in the order of their starts.
type (
	laneKey struct {
		pod  trace.Pod
		name string
	}
	laneSet struct {
		busy laneHeap
		idle idleHeap
		made int
	}
	laneHeap struct{ lanes []*lane }
	idleHeap struct{ laneHeap }
)

// Len implements heap.Interface.
func (h *laneHeap) Len() int { return len(h.lanes) }

// Less implements heap.Interface.
func (h *laneHeap) Less(i, j int) bool {
	a, b := h.lanes[i], h.lanes[j]
	return a.until < b.until || a.until == b.until && a.order < b.order
}

// Less implements heap.Interface.
func (h *idleHeap) Less(i, j int) bool { return h.lanes[i].order < h.lanes[j].order }

// Swap implements heap.Interface.
func (h *laneHeap) Swap(i, j int) { h.lanes[i], h.lanes[j] = h.lanes[j], h.lanes[i] }

// Push implements heap.Interface.
func (h *laneHeap) Push(x any) {
	if l, ok := x.(*lane); ok {
		h.lanes = append(h.lanes, l)
	}
}

// Pop implements heap.Interface.
func (h *laneHeap) Pop() any {
	last := h.lanes[len(h.lanes)-1]
	h.lanes = h.lanes[:len(h.lanes)-1]
	return last
}

// leave takes from the stack what had ended at that time.
func (l *lane) leave(at int64) {
	for n := len(l.stack); n > 0 && l.stack[n-1].end <= at; n-- {
		l.stack = l.stack[:n-1]
	}
}

func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s %d", name, n)
}

// nests reports whether an event is a part of what caused it, rather than something of its own.
func nests(e trace.Event) bool {
	switch e.(type) {
	case *trace.CRICall, *trace.CSICall, *trace.APICall, *trace.Wait, *trace.ImagePull, *trace.Volume, *trace.CgroupOp, *trace.RuntimeSpan:
		return true
	}
	return false
}

// laneOf names the lane of what does not nest.
func laneOf(e trace.Event) string {
	switch e := e.(type) {
	case *trace.Action:
		if e.Container != "" {
			return human.Line("container " + e.Container)
		}
		return human.Line(string(e.Verb))
	case *trace.ProbeAttempt:
		return human.Line("probes of " + e.Container)
	case *trace.Wait:
		return "waits"
	case *trace.Sync:
		return "sync"
	case *trace.CRICall:
		return "CRI"
	}
	return e.Kind().String()
}
