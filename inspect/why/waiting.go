package why

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/evidence"
	"github.com/kubeloupe/kubeloupe/inspect/pair"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// waitSpan is a wait of the pod, as described when it began.
type waitSpan struct {
	event *trace.Wait
	rec   *trace.Record // its begin, or its end if the begin was lost
	open  bool
	dur   time.Duration
}

// openAndClosed returns the pod's waits that began before until, truncated at until.
func openAndClosed(c *cause.Case, until time.Time) (out []waitSpan) {
	for _, s := range pair.In[*trace.Wait](c.Records, until) {
		if !s.Start.Before(until) {
			continue
		}
		first := s.First()
		e, _ := first.Event.(*trace.Wait)
		if s.Stop.After(until) {
			s.Stop = until
		}
		out = append(out, waitSpan{event: e, rec: first, open: s.Open, dur: s.Dur()})
	}
	return out
}

// waiting returns what continues in the pod now: waits, and work in progress.
func waiting(c *cause.Case) (out []Waiting) {
	for _, s := range openAndClosed(c, c.Now.Add(1)) {
		if !s.open || waterfall.AboutStatus(s.event) {
			continue
		}
		w := Waiting{
			For: s.event.For, Target: s.event.Target, On: say.On(s.event), Detail: detail(c, s), Since: s.rec.At(), Dur: c.Now.Sub(s.rec.At()), Behind: s.event.Behind,
		}
		w.Next, w.At = next(c, s)
		w.Next = noise.Of(w.Next)
		out = append(out, w)
	}
	out = append(out, working(c)...)
	sorting.Stable(out, func(a, b *Waiting) int { return cmp.Compare(rank(*a), rank(*b)) })
	return out
}

// detail is what else is known of a wait. Of one for a probe, it is how the last attempt failed: Next says when the next one is.
func detail(c *cause.Case, s waitSpan) string {
	if s.event.For != trace.WaitProbe {
		return human.Line(say.Detail(s.event, s.rec.Start()))
	}
	container, probe := s.event.Target.Container, trace.ProbeKind(s.event.Target.Name)
	for i := range slices.Backward(c.Records) {
		switch e := c.Records[i].Event.(type) {
		case *trace.ProbeAttempt:
			if e.Container == container && e.Probe == probe && e.Result != "" && !e.Early && !c.Records[i].At().After(c.Now) {
				return human.Line(noise.Of(say.Attempt(e)))
			}
		case *trace.Action:
			if e.Verb == trace.VerbStart && e.Container == container {
				return "" // earlier attempts were those of another instance
			}
		}
	}
	return ""
}

// rank sorts waits before work, and probes last.
func rank(w Waiting) int {
	if w.For == trace.WaitProbe {
		return 2
	}
	if w.For == "" {
		return 1
	}
	return 0
}

// working returns the pulls and the calls to the runtime and to CSI drivers in progress for the pod.
func working(c *cause.Case) (out []Waiting) {
	open := map[trace.SpanID]*trace.Record{}
	progress := map[trace.SpanID]*trace.Record{}
	waits := map[trace.SpanID]bool{} // the parents of waits
	for i := range c.Records {
		if _, ok := c.Records[i].Event.(*trace.ImageProgress); ok {
			progress[c.Records[i].Parent] = &c.Records[i]
		}
	}
	for _, s := range pair.In[trace.Event](c.Records, c.Now) {
		if s.Open {
			open[s.ID()] = s.Begin
		}
	}
	for _, r := range open {
		if _, ok := r.Event.(*trace.Wait); ok {
			waits[r.Parent] = true
		}
	}
	for id, r := range open {
		what, pulls := "", false
		switch e := r.Event.(type) {
		case *trace.ImagePull:
			what, pulls = "pulling "+human.Image(e.Image), true
		case *trace.CRICall:
			if up := open[r.Parent]; up == nil || !isPull(up) {
				what = e.Method
			}
		case *trace.CSICall:
			what = e.Method + " of " + e.Driver
		}
		if up := open[r.Parent]; what == "" || waits[id] || waits[r.Parent] || up != nil && isWait(up) {
			continue // a wait covers it
		}
		w := Waiting{On: noise.Of(what), Pulls: pulls, Since: r.At(), Dur: c.Now.Sub(r.At())}
		if p := progress[id]; p != nil {
			w.Detail, w.Next, w.At = arriving(r, p)
			w.Detail, w.Next = noise.Of(w.Detail), noise.Of(w.Next)
		}
		out = append(out, w)
	}
	sorting.Stable(out, func(a, b *Waiting) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.On, b.On)) })
	return out
}

