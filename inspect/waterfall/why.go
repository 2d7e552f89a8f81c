package waterfall

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// maxNamed is the maximum number of targets of waits that are named.
const maxNamed = 3

// sum is the total of one part of the path.
type sum struct {
	Segment
	total time.Duration
	on    []string // targets, for waits
}

// longest returns the longest part of the path, the zero sum for an empty path.
func (w *Waterfall) longest() sum {
	var order []Part
	by := map[Part]*sum{}
	var seen map[waitOf]bool
	for _, s := range w.Path {
		p := by[s.Part]
		if p == nil {
			p = &sum{Segment: s}
			by[s.Part] = p
			order = append(order, s.Part)
		}
		if s.Dur() > p.Dur() {
			p.Segment = s
		}
		p.total += s.Dur()
		if s.Kind != SegmentWait {
			continue
		}
		if e, ok := s.iv.wait(); ok && !seen[waitOf{s.Part, e.Target}] {
			if seen == nil {
				seen = map[waitOf]bool{}
			}
			seen[waitOf{s.Part, e.Target}] = true
			p.on = append(p.on, say.On(e))
		}
	}
	var best sum
	for _, p := range order {
		if by[p].total > best.total {
			best = *by[p]
		}
	}
	return best
}

// waitOf is the key that distinguishes waits on the path.
type waitOf struct {
	Part
	trace.Target
}

// Length returns the length of the path: seen to started, or to the end if the pod has not started.
func (w *Waterfall) Length() time.Duration {
	if w.Started >= 0 {
		return w.Started
	}
	return w.End
}

// Cause returns one short line about the longest part of the start, with the recorded reason: "pull 4.10s: image not on
// the node (68 MiB, 16 MiB/s)". It is empty if the path is.
func (w *Waterfall) Cause() string {
	cause, _ := w.CauseAndReason()
	return cause
}

// CauseAndReason returns Cause, and the part of it that is the reason.
func (w *Waterfall) CauseAndReason() (cause, reason string) {
	p := w.longest()
	if p.total == 0 {
		return "", ""
	}
	reason = p.reason(w)
	return noise.Of(strings.TrimSuffix(p.Label()+" "+human.Duration(p.total)+": "+reason, ": ")), noise.Of(reason)
}

// reason returns the recorded reason for the part's duration; "" if there is none.
func (p sum) reason(w *Waterfall) string {
	if p.iv == nil {
		return ""
	}
	if e, ok := p.iv.wait(); ok {
		if n := len(p.on) - maxNamed; n > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(p.on[:maxNamed], ", "), n)
		}
		if len(p.on) > 1 {
			return strings.Join(p.on, ", ")
		}
		return strings.Trim(say.On(e)+", "+say.Detail(e, w.began(p.iv)), ", ")
	}
	a, _ := p.iv.action()
	if err := p.iv.err(); err != "" {
		return "failed: " + err
	}
	if a.Verb == trace.VerbImage && p.iv.pull() != nil {
		note, part := pullNote(p.iv), w.mostly(p.iv.callOf("PullImage"))
		why := pullReason(a)
		if why == "" {
			return strings.Trim(a.Target+", "+note, ", ") + part
		}
		if note != "" {
			note = " (" + note + ")"
		}
		return why + note + part
	}
	if c := p.iv.longestCall(); c != nil {
		method := ""
		switch e := c.event().(type) {
		case *trace.CRICall:
			method = e.Method
		case *trace.CSICall:
			method = e.Method + " of " + e.Driver
		}
		took := "took"
		if c.open {
			took = "has run"
		}
		return fmt.Sprintf("%s %s %s", method, took, human.Duration(c.dur())) + w.mostly(c)
	}
	return a.Reason
}

// mostly returns the runtime's work that makes up most of a call, "" if nothing makes up half of it.
func (w *Waterfall) mostly(call *interval) string {
	if call == nil || call.open {
		return ""
	}
	name, d := w.dominant(call)
	if name == "" {
		return ""
	}
	return fmt.Sprintf(", %s %s of it", name, human.Duration(d))
}

// callOf returns the last call of a method in an action, nil if there is none.
func (iv *interval) callOf(method string) (call *interval) {
	iv.within(func(k *interval) {
		if c, ok := k.call(); ok && c.Method == method {
			call = k
		}
	})
	return call
}

