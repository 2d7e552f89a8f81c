package merge

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// relist is how often upstream's kubelet looks at its runtime, and latest how long a look may take besides.
	relist = time.Second
	latest = 10 * time.Second
	// maxDied bounds the ends of containers that are known.
	maxDied = 1 << 12
)

// polls knows when containers ended, to say how long their kubelet did not know it.
type polls struct {
	died  map[string]trace.Record
	order []string
}

// poll takes in that a container ended, as its runtime wrote it down, and that its kubelet found it. The time between is a wait: the
// kubelet's PLEG only looks from time to time.
func (m *Merger) poll(r *trace.Record) {
	e, ok := r.Event.(*trace.PLEGEvent)
	if !ok || e.Type != trace.ContainerDied || e.Container == "" {
		return
	}
	p := &m.polls
	switch {
	case e.From == trace.PLEGEvented:
		if p.died == nil {
			p.died = map[string]trace.Record{}
		}
		if _, known := p.died[e.Container]; known {
			return
		}
		if p.order = append(p.order, e.Container); len(p.order) > maxDied {
			delete(p.died, p.order[0])
			p.order = p.order[1:]
		}
		p.died[e.Container] = *r
		if found, ok := m.found[e.Container]; ok { // it was read first
			delete(m.found, e.Container)
			m.polled(r, &found)
		}
	case e.From == trace.PLEGRelists:
		if died, ok := p.died[e.Container]; ok {
			m.polled(&died, r)
			return
		}
		if len(m.found) >= maxDied {
			clear(m.found)
		}
		m.found[e.Container] = *r
	}
}

// polled is a wait for the kubelet's next look.
func (m *Merger) polled(died, found *trace.Record) {
	from := died.Time
	if e, ok := died.Event.(*trace.PLEGEvent); ok { // one that ends at once has ended before its start is over
		from = max(from, m.same.ended(&trace.Record{Pod: found.Pod, Event: &trace.Action{ID: "start " + e.Name}}, found.Time))
	}
	d := time.Duration(found.Time - from)
	if d < time.Millisecond || d > latest || died.Pod != found.Pod {
		return
	}
	m.made++
	w := trace.Record{
		Time: found.Time, Edge: trace.EdgeEnd, Dur: d, Span: m.made | 1<<63, Pod: found.Pod, Trace: found.Trace,
		Observer: died.Observer, Precision: died.Precision, Also: trace.ObserverSet(0).With(found.Observer),
		Event: &trace.Wait{For: trace.WaitPoll, Target: trace.Target{Kind: trace.TargetPLEG}, Every: relist},
	}
	m.out.Add(w.Time, &item{rec: w})
}