// arriving returns the progress of a pull, and its estimated end at the current rate.
func arriving(pull, p *trace.Record) (detail, next string, at time.Time) {
	e, ok := p.Event.(*trace.ImageProgress)
	took := time.Duration(p.Time - pull.Time)
	if !ok || e.Total <= 0 {
		return "", "", time.Time{}
	}
	detail = say.Arrived(e.Done, e.Total)
	if e.Done <= 0 || took <= 0 {
		return detail, "", time.Time{}
	}
	if e.Done >= e.Total {
		return detail + " downloaded", "the runtime unpacks it", time.Time{}
	}
	left := time.Duration(float64(took) / float64(e.Done) * float64(e.Total-e.Done))
	return detail + ", " + human.Rate(e.Done, took), "the download is complete, at this rate", p.At().Add(left)
}

// next returns what happens after a wait, and when.
func next(c *cause.Case, s waitSpan) (what string, at time.Time) {
	e := s.event
	at = until(c, s)
	switch e.For {
	case trace.WaitBackoff:
		return "the agent retries", at
	case trace.WaitQueue:
		return "its turn, when another pod releases a slot", at
	case trace.WaitOtherPull:
		return "it continues when that pull is done", at
	case trace.WaitTokens:
		return "its turn, when the rate allows it", at
	case trace.WaitProbe:
		return "the next attempt of the " + say.On(e), at
	case trace.WaitInit:
		return "the next container starts when that one exits", at
	case trace.WaitGrace:
		return "the agent kills it (SIGKILL) if it has not exited", at
	case trace.WaitGate:
		return "the action, when the person who steps continues", at
	case trace.WaitPod:
		return "it starts when that pod is gone", at
	case trace.WaitAttach:
		return "the agent mounts it when it is attached to the node", at
	case trace.WaitLabel:
		return "the agent mounts it when it has been unmounted for that pod", at
	case trace.WaitObject:
		return "it continues when the API server answers; the object may be missing", at
	case trace.WaitCredentials:
		return "the pull, when the provider answers", at
	case trace.WaitDevices:
		return "the pod, when the device plugin answers", at
	case trace.WaitClaims:
		switch {
		case at.IsZero():
			return "the pod, when the DRA driver answers", at
		case e.Target.Kind == trace.TargetDRADriver:
			return "the agent tries again, at once if the driver registers", at
		}
		return "the agent reads the claim again", at
	case trace.WaitRuntime:
		if !at.IsZero() {
			return "the agent checks again", at
		}
		return "it continues when the runtime is ready", at
	case trace.WaitHook:
		return "it continues when the hook ends", at
	case trace.WaitPoll:
		return "it continues at the next check", at
	case trace.WaitLock, trace.WaitApproval:
	}
	return "", at
}

// until returns when a wait ends by itself; zero if unknown.
func until(c *cause.Case, s waitSpan) time.Time {
	if s.event.Until != 0 {
		return time.Unix(0, s.event.Until)
	}
	if s.event.For == trace.WaitGrace {
		return s.rec.At().Add(s.event.Limit)
	}
	if s.event.For == trace.WaitBackoff {
		return retryAt(c, s.rec.At())
	}
	return time.Time{}
}

// retryAt returns the end of the back-off from the last such decision; zero if there is none after the start of the
// wait.
func retryAt(c *cause.Case, after time.Time) (at time.Time) {
	for i := range c.Records {
		d, ok := c.Records[i].Event.(*trace.Decision)
		if !ok {
			continue
		}
		if t := evidence.RetryAt(d); t.After(after) {
			at = t
		}
	}
	return at
}

// Text returns what the pod waits for or does.
func (w Waiting) Text() string { return noise.Of(w.words()) }

func (w Waiting) words() string {
	if w.For == "" {
		s := "is in " + w.On
		if w.Pulls {
			s = "is " + w.On
		}
		if w.Detail != "" {
			s += " (" + w.Detail + ")"
		}
		return s
	}
	s := fmt.Sprintf("waits (%s) for %s", w.For, w.On)
	if w.Detail != "" {
		s += " (" + w.Detail + ")"
	}
	if who := say.Behind(w.Behind, w.Dur); who != "" {
		s += ", " + who
	}
	return s
}

// NextText returns what happens next and when; "" if that is not known.
func (w Waiting) NextText(now time.Time) string {
	if w.Next == "" {
		return ""
	}
	if w.At.IsZero() {
		return "next: " + w.Next
	}
	return fmt.Sprintf("next: %s, %s", w.Next, in(w.At.Sub(now)))
}

func in(d time.Duration) string {
	if d <= 0 {
		return "due now"
	}
	return "in " + human.Duration(d)
}

func isWait(r *trace.Record) bool {
	_, ok := r.Event.(*trace.Wait)
	return ok
}

func isPull(r *trace.Record) bool {
	_, ok := r.Event.(*trace.ImagePull)
	return ok
}
