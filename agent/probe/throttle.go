package probe

import (
	"time"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/trace"
)

// recent is the maximum age of earlier figures for a meaningful difference.
const recent = 15 * time.Second

// reading is what the CPU limits of a container and of its pod had throttled at a time. A container's begin is a
// reading too: its own figures are 0 then, and the pod's are unknown.
type reading struct {
	at         time.Time
	own, whole cgroup.Throttling
	begins     bool
}

// readings are the readings of a failed attempt: at half of its timeout, if it took that long, and at its end. Zero
// without a reading.
type readings struct{ midst, end reading }

// baseline reads the figures when an attempt has taken half of its timeout. Few attempts do.
type baseline struct {
	read  func() reading
	timer *time.Timer
	midst chan reading
}

// baseline starts the timer. The caller must call end.
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

// end ends the attempt. Only a failed one needs the figures at its end.
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

// throttled returns what the limits did since the last reading, or since half of the attempt's timeout if the last
// reading is too old. Of the two limits, it returns the one that throttled more. It is nil if no limit counted
// anything. Called with mu.
func (t *target) throttled(r readings) *trace.Throttle {
	if r.end.at.IsZero() {
		return nil
	}
	from := t.cpu
	if !r.midst.at.IsZero() && (r.midst.at.Sub(from.at) > recent || from.begins && r.end.own.Periods == 0) {
		from = r.midst
	}
	t.cpu = r.end
	most := r.end.own.Since(from.own)
	if whole := r.end.whole.Since(from.whole); !from.begins && whole.Throttled > most.Throttled {
		most = whole
	}
	out := trace.Throttle{Interval: r.end.at.Sub(from.at), Periods: most.Periods, Throttled: most.Throttled, Stopped: most.Stopped}
	if out.Interval <= 0 || out.Periods <= 0 {
		return nil
	}
	return &out
}
