package export

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// counter is a figure over time.
type counter struct {
	pod  trace.Pod
	name string
	unit string // bytes or a name
}

// count is a counter's value at one time.
type count struct {
	counter
	at    int64
	value int64
}

// countsOf returns the figures that a point tells.
func countsOf(p point) []count {
	of := func(name, unit string, value int64) count {
		return count{counter: counter{pod: p.pod, name: human.Line(name), unit: unit}, at: p.at, value: value}
	}
	switch e := p.event.(type) {
	case *trace.Pressure:
		return []count{of(string(e.Signal)+" used", "bytes", e.Used)}
	case *trace.ImageProgress:
		return []count{of("pull "+human.Image(e.Image), "bytes", e.Done)}
	case *trace.Usage:
		out := []count{of("agent memory", "bytes", e.RSS), of("agent CPU", "%", share(e.CPU, e.Interval))}
		for _, s := range e.Stalls {
			out = append(out, of("stalled on "+string(s.Resource), "%", share(s.Some, e.Interval)))
		}
		return out
	}
	return nil
}

// share is a's part of b in percent; it may be more than 100.
func share(a, b time.Duration) int64 { return int64(waterfall.Percent(a, b)) }

// counters finds every counter, by pod.
func counters(s *session) map[trace.Pod][]counter {
	seen := map[counter]bool{}
	out := map[trace.Pod][]counter{}
	for _, pt := range s.counts {
		for _, c := range countsOf(pt) {
			if !seen[c.counter] {
				seen[c.counter] = true
				out[pt.pod] = append(out[pt.pod], c.counter)
			}
		}
	}
	return out
}

// describeCounters tells of a pod's counters, below its lanes.
func (p *perfetto) describeCounters(of []counter, parent uint64, rank int) {
	for i, c := range of {
		p.counts[c] = p.fresh()
		m := child(parent, p.counts[c], c.name, rank+i)
		var unit message
		if c.unit == "bytes" {
			unit.uint(counterUnit, unitBytes)
		} else {
			unit.string(counterUnitName, c.unit)
		}
		m.message(trackCounter, unit)
		p.track(m)
	}
}

func (p *perfetto) countMarks() []mark {
	var out []mark
	for _, pt := range p.session.counts {
		for _, c := range countsOf(pt) {
			out = append(out, mark{at: c.at, typ: typeCounter, track: p.counts[c.counter], value: c.value})
		}
	}
	return out
}
