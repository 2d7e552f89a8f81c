package cause

import (
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func otherPull() Rule {
	return Rule{
		ID: "KL01", Name: "waited for another pod's pull",
		About: "Another pod was pulling the same image already, or the number of parallel pulls is limited (maxParallelImagePulls, " +
			"serializeImagePulls) and others were first. It is reported for waits of kind other-pull on the critical path, unless the pull " +
			"that was waited for is the pod's own.",
		Find: findOtherPull,
	}
}

// pulls is what is waited for where few pulls are made at a time.
var pulls = trace.Target{Kind: trace.TargetPulls}

func findOtherPull(c *Case) []Finding {
	own := ownSpans[*trace.ImagePull](c)
	w := c.waited(func(e *trace.Wait) bool { return e.For == trace.WaitOtherPull && !ownFlight(own, e.Target) })
	if len(w.spans) == 0 || !c.speaks(w.cost, w.open != nil) {
		return nil
	}
	long := w.longest()
	f := Finding{Confidence: Certain, Evidence: w.evidence(), Cost: w.cost, Current: w.open != nil}
	pods, others := c.pullsDuring(long)
	if len(pods) == 0 && pulledMeanwhile(own, long) { // it waits for itself
		return nil
	}
	by := "another pod"
	if len(pods) > 0 {
		by = "pod " + pods[0]
	}
	if long.Event.Target == pulls {
		f.Sentence = fmt.Sprintf("it waited %s for %s", took(w.cost, f.Current), say.Target(pulls))
		if slots := detail(long); slots != "" { // an Event does not say how many there are
			f.Sentence += " (" + slots + ")"
		}
		if len(pods) > 0 {
			f.Sentence += ", which " + someOf(pods) + " had"
		}
		f.Remedy = "Allow more parallel pulls: serializeImagePulls: false and a larger maxParallelImagePulls in the kubelet configuration; or smaller images."
		f.RuledOutBy = "The pods that had the slots pulled little, and the registry or the disk was the limit: then more parallel pulls do not help."
	} else {
		f.Sentence = fmt.Sprintf("it waited %s for %s to pull the image %s", took(w.cost, f.Current), by, human.Image(long.Event.Target.Name))
		if q := c.queuedPull(pods, long); q != nil {
			f.Sentence += fmt.Sprintf(", which itself waited %s for %s", took(q.Dur(), q.Open), say.Target(pulls))
			others = append(others, evidence(q.Rec(), "%s waited for %s: %s", q.Pod(), say.Target(pulls), took(q.Dur(), q.Open)))
		}
		f.Remedy = "Have the image on the node before pods need it (a pre-pull, a node image), or make it smaller: one pull serves all pods that request it meanwhile."
		f.RuledOutBy = "The pull of the other pod had ended before this wait did."
	}
	f.Evidence = few(append(f.Evidence, others...))
	return []Finding{f}
}

// ownFlight reports whether the pod pulled the image itself.
func ownFlight(own []Span[*trace.ImagePull], t trace.Target) bool {
	for _, p := range own {
		if t.Kind == trace.TargetImage && p.Event.Image == t.Name && !p.Event.Shared {
			return true
		}
	}
	return false
}

// pulledMeanwhile reports whether a pull of the pod's own, of another image, took most of a wait: then it had the slot.
func pulledMeanwhile(own []Span[*trace.ImagePull], w *Span[*trace.Wait]) bool {
	var at []stretch
	for _, p := range own {
		if !p.Event.Shared && (w.Event.Target != pulls || p.ID() != w.Rec().Parent) {
			at = append(at, clip([]stretch{{p.Start, p.Stop}}, w.Start, w.Stop)...)
		}
	}
	return 2*covered(at) >= w.Dur()
}

// queuedPull is the longest wait of the pulling pods for a pull slot, of those that made up most of a wait.
func (c *Case) queuedPull(pods []string, w *Span[*trace.Wait]) (best *Span[*trace.Wait]) {
	pulling := map[string]bool{}
	for _, p := range pods {
		pulling[p] = true
	}
	for _, s := range nodeSpans[*trace.Wait](c) {
		if s.Event.Target != pulls || !pulling[s.Pod().String()] || 2*s.Dur() < w.Dur() || !s.Stop.After(w.Start) {
			continue
		}
		if best == nil || s.Dur() > best.Dur() {
			best = &s
		}
	}
	return best
}

// pullsDuring are the pulls of other pods during a wait: of its image, or where places are few, those that had one for a tenth of it.
func (c *Case) pullsDuring(w *Span[*trace.Wait]) (pods []string, ev []Evidence) {
	seen := map[string]bool{}
	for _, p := range nodeSpans[*trace.ImagePull](c) {
		places := w.Event.Target == pulls
		same := places || p.Event.Image == w.Event.Target.Name
		both := min(p.Stop.UnixNano(), w.Stop.UnixNano()) - max(p.Start.UnixNano(), w.Start.UnixNano())
		if p.Event.Shared || !same || both <= 0 || places && 10*both < int64(w.Dur()) {
			continue
		}
		pod := p.Pod().String()
		if !seen[pod] {
			seen[pod] = true
			pods = append(pods, pod)
		}
		ev = append(ev, evidence(p.Rec(), "%s pulls %s: %s", pod, human.Image(p.Event.Image), took(p.Dur(), p.Open)))
	}
	return pods, ev
}
