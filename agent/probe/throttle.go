package probe

import (
	"time"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/trace"
)

// recent is how old the figures before may be for a difference to say something of now.
const recent = 15 * time.Second

// reading is what the CPU limits of a container and of its pod had done at a time. That a container begins is one too: its own are 0 then,
// and its pod's are not known.
type reading struct {
	at         time.Time
	own, whole cgroup.Throttling
	begins     bool
}

// readings are those of an attempt that failed: in its midst, where it took long, and at its end. They are zero where none were made.
type readings struct{ midst, end reading }

// baseline reads the figures when an attempt has taken half of its timeout, which few do.
type baseline struct {
	read  func() reading
	timer *time.Timer
	midst chan reading
}

// baseline begins to wait for that. end must be called.
func (p *Prober) baseline(a *attempt) *baseline {
	b := &baseline{}
	if p.cfg.CPU == nil {
		return b
	}
	b.read = func() reading {
		own, whole := p.cfg.CPU(a.pod, a.containerID)
		return reading{at: time.Now(), own: own, whole: whole}
	}
	b.midst = make(chan reading, 1)
	b.timer = time.AfterFunc(a.timeout/2, func() { b.midst <- b.read() })
	return b
}

// end ends the attempt. Only of one that failed it matters what held it back.
func (b *baseline) end(failed bool) (r readings) {
	if b.timer == nil {
		return r
	}
	if !b.timer.Stop() {
		r.midst = <-b.midst
	}
	if failed {
		r.end = b.read()
	}
	return r
}

// throttled is what the limits did since the figures before, or since the attempt's midst where those are old: of the two limits, what
// the one did that held it back more. It is nil where no limit counted anything. The caller holds mu.
func (t *target) throttled(r readings) *trace.Throttle {
	if r.end.at.IsZero() {
		return nil
	}
	from := t.cpu
	if !r.midst.at.IsZero() && (r.midst.at.Sub(from.at) > recent || from.begins && r.end.own.Periods == 0) {
		from = r.midst
	}
	t.cpu = r.end
	most := since(from.own, r.end.own)
	if whole := since(from.whole, r.end.whole); !from.begins && whole.Throttled > most.Throttled {
		most = whole
	}
	out := trace.Throttle{Interval: r.end.at.Sub(from.at), Periods: most.Periods, Throttled: most.Throttled, Stopped: most.Stopped}
	if out.Interval <= 0 || out.Periods <= 0 {
		return nil
	}
	return &out
}

// since is what was added to figures; zero where they went back, as when another probe's were taken meanwhile.
func since(from, to cgroup.Throttling) cgroup.Throttling {
	d := cgroup.Throttling{Periods: to.Periods - from.Periods, Throttled: to.Throttled - from.Throttled, Stopped: to.Stopped - from.Stopped}
	if d.Periods < 0 || d.Throttled < 0 || d.Stopped < 0 {
		return cgroup.Throttling{}
	}
	return d
}