// pullReason returns why there was a pull: with the policy IfNotPresent, only because the image was missing.
func pullReason(a trace.Action) string {
	switch a.Policy {
	case trace.PullIfNotPresent:
		return "image not on the node"
	case trace.PullAlways:
		return "pull policy Always"
	case trace.PullNever:
	}
	return a.Reason
}

// longestCall returns the CRI or CSI call that makes up at least half of an action.
func (iv *interval) longestCall() *interval {
	var best *interval
	iv.within(func(k *interval) {
		_, cri := k.call()
		_, csi := k.event().(*trace.CSICall)
		if (cri || csi) && 2*k.dur() >= iv.dur() && (best == nil || k.dur() > best.dur()) {
			best = k
		}
	})
	return best
}

// Why returns one sentence about what determined the duration of the start.
func (w *Waterfall) Why() string { return noise.Of(w.why()) }

func (w *Waterfall) why() string {
	p := w.longest()
	if w.Started < 0 {
		return w.whyNot()
	}
	if p.total == 0 {
		return "nothing recorded lies between seen and started."
	}
	share := ""
	if pct := Percent(p.total, w.Length()); pct > 0 {
		share = fmt.Sprintf(", %d %% of the start", pct)
	}
	var s string
	switch p.Kind {
	case SegmentUnexplained:
		s = fmt.Sprintf("most of the start, %s, is covered by no record", human.Duration(p.total))
		share = ""
	case SegmentWait:
		if p.Wait == trace.WaitGate {
			return w.whyStepped(p, share)
		}
		s = fmt.Sprintf("waiting (%s) is the critical path: %s", p.Wait, human.Duration(p.total))
	case SegmentWork:
		s = fmt.Sprintf("%s is the critical path: %s", longName(p), human.Duration(p.total))
	}
	s += share
	if why := p.reason(w); why != "" {
		s += "; " + why
	}
	return s + w.besides() + "."
}

// whyStepped is Why for a step session: its duration, and the duration without it.
func (w *Waterfall) whyStepped(p sum, share string) string {
	return fmt.Sprintf("it waited for the person who steps: %s%s; the rest took %s",
		human.Duration(p.total), share, human.Duration(w.Length()-p.total)) + w.besides() + "."
}

// besides returns what is true in every case.
func (w *Waterfall) besides() (s string) {
	if w.Floor > 0 {
		s += fmt.Sprintf("; the runtime itself needed %s", human.Duration(w.Floor))
	}
	if w.Incomplete {
		s += "; records are missing"
	}
	return s
}

// whyNot is Why for a pod that has not started.
func (w *Waterfall) whyNot() string {
	if w.never {
		return fmt.Sprintf("it never started: that was clear after %s", human.Duration(w.End)) + w.stuck() + "."
	}
	if !w.SeenKnown {
		return "not started" + w.stuck() + "."
	}
	return fmt.Sprintf("not started after %s", human.Duration(w.End)) + w.stuck() + "."
}

// Unknown reports whether the pod has not started and no record shows why.
func (w *Waterfall) Unknown() bool { return w.Started < 0 && w.stuck() == "" }

// stuck returns what a start that has not ended is at, and what failed in it; "" where no record shows it.
func (w *Waterfall) stuck() (s string) {
	var failed *interval
	for _, iv := range w.ivs {
		a, isAction := iv.action()
		if isAction && iv.err() != "" && !iv.open {
			failed = iv
		}
		if !iv.open || (iv.up != nil && iv.owner() != nil) {
			continue
		}
		if e, ok := iv.wait(); ok && e.For != trace.WaitProbe && !AboutStatus(e) {
			s += fmt.Sprintf("; waiting (%s) for %s", e.For, cmp.Or(say.On(e), "an unknown target"))
		} else if isAction {
			s += "; now " + a.ID + " for " + human.Duration(iv.dur())
		}
	}
	if failed != nil {
		a, _ := failed.action()
		s += fmt.Sprintf("; %s failed: %s", a.ID, failed.err())
	}
	return s
}

func longName(p sum) string {
	if p.Pull {
		return "image pull"
	}
	return p.Label()
}

// Percent returns a's share of b, rounded; 0 if b is not positive.
func Percent(a, b time.Duration) int {
	if b <= 0 {
		return 0
	}
	return int((200*a + b) / (2 * b))
}
