package export

import (
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
}

// laneMap assigns the spans of a session to lanes.
type laneMap struct {
	session *session
	pods    map[trace.Pod][]*lane
	all     []*lane
	of      map[*span]*lane
}

// assign puts each span on its parent's lane if it is part of it and fits, else on a free lane with the name of its
// kind. There are as many lanes of a name as things went on at once.
func assign(s *session) *laneMap {
	m := &laneMap{session: s, pods: map[trace.Pod][]*lane{}, of: map[*span]*lane{}}
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
	up := m.session.by[sp.parent]
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

// free returns a lane of the right name on which nothing goes on.
func (m *laneMap) free(sp *span) *lane {
	name, n := laneOf(sp.event), 1
	for _, l := range m.pods[sp.pod] {
		if l.name != numbered(name, n) {
			continue
		}
		n++
		if l.leave(sp.start); len(l.stack) == 0 {
			return l
		}
	}
	l := &lane{name: numbered(name, n), order: len(m.all)}
	m.pods[sp.pod], m.all = append(m.pods[sp.pod], l), append(m.all, l)
	return l
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
		return human.Line(e.Verb)
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
