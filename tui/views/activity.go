package views

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

const (
	// buckets is how many columns a sparkline has, and bucket the time that each is for.
	buckets = 30
	bucket  = 10 * time.Second
)

// activity is how the node's figures changed in the last minutes.
type activity struct {
	at     time.Time // when they were computed
	series []series
}

// series is a figure over time.
type series struct {
	name    string
	figures []float64 // the oldest first; -1 is unknown
	least   float64   // of a difference that is drawn
	last    string
}

// refresh computes the figures anew, once a second.
func (a *activity) refresh(f Frame) {
	if f.Model.Node().Records == 0 {
		*a = activity{}
		return
	}
	if age := f.Now.Sub(a.at); age >= 0 && age < time.Second {
		return
	}
	a.at = f.Now
	starts := slots()
	minute := 0
	for _, s := range f.Model.Starts() {
		starts.add(f.Now, s.Seen, 1, 0)
		if age := f.Now.Sub(s.Seen); age >= 0 && age < time.Minute {
			minute++
		}
	}
	for i := range starts { // none is a figure as well
		starts[i] = max(starts[i], 0)
	}
	calls, longest := slots(), time.Duration(0)
	for end, took := range f.Model.CallTimes("") {
		if f.Now.Sub(end) >= buckets*bucket {
			break
		}
		calls.add(f.Now, end, 0, took.Seconds())
		longest = longestOf(longest, f.Now, end, took)
	}
	loops, slowest := slots(), time.Duration(0)
	for end, took := range f.Model.LoopTimes() {
		loops.add(f.Now, end, 0, took.Seconds())
		slowest = longestOf(slowest, f.Now, end, took)
	}
	a.series = []series{
		{"starts", starts, 4, style.Count(minute) + "/min"},
		{"CRI max", calls, 0.1, style.Known(longest)},
		{"loop max", loops, 0.01, style.Known(slowest)},
	}
	a.memory(f)
}

// memory adds the usage of the node's memory.
func (a *activity) memory(f Frame) {
	h := f.Model.PressureHistory(string(trace.SignalMemory))
	if len(h) == 0 {
		return
	}
	used := slots()
	for i := range h {
		used.add(f.Now, h[i].At, 0, float64(h[i].Used))
	}
	last := h[len(h)-1]
	a.series = append(a.series, series{"memory", used, float64(last.Capacity) / 50, style.Bytes(last.Used)})
}

// longestOf is the longest duration of those that ended within the last minute.
func longestOf(most time.Duration, now, end time.Time, d time.Duration) time.Duration {
	if age := now.Sub(end); age < 0 || age >= time.Minute {
		return most
	}
	return max(most, d)
}

type slotted []float64

// slots returns figures that are all unknown.
func slots() slotted {
	s := make(slotted, buckets)
	for i := range s {
		s[i] = -1
	}
	return s
}

// add counts n in the bucket of a time, or notes the largest figure there.
func (s slotted) add(now, at time.Time, n, figure float64) {
	age := now.Sub(at)
	if at.IsZero() || age < 0 || age >= buckets*bucket {
		return
	}
	i := buckets - 1 - int(age/bucket)
	if n > 0 {
		s[i] = max(s[i], 0) + n
		return
	}
	s[i] = max(s[i], figure)
}

// spans draws the series beside each other in w columns: name, sparkline, last figure.
func (a *activity) spans(th *style.Theme, w int) []span {
	if len(a.series) == 0 {
		return nil
	}
	var out []span
	each := w / len(a.series)
	for _, s := range a.series {
		width := min(each-len(s.name)-len(s.last)-5, buckets)
		if width < 4 {
			continue
		}
		text := th.Spark(s.figures[buckets-width:], s.least)
		out = append(out, span{text: " " + s.name + " ", tone: style.Dim}, span{text: text, tone: style.Accent},
			span{text: th.Left(" "+s.last, each-len(s.name)-2-width)})
	}
	return out
}

// limits are where the gauge of a signal has its marks.
func limits(p *model.Pressure) (out []float64) {
	for i := range p.Thresholds {
		if used, ok := p.Thresholds[i].Used(p.Capacity); ok {
			out = append(out, float64(used))
		}
	}
	return out
}
